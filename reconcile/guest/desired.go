package guest

import "time"

// Desired is what a manifest wants of one guest: intents for native keys, not a copy of the live configuration. What the manifest does not
// mention is not managed. A Desired is not changed after it was made.
type Desired struct {
	Ref
	Origin    Origin   // of the manifest document
	Node      string   // to create the guest on; "" leaves the choice to the source, which must imply a node
	Nodes     []string // where the guest may be, including Node; compared only if Migrate allows a move
	Migrate   Migration
	Placement *Placement // how the agent chooses Node if the guest does not exist; nil if the manifest names a node, or the source implies one
	WhyNode   string     // why the agent chose Node, for people; "" if it did not. Not from the manifest
	Template  bool       // the guest is a template; false is unmanaged
	HA        *HAWanted  // entry with the HA manager; nil is unmanaged
	Secrets   []Secret   // sorted by key
	Refresh   bool       // regenerate the cloud-init drive when cloud-init keys of a running guest change
	Source    Source     // how to create the guest; never compared with a live guest
	Intents   []Intent   // sorted by key, one per key
	Pool      string     // "" is unmanaged
	State     RunState
	Adopt     bool // take over a guest that has no marker
	Backup    bool // backup: required: a backup job has to cover the guest
	Observe   bool // mode: observe: plan and report, write nothing
	Kept      bool `json:"-"` // Observe is a guard in force, and the manifest has mode: enforce
	Suspend   *Suspension
	Lifecycle Lifecycle
	DependsOn []string          // labels
	Rollout   Rollout           // how a change reaches the guest together with others; the zero value is at once
	Firewall  *FirewallWanted   // nil is unmanaged
	Snapshots *SnapshotSchedule // that the agent takes; nil takes none
	Health    Health            // what shows that the guest is ready; the zero value is its run state
	Wave      int               // lower waves first
	Ignore    []string          // native keys, or key.subkey, that are not compared

	StartWithout []string `json:",omitempty"` // mounts and devices without which a new guest may be started; sorted

	Marker   string    // ownership tag that the guest must have, without any other marker; "" while it is not owned
	UUID     string    // SMBIOS uuid with which a virtual machine is created if no intent names one; "" leaves it to Proxmox
	Settings []Setting // where the fields are set that are guards, and those that name a node, a pool or a source

	Labels map[string]string // metadata.labels of the manifest, for policies; not sent to the cluster

	Invalid *Invalid // this release refuses the manifest, which an older one accepted: nothing is planned for the guest; nil if it is valid

	Override *Override // while an order overrides State, which is Ignored then; nil if none does. Not from the manifest

	Former map[string]Former // of the empty slots of the live guest that held a volume before, by slot; not from the manifest
}

// Override is a run state that an order gave the guest for a time, against its manifest.
type Override struct {
	Wants RunState // of the manifest
	State RunState
	Until time.Time
}

// WantedState returns the run state that the manifest wants, also while an order overrides it.
func (d Desired) WantedState() RunState {
	if d.Override != nil {
		return d.Override.Wants
	}
	return d.State
}

// Invalid is why a manifest is refused.
type Invalid struct {
	Origin  Origin
	Field   string // path below spec
	Message string // "got ..., want ..."
	Hint    string // may be ""
}

// Health are the checks that a guest passes when it is ready for the guests that depend on it. All that are set must pass.
type Health struct {
	Agent bool   // the guest agent of a virtual machine answers
	TCP   string // "10.0.0.5:5432" accepts connections; "" checks nothing
	HTTP  string // "http://10.0.0.5/healthz" answers with a status of the class 2xx; "" checks nothing
}

// Addresses names the addresses that are checked, for people.
func (h Health) Addresses() string {
	if h.TCP == "" || h.HTTP == "" {
		return h.TCP + h.HTTP
	}
	return h.TCP + " and " + h.HTTP
}

// Verb is what an Intent wants of its key.
type Verb string

// The verbs of an Intent.
const (
	Want   Verb = "want"   // the key has this value
	Absent Verb = "absent" // the key, and the slot that it names, does not exist
)

// Intent is what a manifest wants of one native key.
//
// A scalar key ("memory") has Text; an empty Text wants the key unset. A key with a property string ("net0", "agent") has one of two:
//   - Sub contains only the wanted sub-keys. A sub-key that is not named is not managed and kept; an empty value wants the sub-key unset.
//   - Text is the whole value as native text, except for what Proxmox fills in itself.
//
// Drive slots use the pseudo sub-keys "storage" (where to allocate), "volume" (the volume to attach) and "size" ("32G": a smaller volume is
// grown, a larger one stays) in addition to the native ones. An Intent never contains Proxmox's allocation syntax. A cloud-init drive is
// Sub{"storage": S, "volume": "cloudinit"}. A CD-ROM drive is Sub{"volume": "local:iso/x.iso", "media": "cdrom"}, with "none" as the volume
// of an empty drive.
type Intent struct {
	Key    string
	Verb   Verb
	Text   string
	Sub    map[string]string
	Origin Origin
}

// Source is how a guest is created. Exactly one of its fields is set; the zero Source cannot create a guest.
type Source struct {
	Clone    *Clone
	Image    *Image
	ISO      *ISO
	Template *Template
	Backup   *Backup
	Blank    bool
}

