package cluster

import (
	"slices"

	"gitops-agent/reconcile/guest"
)

// Op names what a step or a call does. It is a label of metrics and a word of plans.
type Op string

// Operations of steps.
const (
	OpCreate    Op = "create"
	OpMigrate   Op = "migrate"
	OpConfig    Op = "config"
	OpResize    Op = "resize"
	OpMove      Op = "move"
	OpCloudInit Op = "cloudinit"
	OpPool      Op = "pool"
	OpHAAdd     Op = "ha-add"
	OpHASet     Op = "ha-set"
	OpHARemove  Op = "ha-remove"
	OpTemplate  Op = "template"
	OpFirewall  Op = "firewall"
	OpStart     Op = "start"
	OpReboot    Op = "reboot"
	OpShutdown  Op = "shutdown"
	OpStop      Op = "stop"
	OpDestroy   Op = "destroy"
)

// Operations on objects that are no guests.
const (
	OpDownload     Op = "download"      // a node fetches the file of an Image
	OpDeleteFile   Op = "delete-file"   // a node deletes the file of an Image
	OpObjectAdd    Op = "object-add"    // an object of the cluster's configuration, such as a pool, is made
	OpObjectSet    Op = "object-set"    // its keys are changed
	OpObjectRemove Op = "object-remove" // it is removed
)

// Operations that only signed orders ask for. Orders also ask for some of the operations above.
const (
	OpReset          Op = "reset"
	OpSuspend        Op = "suspend"
	OpResume         Op = "resume"
	OpSnapshot       Op = "snapshot"
	OpDeleteSnapshot Op = "delete-snapshot"
	OpRollback       Op = "rollback"
	OpBackup         Op = "backup"
)

// operation is a row of the table of operations.
type operation struct {
	op             Op
	vmTasks        []string     // types of the tasks that Proxmox may run the call as; nil if it runs none
	containerTasks []string     // the same for a container
	mayAnswerNull  bool         // Proxmox may answer the call with null instead of the UPID of a task
	leavesTask     bool         // a call that was carried out has a task in the node's list, even if the answer names none
	writesConfig   bool         // the call changes keys of the guest's configuration: it carries the digest of the configuration that it was planned for
	reaches        guest.Status // the run state that the guest has afterwards; "" if the operation does not set one
	runState       bool         // the manifest's field state asks for exactly this
	heavy          bool         // a repetition interrupts the guest or copies whole volumes: repeat it slowly
	limited        bool         // the call changes no key of the object but those that it names
	late           LateCall     // what becomes of a call that acts after the step was planned again
	volumes        volumeScope  // the volumes that the call attaches, changes or deletes
	taskKind       taskKind     // what decides how long a task of the call takes
	snapshots      bool         // what the call does depends on the snapshots that the guest has
	orderOnly      bool         // no plan contains the operation: only a signed order asks for it
}

