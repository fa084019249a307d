package reason

// Name is the name of a reason of a condition or of a held step, in kebab-case. Programs compare names; messages are for people. It is a label of metrics.
//
// A condition of a failed step has the name of the step's operation instead.
type Name string

// Reasons of conditions, sorted by the type of the condition.
const (
	Differs             Name = "differs"              // Drifted: the guest differs from its manifest
	PendingRestart      Name = "pending-restart"      // PendingRestart: changes are written and take effect at the next stop and start
	Awaits              Name = "awaits"               // Blocked: an object cannot be made, or has no effect, before something else exists
	CannotCreate        Name = "cannot-create"        // Blocked: the create call cannot carry some fields of the manifest
	Flapping            Name = "flapping"             // Blocked: repairs of the guest are undone again and again, so the agent repairs it less often
	Hidden              Name = "hidden"               // Blocked: a guest that the token may not see has the vmid
	Impossible          Name = "impossible"           // Blocked: a field cannot be changed on an existing guest
	InUse               Name = "in-use"               // Blocked: an object is not removed while something is in it, or uses it, and no guest is destroyed that has a replication job
	Invalid             Name = "invalid"              // Blocked: this release refuses the manifest, which an older one accepted
	Leaving             Name = "leaving"              // Blocked: Proxmox is removing the object
	Locked              Name = "locked"               // Blocked: a task or a backup holds the guest
	MayExist            Name = "may-exist"            // Blocked: the manifest names no vmid, and the guest may exist already
	NoNode              Name = "no-node"              // Blocked: no node was chosen yet to create the guest on, since it fits on none or nothing may be written
	NoSecret            Name = "no-secret"            // Blocked: a secret is missing without which the guest is not created or not started
	NoSource            Name = "no-source"            // Blocked: the guest does not exist, and the manifest does not define how to create it
	NoVMID              Name = "no-vmid"              // Blocked: the agent has no free vmid to assign
	NotInHA             Name = "not-in-ha"            // Blocked: the HA manager does not manage a guest that an object names
	PartlyCreated       Name = "partly-created"       // Blocked: another call is still creating the guest, or left it incomplete
	Secret              Name = "secret"               // Blocked: a secret cannot be given to the guest
	SelectsNone         Name = "selects-none"         // Blocked: no guest has the labels that the manifest of an object selects
	ServerDenied        Name = "server-denied"        // Blocked: the config of the agent's host does not allow downloads from the server of an Image
	TaskHangs           Name = "task-hangs"           // Blocked: a task of the guest still runs after the time that its operation may take
	VolumeInUse         Name = "volume-in-use"        // Blocked: another guest uses a volume that the plan would destroy or attach
	VolumeLost          Name = "volume-lost"          // Blocked: an empty slot held a volume that cannot be attached again
	Denied              Name = "denied"               // Failed: the token lacks a privilege
	Error               Name = "error"                // Failed: the agent could not work on the guest, and no step had begun
	RootOnly            Name = "root-only"            // Failed: Proxmox allows the change to root@pam only, and to no API token
	DifferentGuest      Name = "different-guest"      // IdentityConflict: the guest under the vmid is not the recorded one
	ForeignMarker       Name = "foreign-marker"       // IdentityConflict: the guest to be adopted has the marker of another owner
	OtherKind           Name = "kind"                 // IdentityConflict: the guest under the vmid is of another kind
	NotManaged          Name = "not-managed"          // IdentityConflict: the guest exists, and the manifest does not ask to adopt it
	ForeignFile         Name = "foreign-file"         // Unknown: the agent did not download the file of an Image, or its size has changed since
	NoRevision          Name = "no-revision"          // Unknown: no revision is in force, so the wanted state is unknown
	NodeOffline         Name = "node-offline"         // Unknown: the guest is on a node that is offline
	NotObserved         Name = "not-observed"         // Unknown: the guest, or a guest that may use its volumes, was not read
	Removed             Name = "removed"              // Orphaned: no manifest names the guest any more
	SnapshotsLeft       Name = "snapshots-left"       // Leftover: the agent has taken snapshots of the guest, and its manifest has no schedule any more
	UnusedVolumes       Name = "unused-volumes"       // Leftover: volumes belong to the guest that no slot uses
	CheckRefused        Name = "check-refused"        // Warned: the config of the agent's host does not allow a check in spec.health of the guest
	Copied              Name = "copied"               // Warned: another guest has the guest's marker, since it was cloned from it
	FileInUse           Name = "file-in-use"          // Warned: a guest uses a former file of an Image, or a manifest names it
	FileOnOneNode       Name = "file-on-one-node"     // Warned: the manifest of an Image lists no nodes, and each node has its storage for itself
	FirewallIneffective Name = "firewall-ineffective" // Warned: the firewall of the guest, or a part of it, has no effect
	GuardMinimum        Name = "guard-minimum"        // Warned: the manifest asks for weaker guards than the host's minimum, which is in effect
	NeedsRoot           Name = "needs-root"           // Warned: the guest lacks a setting that only root@pam may make
	NoBackup            Name = "no-backup"            // Warned: the manifest requires backups, and no enabled backup job covers the guest, or no backup contains one of its volumes; or a backup job never runs
	OtherNode           Name = "other-node"           // Warned: the guest is on another node than its manifest names, and the manifest does not ask to move it; or a job copies to another node since its guest moved
	Overridden          Name = "overridden"           // Warned: an order overrides the run state of the manifest for a time
	Policy              Name = "policy"               // Warned: a policy warns about a step
	SnapshotFailed      Name = "snapshot-failed"      // Warned: a snapshot of the schedule was not taken, or one could not be deleted
	Warnings            Name = "warnings"             // Warned: a task of the last work on the guest ended with warnings
)

// Reasons to hold a step, in addition to those of the first list that a condition shares with a hold.
const (
	Approval           Name = "approval"         // a signed approval releases it
	DestroyDenied      Name = "destroy-denied"   // lifecycle.destroy: deny; approvals have no effect
	DestroyLimit       Name = "destroy-limit"    // too many calls to destroy a guest were sent in 24 hours
	EmptyDesired       Name = "empty-desired"    // no manifest names any guest, so nothing is destroyed
	Guard              Name = "guard"            // the manifest weakens a guard; the approvals that the guards in force require release it
	NodeMaintenance    Name = "node-maintenance" // the node is in maintenance, and gets no creates, starts or moves
	NotReady           Name = "not-ready"        // a guest that the step's guest depends on has converged and does not pass its checks
	ObserveMode        Name = "observe-mode"
	OwnGuest           Name = "own-guest"       // it would stop, restart, move or destroy the guest in which the agent runs; approvals have no effect
	RecreateDenied     Name = "recreate-denied" // lifecycle.recreate: deny; approvals have no effect
	Rollout            Name = "rollout"         // the change reaches other guests first
	Scope              Name = "scope"           // the signer who wrote a field may not touch what the step touches; approvals have no effect
	Suspended          Name = "suspended"
	VolumeUsersUnknown Name = "volume-users-unknown" // the last check could not read every guest that may use a volume of the step
	WaitsFor           Name = "waits-for"            // a dependency or a lower wave comes first
	Window             Name = "window"               // the guest may restart only within lifecycle.window
	WritesStopped      Name = "writes-stopped"
)

// IsOrder reports whether the step waits for other guests, and for no person.
func (n Name) IsOrder() bool { return n == WaitsFor || n == NotReady }

// IsKept reports whether the manifest keeps the agent from the step for good, so that no other guest waits for it.
func (n Name) IsKept() bool { return n == DestroyDenied || n == ObserveMode || n == Suspended }