// Object returns the name of the Image from whose file the guest is created, "" if it is created from none.
func (s Source) Object() string {
	switch {
	case s.Image != nil:
		return s.Image.Object
	case s.ISO != nil:
		return s.ISO.Object
	case s.Template != nil:
		return s.Template.Object
	}
	return ""
}

// Clone creates a virtual machine or a container from a template guest.
type Clone struct {
	VMID    int    // of the template; 0 where Name is given
	Name    string // of the template, resolved on the cluster; an ambiguous name is an error
	Full    bool   // copy the disks; otherwise a linked clone
	Storage string // for a full clone; "" is the storage of the template
	Format  string // of a full clone's volumes: raw, qcow2, vmdk; "" is the storage's choice
	Snap    string // snapshot of the template to clone; "" is its current state
}

// Image creates a virtual machine by importing a disk image into a slot.
type Image struct {
	Volume string // "local:import/debian-12.qcow2"
	Object string // name of the Image whose file it is; "" for another file
	Slot   string // "scsi0"
}

// ISO creates a virtual machine with empty disks and an image to install from in a CD-ROM drive.
type ISO struct {
	Volume string // "local:iso/debian-12.iso"
	Object string // name of the Image whose file it is; "" for another file
	Slot   string // "ide2"
}

// Backup creates a guest by restoring a backup. Other wanted values are written afterwards.
type Backup struct {
	Volume  string // "pbs:backup/vm/201/2026-01-01T00:00:00Z"
	Storage string // for the volumes; "" is the original storage
	Unique  bool   // generate new MAC addresses
}

// Template creates a container from a container template.
type Template struct {
	Volume string // "local:vztmpl/debian-12-standard_12.7-1_amd64.tar.zst"
	Object string // name of the Image whose file it is; "" for another file
}

// RunState is the run state that a manifest wants.
type RunState string

// The wanted run states. Ignored is the default: the agent does not start or stop the guest.
const (
	Running RunState = "running"
	Stopped RunState = "stopped"
	Ignored RunState = "ignored"
)

// Suspension stops all work on a guest for a stated reason.
type Suspension struct {
	Reason, Author string
	Until          time.Time // exclusive; the zero time has no end
	Kept           bool      `json:"-"` // Until is a guard in force, and the manifest has an earlier end, or no suspension
}

// Lifecycle is what may be done to a guest without asking. The agent remembers the last accepted Lifecycle of each owned guest, so that
// removing a manifest does not remove the guard.
type Lifecycle struct {
	Destroy         Permission
	Recreate        Permission // to create the guest again if it is gone and the agent did not destroy it
	RebootPolicy    RebootPolicy
	Window          string        // "Sat 02:00-04:00 Europe/Berlin", for RebootPolicy window
	ShutdownTimeout time.Duration // how long a shutdown may take; 0 is 3 minutes
	ForceStop       bool          // stop the guest hard when the shutdown takes longer
}

// DefaultShutdownTimeout is how long a shutdown may take if the manifest does not say it.
const DefaultShutdownTimeout = 3 * time.Minute

// Permission is whether a destructive step, or the second creation of a guest, may run.
type Permission string

// Permissions. Approve is the default; Deny ignores approvals.
const (
	Deny    Permission = "deny"
	Approve Permission = "approve"
	Allow   Permission = "allow"
)

// RebootPolicy is what happens when a written change waits for a restart.
type RebootPolicy string

// Reboot policies. RebootNever is the default: the waiting change is only reported.
const (
	RebootNever   RebootPolicy = "never"
	RebootApprove RebootPolicy = "approve"
	RebootWindow  RebootPolicy = "window"
	RebootAuto    RebootPolicy = "auto"
)

// HAWanted is the entry with the HA manager that a manifest wants. A nil or empty field is unmanaged.
type HAWanted struct {
	Absent      bool // the guest has no entry
	State       string
	MaxRestart  *int
	MaxRelocate *int
	Failback    *bool
	Origin      Origin
}

// Migration is whether the agent moves a guest that is on another node than wanted.
type Migration string

// The kinds of migration. MigrateDeny is the default: the node is only used to create the guest.
const (
	MigrateDeny    Migration = "deny"
	MigrateOffline Migration = "offline" // while it is stopped
	MigrateOnline  Migration = "online"  // also while it runs; a container restarts
)

// Secret is a native key whose value is in a file on the agent's host, or encrypted in the repository, and never in a plan, a log or the journal.
type Secret struct {
	Key       string    // cipassword, password
	File      string    // name within the agent's directory of secrets, or the name of an encrypted password, such as "age:web.age"
	Encrypted Encrypted // the zero value is a secret on the agent's host
	Origin    Origin
}

// Encrypted is a password in an encrypted file of the repository.
type Encrypted struct {
	Format  string // age, sops
	Path    string // of the file, relative to the root of the repository; "" for a secret on the agent's host
	Key     string // of the value in a file of SOPS
	Content string // of the file in the revision, still encrypted; a change of the file is therefore a change of every guest that refers to it
	Problem string // why there is no content
}
