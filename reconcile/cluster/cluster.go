package cluster

import (
	"context"
	"errors"
	"fmt"

	"gitops-agent/reconcile/guest"
)

// Cluster is the live side: what a Reader shows, and the one way to change it. internal/proxmox is the real one.
type Cluster interface {
	Reader
	// Do dispatches one call and returns its UPID, empty where Proxmox answered synchronously. An error that wraps
	// ErrOutcomeUnknown means that the effect may have happened, and one that wraps ErrUnanswered that it may also come yet; any
	// other error means that it has not.
	Do(ctx context.Context, call Call) (upid string, err error)
}

// Reader is the part of a Cluster that cannot write. Plans, audits and status need no more.
type Reader interface {
	// Inventory lists every guest that the token may see, in one call. It may lag by ten seconds and leave guests out:
	// it triggers reads and decides nothing.
	Inventory(ctx context.Context) (Inventory, error)
	// Observe reads one guest in full: every key with its pending value, and the digest. The run state and the fields
	// that only the inventory knows (node, name, pool, template, HA) are taken from row. It fails with ErrNotExist only
	// when the guest's own node says so.
	Observe(ctx context.Context, row Row) (guest.Observed, error)
	// Status reads the run state of one guest from the guest itself.
	Status(ctx context.Context, row Row) (guest.Status, error)
	// HA lists the resources of the HA manager by vmid, in one call.
	HA(ctx context.Context) (map[int]guest.HA, error)
	// Exists asks the cluster whether a vmid is taken, by whatever kind of guest and whoever may see it.
	Exists(ctx context.Context, vmid int) (bool, error)
	// Ready fails with ErrNotReady while the cluster must not be written to: no quorum, or no answer.
	Ready(ctx context.Context) error
	// Wait returns the task's end. It fails with ErrNoTask for a task that the node has forgotten; any other error says
	// nothing about the task, and waiting may always be repeated.
	Wait(ctx context.Context, upid string) (Task, error)
	// Tasks lists the node's tasks, newest first, running ones included.
	Tasks(ctx context.Context, query TaskQuery) ([]Task, error)
}

// Errors of a Cluster. They are wrapped with Proxmox's own text.
var (
	ErrNotExist       = errors.New("guest does not exist")
	ErrDenied         = errors.New("access denied")           // privilege or token missing, or for root alone: a person has to act
	ErrConflict       = errors.New("guest changed meanwhile") // another digest, run state or membership than planned for: read and plan again
	ErrLocked         = errors.New("guest is locked")         // another task or a backup holds it: try later
	ErrNotReady       = errors.New("cluster is not ready")    // no quorum, node or daemon down
	ErrInvalid        = errors.New("refused as it stands")    // wrong in itself, or for want of what it names: a person or a new revision has to act
	ErrNoTask         = errors.New("no such task")
	ErrOutcomeUnknown = errors.New("outcome unknown") // dispatched, and no reply that can be believed
	ErrUnanswered     = fmt.Errorf("no answer, and the call may act yet: %w", ErrOutcomeUnknown)
	ErrIsMember       = fmt.Errorf("the guest is in that pool already: %w", ErrConflict)
	ErrSameSize       = fmt.Errorf("the volume has that size already: %w", ErrConflict)
)

// Call is one request to the cluster, complete: nothing is looked up when it is sent.
//
//   - create: CloneOf 0 posts Params to the node's guest list; otherwise it posts them to the template's clone call.
//   - config: Params are set and the keys of Delete removed, under Digest. A virtual machine gets the asynchronous call.
//   - resize: Params are disk and size, under Digest.
//   - move: Params are disk, storage and delete for either kind, under Digest. The volume that was moved stays unless delete is 1.
//   - cloudinit: no Params; the drive is written anew.
//   - pool: Params is poolid; the guest leaves the pool that it was in.
//   - ha-add, ha-set: Params are state, max_restart, max_relocate; ha-remove: none.
//   - migrate: Params are target, and online or with-local-disks (virtual machine), restart or timeout (container).
//   - template: no Params; it cannot be undone.
//   - start, reboot, shutdown, stop: Params such as timeout and forceStop.
//   - destroy: Params are purge and destroy-unreferenced-disks where wanted.
type Call struct {
	Op      Op
	Kind    guest.Kind
	Node    string // where the guest is; for a clone, where the template is
	VMID    int    // the guest that the call changes or creates
	CloneOf int    // vmid of the template; 0 is no clone
	Params  map[string]string
	Secrets map[string]string // key to the name of the secret whose content is sent; the content is in no plan and no journal
	Delete  []string
	Digest  string // "" does not guard
}