// operations is the one place that describes operations. The rows are in the order of a guest's life, in which a plan sorts its steps.
//
// Source: PVE API, fork_worker calls of API2/Qemu.pm and API2/LXC.pm.
var operations = []operation{
	{
		op: OpCreate, late: LateRefused, vmTasks: []string{"qmcreate", "qmrestore"}, containerTasks: []string{"vzcreate", "vzrestore"},
		volumes: namedVolumes, taskKind: copies,
	},
	{
		op: OpMigrate, late: LateActs, vmTasks: []string{"qmigrate", "hamigrate"}, containerTasks: []string{"vzmigrate", "hamigrate"},
		leavesTask: true, heavy: true, volumes: localVolumes, taskKind: copies,
	},
	{op: OpConfig, limited: true, late: LateRefused, vmTasks: []string{"qmconfig"}, mayAnswerNull: true, writesConfig: true, volumes: namedVolumes},
	{op: OpResize, limited: true, late: LateRefused, vmTasks: []string{"resize"}, containerTasks: []string{"resize"}, mayAnswerNull: true, writesConfig: true, taskKind: allocates},
	{op: OpMove, limited: true, late: LateRefused, vmTasks: []string{"qmmove"}, containerTasks: []string{"move_volume"}, writesConfig: true, heavy: true, volumes: volumesOfSlot, taskKind: copies},
	{op: OpCloudInit, limited: true, late: LateHarmless, mayAnswerNull: true},
	{op: OpPool, limited: true, late: LateHarmless, mayAnswerNull: true},
	{op: OpHAAdd, limited: true, late: LateHarmless, mayAnswerNull: true},
	{op: OpHASet, limited: true, late: LateHarmless, mayAnswerNull: true},
	{op: OpHARemove, limited: true, late: LateHarmless, mayAnswerNull: true},
	{
		op: OpTemplate, late: LateActs, vmTasks: []string{"qmtemplate"}, containerTasks: []string{"vztemplate"},
		mayAnswerNull: true, leavesTask: true, volumes: allVolumes, taskKind: allocates,
	},
	{op: OpFirewall, limited: true, late: LateHarmless, mayAnswerNull: true},
	{
		op: OpStart, late: LateRefused, vmTasks: []string{"qmstart", "hastart"}, containerTasks: []string{"vzstart", "hastart"},
		reaches: guest.StatusRunning, runState: true,
	},
	{
		op: OpReboot, late: LateActs, vmTasks: []string{"qmreboot"}, containerTasks: []string{"vzreboot"},
		leavesTask: true, reaches: guest.StatusRunning, heavy: true,
	},
	{
		op: OpShutdown, late: LateActs, vmTasks: []string{"qmshutdown", "hastop"}, containerTasks: []string{"vzshutdown", "hastop"},
		reaches: guest.StatusStopped, runState: true,
	},
	{
		op: OpStop, late: LateActs, vmTasks: []string{"qmstop", "hastop"}, containerTasks: []string{"vzstop", "hastop"},
		reaches: guest.StatusStopped, runState: true,
	},
	{op: OpReset, late: LateActs, vmTasks: []string{"qmreset"}, leavesTask: true, orderOnly: true},
	{op: OpSuspend, late: LateActs, vmTasks: []string{"qmpause"}, leavesTask: true, orderOnly: true},
	{op: OpResume, late: LateActs, vmTasks: []string{"qmresume"}, leavesTask: true, orderOnly: true},
	{
		op: OpSnapshot, late: LateActs, vmTasks: []string{"qmsnapshot"}, containerTasks: []string{"vzsnapshot"},
		leavesTask: true, volumes: snapshotVolumes, taskKind: allocates, snapshots: true, orderOnly: true,
	},
	{
		op: OpDeleteSnapshot, late: LateActs, vmTasks: []string{"qmdelsnapshot"}, containerTasks: []string{"vzdelsnapshot"},
		leavesTask: true, volumes: snapshotVolumes, taskKind: copies, snapshots: true, orderOnly: true,
	},
	{
		op: OpRollback, late: LateActs, vmTasks: []string{"qmrollback"}, containerTasks: []string{"vzrollback"},
		leavesTask: true, volumes: snapshotVolumes, taskKind: allocates, snapshots: true, orderOnly: true,
	},
	{op: OpBackup, late: LateActs, vmTasks: []string{"vzdump"}, containerTasks: []string{"vzdump"}, leavesTask: true, taskKind: copies, orderOnly: true},
	{op: OpDownload, late: LateRefused, vmTasks: []string{"download"}, leavesTask: true, heavy: true, taskKind: copies},
	{op: OpDeleteFile, late: LateActs, vmTasks: []string{"imgdel"}, leavesTask: true, volumes: fileOfCall, taskKind: allocates},
	{op: OpObjectAdd, late: LateRefused, mayAnswerNull: true},
	{op: OpObjectSet, limited: true, late: LateHarmless, mayAnswerNull: true},
	{op: OpObjectRemove, late: LateActs, mayAnswerNull: true},
	{op: OpDestroy, late: LateActs, vmTasks: []string{"qmdestroy"}, containerTasks: []string{"vzdestroy"}, volumes: ownVolumes, taskKind: allocates},
}

// LateCall says what becomes of a call without a reply that acts late, after its step was planned again.
type LateCall string

// The kinds of late calls. docs/internals/open-steps.md has the rule of each operation.
const (
	LateRefused  LateCall = "refused"  // Proxmox refuses it: the vmid is taken, the digest differs, the guest runs already, or the file is there
	LateHarmless LateCall = "harmless" // it sets again what was wanted; the next plan shows what differs
	LateActs     LateCall = "acts"     // it would interrupt, move or destroy the guest as it is then
)

