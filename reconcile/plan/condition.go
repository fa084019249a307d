package plan

import (
	"fmt"
	"slices"
	"time"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
)

// ConditionType names a fact about a guest that a person should know.
type ConditionType string

// Condition types.
const (
	Drifted          ConditionType = "Drifted"
	PendingRestart   ConditionType = "PendingRestart"
	Held             ConditionType = "Held"
	Blocked          ConditionType = "Blocked"
	Failed           ConditionType = "Failed"
	IdentityConflict ConditionType = "IdentityConflict"
	Suspended        ConditionType = "Suspended"
	NotObserved      ConditionType = "Unknown"
	WaitsFor         ConditionType = "WaitsFor"
	Orphaned         ConditionType = "Orphaned"
	Leftover         ConditionType = "Leftover" // volumes belong to the guest that no slot uses
	Warned           ConditionType = "Warned"   // not a failure: tasks of the last work on the guest had warnings, or a clone has the marker of the guest
)

// ConditionReason is the reason of a condition, in kebab-case. Programs compare reasons; the message is for people.
//
// A condition for a held step has the gate's HoldReason as its reason, and a condition for a failed step the name of the step's operation.
type ConditionReason string

// Reasons of conditions, by type.
const (
	ReasonDiffers ConditionReason = "differs" // Drifted: the guest differs from its manifest

	ReasonPendingRestart ConditionReason = "pending-restart" // PendingRestart: changes are written and take effect at the next stop and start

	ReasonAwaits              ConditionReason = "awaits"               // Blocked: an object cannot be made, or has no effect, before something else exists
	ReasonCannotCreate        ConditionReason = "cannot-create"        // Blocked: the create call cannot carry some fields of the manifest
	ReasonFlapping            ConditionReason = "flapping"             // Blocked: repairs of the guest are undone again and again, so the agent repairs it less often
	ReasonHidden              ConditionReason = "hidden"               // Blocked: a guest that the token may not see has the vmid
	ReasonImpossible          ConditionReason = "impossible"           // Blocked: a field cannot be changed on an existing guest
	ReasonInUse               ConditionReason = "in-use"               // Blocked: an object is not removed while something is in it, or uses it, and no guest is destroyed that has a replication job
	ReasonInvalid             ConditionReason = "invalid"              // Blocked: this release refuses the manifest, which an older one accepted
	ReasonLeaving             ConditionReason = "leaving"              // Blocked: Proxmox is removing the object
	ReasonLocked              ConditionReason = "locked"               // Blocked: a task or a backup holds the guest
	ReasonMayExist            ConditionReason = "may-exist"            // Blocked: the manifest names no vmid, and the guest may exist already
	ReasonNoNode              ConditionReason = "no-node"              // Blocked: no node was chosen yet to create the guest on, since it fits on none or nothing may be written
	ReasonNoSecret            ConditionReason = "no-secret"            // Blocked: a secret is missing without which the guest is not created or not started
	ReasonNoSource            ConditionReason = "no-source"            // Blocked: the guest does not exist, and the manifest does not define how to create it
	ReasonNoVMID              ConditionReason = "no-vmid"              // Blocked: the agent has no free vmid to assign
	ReasonNotInHA             ConditionReason = "not-in-ha"            // Blocked: the HA manager does not manage a guest that an object names
	ReasonPartlyCreated       ConditionReason = "partly-created"       // Blocked: another call is still creating the guest, or left it incomplete
	ReasonSecret              ConditionReason = "secret"               // Blocked: a secret cannot be given to the guest
	ReasonSelectsNone         ConditionReason = "selects-none"         // Blocked: no guest has the labels that the manifest of an object selects
	ReasonServerDenied        ConditionReason = "server-denied"        // Blocked: the config of the agent's host does not allow downloads from the server of an Image
	ReasonTaskHangs           ConditionReason = "task-hangs"           // Blocked: a task of the guest still runs after the time that its operation may take
	ReasonVolumeInUse         ConditionReason = "volume-in-use"        // Blocked: another guest uses a volume that the plan would destroy or attach
	ReasonVolumeLost          ConditionReason = "volume-lost"          // Blocked: an empty slot held a volume that cannot be attached again
	ReasonDenied              ConditionReason = "denied"               // Failed: the token lacks a privilege
	ReasonError               ConditionReason = "error"                // Failed: the agent could not work on the guest, and no step had begun
	ReasonRootOnly            ConditionReason = "root-only"            // Failed: Proxmox allows the change to root@pam only, and to no API token
	ReasonDifferentGuest      ConditionReason = "different-guest"      // IdentityConflict: the guest under the vmid is not the recorded one
	ReasonForeignMarker       ConditionReason = "foreign-marker"       // IdentityConflict: the guest to be adopted has the marker of another owner
	ReasonKind                ConditionReason = "kind"                 // IdentityConflict: the guest under the vmid is of another kind
	ReasonNotManaged          ConditionReason = "not-managed"          // IdentityConflict: the guest exists, and the manifest does not ask to adopt it
	ReasonForeignFile         ConditionReason = "foreign-file"         // Unknown: the agent did not download the file of an Image, or its size has changed since
	ReasonNoRevision          ConditionReason = "no-revision"          // Unknown: no revision is in force, so the wanted state is unknown
	ReasonNodeOffline         ConditionReason = "node-offline"         // Unknown: the guest is on a node that is offline
	ReasonNotObserved         ConditionReason = "not-observed"         // Unknown: the guest, or a guest that may use its volumes, was not read
	ReasonRemoved             ConditionReason = "removed"              // Orphaned: no manifest names the guest any more
	ReasonSnapshotsLeft       ConditionReason = "snapshots-left"       // Leftover: the agent has taken snapshots of the guest, and its manifest has no schedule any more
	ReasonUnusedVolumes       ConditionReason = "unused-volumes"       // Leftover: volumes belong to the guest that no slot uses
	ReasonCheckRefused        ConditionReason = "check-refused"        // Warned: the config of the agent's host does not allow a check in spec.health of the guest
	ReasonCopied              ConditionReason = "copied"               // Warned: another guest has the guest's marker, since it was cloned from it
	ReasonFileInUse           ConditionReason = "file-in-use"          // Warned: a guest uses a former file of an Image, or a manifest names it
	ReasonFileOnOneNode       ConditionReason = "file-on-one-node"     // Warned: the manifest of an Image lists no nodes, and each node has its storage for itself
	ReasonFirewallIneffective ConditionReason = "firewall-ineffective" // Warned: the firewall of the guest, or a part of it, has no effect
	ReasonMinimum             ConditionReason = "guard-minimum"        // Warned: the manifest asks for weaker guards than the host's minimum, which is in effect
	ReasonNeedsRoot           ConditionReason = "needs-root"           // Warned: the guest lacks a setting that only root@pam may make
	ReasonNoBackup            ConditionReason = "no-backup"            // Warned: the manifest requires backups, and no enabled backup job covers the guest, or no backup contains one of its volumes; or a backup job never runs
	ReasonOtherNode           ConditionReason = "other-node"           // Warned: the guest is on another node than its manifest names, and the manifest does not ask to move it; or a job copies to another node since its guest moved
	ReasonOverridden          ConditionReason = "overridden"           // Warned: an order overrides the run state of the manifest for a time
	ReasonPolicy              ConditionReason = "policy"               // Warned: a policy warns about a step
	ReasonSnapshotFailed      ConditionReason = "snapshot-failed"      // Warned: a snapshot of the schedule was not taken, or one could not be deleted
	ReasonWarnings            ConditionReason = "warnings"             // Warned: a task of the last work on the guest ended with warnings
)

