package plan

import (
	"slices"
	"strings"
	"time"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/reason"
)

// ConditionType names a fact about a guest that a person should know. Package reason says what the types mean.
type ConditionType = reason.Type

// Condition types.
const (
	Drifted          = reason.TypeDrifted
	Pending          = reason.TypePending
	PendingRestart   = reason.TypePendingRestart
	Held             = reason.TypeHeld
	Blocked          = reason.TypeBlocked
	Failed           = reason.TypeFailed
	IdentityConflict = reason.TypeIdentityConflict
	Suspended        = reason.TypeSuspended
	NotObserved      = reason.TypeUnknown
	WaitsFor         = reason.TypeWaitsFor
	Orphaned         = reason.TypeOrphaned
	Leftover         = reason.TypeLeftover
	Warned           = reason.TypeWarned
)

// Condition is one fact about a guest, with its reason, the time at which it began and the revision that it was planned for.
type Condition struct {
	Type     ConditionType `json:"type"`
	Reason   reason.Name   `json:"reason"`
	Act      reason.Act    `json:"act,omitempty"`      // what ends it, in the report
	Message  string        `json:"message"`            // for people
	Hint     string        `json:"hint,omitempty"`     // what would end it
	Digest   string        `json:"digest,omitempty"`   // of the held step, for an approval
	Settings []string      `json:"settings,omitempty"` // what the guest lacks although it counts as in sync: keys that only root@pam may set, parts of its firewall without effect
	Since    time.Time     `json:"since,omitzero"`
	Revision string        `json:"revision,omitempty"`
}

// notObserved returns the condition of a guest that could not be read.
func notObserved(vmid int, got cluster.Snapshot) Condition {
	c := Condition{Type: NotObserved, Reason: reason.NotObserved, Message: "the guest could not be read, and it is unknown whether it exists"}
	row, listed := got.Inventory.Row(vmid)
	switch why := got.ReadErrors[vmid]; {
	case listed && slices.Contains(got.Inventory.Offline, row.Node):
		c.Reason, c.Message = reason.NodeOffline, "its node "+row.Node+" is offline"
		c.Hint = reason.StartNode.Text
	case why != "":
		c.Message = "the guest could not be read: " + why
	case got.NotReadYet(vmid):
		c.Message = "not read yet: the agent has just started"
	}
	return c
}

// lockCondition returns the condition of a locked guest.
func lockCondition(live guest.Observed) Condition {
	c := Condition{Type: Blocked, Reason: reason.Locked, Message: "the guest is locked (" + live.Lock + ")", Hint: reason.WaitForLock.With(taskOfLock(live))}
	if cluster.PartlyCreated(live) {
		c.Hint = reason.Unlock.With(live.Kind.Tool(), live.VMID)
	}
	if live.Lock == "suspended" {
		c.Message, c.Hint = "the guest is suspended to disk (lock: suspended)", reason.StartHibernated.Text
	}
	return c
}

// taskOfLock names the type of the task that sets a lock, for people.
//
// Source: PVE::QemuConfig and PVE::LXC::Config, "lock", and the callers of set_lock.
func taskOfLock(live guest.Observed) string {
	vm, ct := "qm", "vz"
	if live.Kind == guest.Container {
		vm = ct
	}
	switch live.Lock {
	case "backup":
		return "vzdump"
	case "migrate":
		return strings.TrimSuffix(vm, "m") + "migrate"
	case "rollback":
		return vm + "rollback"
	case "snapshot":
		return vm + "snapshot"
	case "snapshot-delete":
		return vm + "delsnapshot"
	case "suspending":
		return "qmsuspend"
	case "create", "clone":
		return vm + live.Lock
	case "disk":
		return "a task that moves or resizes a volume"
	case "fstrim":
		return "pct fstrim"
	case "mounted":
		return "pct mount"
	case "destroyed":
		return "vzdestroy"
	}
	return live.Lock
}