// volumeScope says which volumes a call attaches, changes or deletes.
type volumeScope int

// The scopes. An operation without a scope gives the guest no volume and takes none from another guest. That includes a resize: it only grows a
// volume that the guest holds.
const (
	noVolumes       volumeScope = iota
	namedVolumes                // those that the parameters put into slots, and those in the keys that the call deletes
	volumesOfSlot               // those in the slot that the call is about
	localVolumes                // those on storages of one node: the guest's node deletes them when they are copied
	allVolumes                  // all of the guest: they get other names
	snapshotVolumes             // those in slots that the call takes into a snapshot, or those of the snapshot that the call is about
	ownVolumes                  // those that belong to the guest: they are deleted
	fileOfCall                  // the file that the parameters name: it is deleted
)

// Ops lists every operation, in the order of a guest's life.
func Ops() []Op {
	list := make([]Op, len(operations))
	for i, row := range operations {
		list[i] = row.op
	}
	return list
}

// Position returns the operation's index in Ops, -1 for an unknown operation.
func (op Op) Position() int {
	return slices.IndexFunc(operations, func(row operation) bool { return row.op == op })
}

// row returns the operation's row of the table, the zero row for an unknown operation.
func (op Op) row() operation {
	if i := op.Position(); i >= 0 {
		return operations[i]
	}
	return operation{}
}

// IsHeavy reports whether a repetition interrupts the guest or copies whole volumes. The agent repeats such an operation slowly.
func (op Op) IsHeavy() bool { return op.row().heavy }

// IsLimited reports whether a call changes no key of its object but those that it names. A migration gives volumes other names, and a restart brings pending values
// into effect.
func (op Op) IsLimited() bool { return op.row().limited }

// IsRunState reports whether the operation is what the manifest's field state asks for: start, shutdown and stop.
func (op Op) IsRunState() bool { return op.row().runState }

// Reaches returns the run state that the guest has after the operation, "" for an operation that does not set one.
func (op Op) Reaches() guest.Status { return op.row().reaches }

// Boots reports whether the guest boots by the operation: it has a new process afterwards, with all that is written in effect.
func (op Op) Boots() bool { return op.Reaches() == guest.StatusRunning }

// WritesConfig reports whether the operation changes keys of the guest's configuration. Its call carries the digest of the configuration,
// and Proxmox refuses the call if the configuration has changed meanwhile.
func (op Op) WritesConfig() bool { return op.row().writesConfig }

// NeedsSnapshots reports whether what the operation does depends on the snapshots that the guest has.
func (op Op) NeedsSnapshots() bool { return op.row().snapshots }

// IsOrderOnly reports whether no plan contains the operation: only a signed order, or a schedule, asks for it.
func (op Op) IsOrderOnly() bool { return op.row().orderOnly }

// LeavesTask reports whether a call that was carried out always has a task in the node's list of tasks.
func (op Op) LeavesTask() bool { return op.row().leavesTask }

// MayAnswerNull reports whether Proxmox may answer the call with null instead of the UPID of a task.
func (op Op) MayAnswerNull() bool { return op.row().mayAnswerNull }

// Late returns what becomes of a call of the operation that acts late.
func (op Op) Late() LateCall { return op.row().late }

// IsAboutFile reports whether the operation concerns the file of an Image, and no guest.
func (op Op) IsAboutFile() bool { return op == OpDownload || op == OpDeleteFile }

// Words returns the operation for people. The operations on objects of other kinds have names that only the journal and metrics show.
func (op Op) Words() string {
	switch op { //nolint:exhaustive // the names of the others are words
	case OpObjectAdd:
		return "create"
	case OpObjectSet:
		return "change"
	case OpObjectRemove:
		return "remove"
	}
	return string(op)
}

// IsObject reports whether the operation concerns an object of a kind of package kind, which is no guest.
func (op Op) IsObject() bool { return op == OpObjectAdd || op == OpObjectSet || op == OpObjectRemove }

// EndsLateRefusal reports whether the operation removes what Proxmox refuses a late create or start for: the guest, or that it runs.
func (op Op) EndsLateRefusal() bool {
	return op == OpDestroy || op == OpReboot || op.Reaches() == guest.StatusStopped
}