// ConditionReasons lists every reason that is declared here, sorted by type and then by name, as in the constants.
func ConditionReasons() []ConditionReason {
	return []ConditionReason{
		ReasonDiffers, ReasonPendingRestart,
		ReasonAwaits, ReasonCannotCreate, ReasonFlapping, ReasonHidden, ReasonImpossible, ReasonInUse, ReasonInvalid, ReasonLeaving, ReasonLocked, ReasonMayExist, ReasonNoNode, ReasonNoSecret, ReasonNoSource,
		ReasonNoVMID, ReasonNotInHA, ReasonPartlyCreated, ReasonSecret, ReasonSelectsNone, ReasonServerDenied, ReasonTaskHangs, ReasonVolumeInUse, ReasonVolumeLost,
		ReasonDenied, ReasonError, ReasonRootOnly,
		ReasonDifferentGuest, ReasonForeignMarker, ReasonKind, ReasonNotManaged,
		ReasonForeignFile, ReasonNoRevision, ReasonNodeOffline, ReasonNotObserved, ReasonRemoved, ReasonSnapshotsLeft, ReasonUnusedVolumes, ReasonCheckRefused, ReasonCopied, ReasonFileInUse, ReasonFileOnOneNode, ReasonFirewallIneffective, ReasonMinimum, ReasonNeedsRoot, ReasonNoBackup, ReasonOtherNode, ReasonOverridden, ReasonPolicy, ReasonSnapshotFailed, ReasonWarnings,
	}
}

// Condition is one fact about a guest, with its reason, the time at which it began and the revision that it was planned for.
type Condition struct {
	Type     ConditionType   `json:"type"`
	Reason   ConditionReason `json:"reason"`
	Message  string          `json:"message"`          // for people
	Hint     string          `json:"hint,omitempty"`   // what would end it
	Digest   string          `json:"digest,omitempty"` // of the held step, for an approval
	Since    time.Time       `json:"since,omitzero"`
	Revision string          `json:"revision,omitempty"`
}

// notObserved returns the condition of a guest that could not be read.
func notObserved(vmid int, got cluster.Snapshot) Condition {
	c := Condition{Type: NotObserved, Reason: ReasonNotObserved, Message: "the guest could not be read, and it is unknown whether it exists"}
	row, listed := got.Inventory.Row(vmid)
	switch why := got.ReadErrors[vmid]; {
	case listed && slices.Contains(got.Inventory.Offline, row.Node):
		c.Reason, c.Message = ReasonNodeOffline, "its node "+row.Node+" is offline"
		c.Hint = "start the node, or wait until it is back; the agent does not create the guest on another node"
	case why != "":
		c.Message = "the guest could not be read: " + why
	}
	return c
}

// lockCondition returns the condition of a locked guest.
func lockCondition(live guest.Observed) Condition {
	c := Condition{Type: Blocked, Reason: ReasonLocked, Message: "the guest is locked (" + live.Lock + ")", Hint: "wait for the task that holds the lock"}
	if cluster.PartlyCreated(live) {
		tool := "qm"
		if live.Kind == guest.Container {
			tool = "pct"
		}
		c.Reason = ReasonPartlyCreated
		c.Hint = fmt.Sprintf("wait; if no task creates it any more, unlock it on its node (%s unlock %d) and remove it", tool, live.VMID)
	}
	return c
}
