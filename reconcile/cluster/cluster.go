package cluster

import (
	"context"
	"errors"
	"fmt"
	"time"

	"gitops-agent/reconcile/guest"
)

// Cluster reads a cluster and changes it. internal/proxmox implements it.
type Cluster interface {
	Reader
	VolumeReader
	BackupReader
	// Do dispatches one call and returns its UPID, empty if Proxmox answered synchronously. It first waits until the call may be sent, and
	// then runs check immediately before it sends the request. If check fails, nothing is sent and Do returns its error. A nil check always
	// passes. Once ctx has ended, nothing is sent any more, and Do returns an error that wraps ErrWritesStopped; the reply to a request that was sent is
	// still awaited for a bounded time. After ErrOutcomeUnknown the call may have taken effect. After ErrUnanswered it may also take effect later. After any other error
	// it has not taken effect.
	Do(ctx context.Context, call Call, check LastCheck) (upid string, err error)
}

// LastCheck decides whether a call may still be sent. It runs after every wait of the call, and may read the cluster.
type LastCheck func(ctx context.Context) error

// Reader is the part of a Cluster that cannot write. Plans, audits and status need only a Reader.
type Reader interface {
	FileReader
	FirewallReader
	ObjectReader
	// Inventory lists every guest that the token may see, in one call. It may lag by ten seconds and omit guests:
	// it triggers reads and decides nothing.
	Inventory(ctx context.Context) (Inventory, error)
	// Observe reads one guest completely: every key with its pending value, and the digest. The run state and the fields
	// that only the inventory contains (node, name, pool, template, HA) are copied from row. It fails with ErrNotExist only
	// if the guest's own node reports that the guest does not exist.
	Observe(ctx context.Context, row Row) (guest.Observed, error)
	// Snapshots reads the snapshot sections of one guest's configuration. It fails with ErrConflict if the configuration changed meanwhile.
	Snapshots(ctx context.Context, row Row) (guest.Snapshots, error)
	// Status reads the run state of one guest, and its process if it runs, from the guest itself.
	Status(ctx context.Context, row Row) (guest.Status, *guest.Process, error)
	// RunStates reads the run states of the guests of a node and kind that the token may see, in one call that does not lag.
	RunStates(ctx context.Context, node string, kind guest.Kind) (map[int]guest.Status, error)
	// CloudInit returns the values of a virtual machine that its cloud-init drive lacks, by key: the value that the drive has instead, nil if it is not known.
	// Proxmox leaves out most changes, so a key that is missing says nothing.
	CloudInit(ctx context.Context, row Row) (map[string]*string, error)
	// HA returns the resources of the HA manager by vmid, in one call.
	HA(ctx context.Context) (map[int]guest.HA, error)
	// HAMaster returns the node that the HA manager works on, and when its last round ended.
	HAMaster(ctx context.Context) (HAMaster, error)
	// Exists reports whether a guest of any kind has the vmid, also if the token may not see the guest.
	Exists(ctx context.Context, vmid int) (bool, error)
	// Ready fails with ErrNotReady while the agent must not write to the cluster: without a quorum, or without an answer.
	Ready(ctx context.Context) error
	// Wait waits for the end of a task and returns the ended task. It fails with ErrNoTask if the node has no record of the task. Any other
	// error does not show how the task ended; the caller may always call Wait again.
	Wait(ctx context.Context, upid string) (Task, error)
	// TaskLog returns the last lines of a task's log, as one text.
	TaskLog(ctx context.Context, upid string) (string, error)
	// Tasks lists the node's tasks, newest first, including running tasks.
	Tasks(ctx context.Context, query TaskQuery) ([]Task, error)
	// Uptime returns how long ago a node was booted, in whole seconds, by the node's own monotonic clock. It fails while the node does not answer.
	Uptime(ctx context.Context, node string) (time.Duration, error)
}

// Errors of a Cluster. The errors that wrap them contain Proxmox's own text.
var (
	ErrNotExist       = errors.New("guest does not exist")
	ErrDenied         = errors.New("access denied")           // the privilege or the token is missing, or only root may do it: a person has to act. See DeniedError
	ErrConflict       = errors.New("guest changed meanwhile") // the digest, the run state or the membership differs from the plan: read and plan again
	ErrLocked         = errors.New("guest is locked")         // another task or a backup holds the lock: retry later
	ErrNotReady       = errors.New("cluster is not ready")    // no quorum, node or daemon down
	ErrInvalid        = errors.New("refused as invalid")      // the call is wrong, or something that it names does not exist: a person or a new revision has to act
	ErrNoTask         = errors.New("no such task")
	ErrWritesStopped  = errors.New("writes are stopped") // the call was not sent: retry when writes are allowed again
	ErrOutcomeUnknown = errors.New("outcome unknown")    // dispatched without a valid reply
	ErrNotSent        = errors.New("not sent")           // no connection was made, by this client or by the endpoint, so the call certainly reached no node
	ErrUnanswered     = fmt.Errorf("no answer, and the call may still take effect: %w", ErrOutcomeUnknown)
	ErrRefusedLate    = error(lateRefusal{}) // Proxmox refused the call, and may have written some of it before; nothing follows later
	ErrIsMember       = fmt.Errorf("the guest is in that pool already: %w", ErrConflict)
	ErrSameSize       = fmt.Errorf("the volume has that size already: %w", ErrConflict)
)

// lateRefusal is the type of ErrRefusedLate. It wraps ErrOutcomeUnknown, without the text, which precedes Proxmox's own text in an error.
type lateRefusal struct{}

func (lateRefusal) Error() string { return "refused, perhaps after it was written" }
func (lateRefusal) Unwrap() error { return ErrOutcomeUnknown }
