package guest

import "time"

// Desired is what a manifest wants of one guest: intents on native keys, not a copy of the live shape. What it does not
// mention is not managed. It is immutable once made.
type Desired struct {
	Ref
	Origin    Origin   // of the manifest
	Node      string   // to create the guest on; "" leaves it to the source, which must imply one
	Nodes     []string // where the guest may be, Node among them; compared only where Migrate allows a move
	Migrate   Migration
	Template  bool      // the guest is a template; false is unmanaged
	HA        *HAWanted // what the HA manager does with it; nil is unmanaged
	Secrets   []Secret  // sorted by key
	Refresh   bool      // write the cloud-init drive anew when cloud-init keys of a running guest change
	Source    Source    // how to create the guest; never compared with a live one
	Intents   []Intent  // sorted by key, one a key
	Pool      string    // "" is unmanaged
	State     RunState
	Adopt     bool // take over a guest that bears no marker
	Observe   bool // mode: observe: plan and report, write nothing
	Suspend   *Suspension
	Lifecycle Lifecycle
	DependsOn []string // labels
	Wave      int      // lower waves first
	Ignore    []string // native keys, or key.subkey, that are left out of the comparison
	Marker    string   // ownership tag that must be among the guest's tags, any other marker must not; "" while not owned
}

// Verb says what an Intent wants of its key.
type Verb string

// The verbs of an Intent.
const (
	Want   Verb = "want"   // the key has this value
	Absent Verb = "absent" // the key, and the slot behind it, is not there
)

// Intent is what is wanted of one native key.
//
// A scalar key ("memory") carries Text; an empty one wants the key unset. A property-string key ("net0", "agent") carries
// Sub, the wanted sub-keys alone: a sub-key that is not named is the guest's own and is kept, one with an empty value is
// wanted unset; or Text, which pins the whole value as native text, but for what Proxmox fills in by itself.
// Drive slots use the pseudo sub-keys "storage" (where to allocate), "volume" (attach this one) and "size" ("32G": a smaller
// volume is grown, a larger one cannot be shrunk) beside the native ones; Proxmox's allocation syntax never appears in an
// Intent. A cloud-init drive is Sub{"storage": S, "volume": "cloudinit"}; a CD-ROM is Sub{"volume": "local:iso/x.iso",
// "media": "cdrom"}, with "none" as the volume of an empty one.
type Intent struct {
	Key    string
	Verb   Verb
	Text   string
	Sub    map[string]string
	Origin Origin
}

// Source says how a guest is created. Exactly one of its fields is set; the zero Source cannot create.
type Source struct {
	Clone    *Clone
	Image    *Image
	ISO      *ISO
	Template *Template
	Backup   *Backup
	Blank    bool
}

// Clone creates a virtual machine or a container from a template guest.
type Clone struct {
	VMID    int    // of the template; 0 where Name is given
	Name    string // of the template, resolved on the cluster; an ambiguous name is an error
	Full    bool   // copy the disks; otherwise a linked clone
	Storage string // for a full clone; "" is the template's own
	Format  string // of a full clone's volumes: raw, qcow2, vmdk; "" is the storage's choice
	Snap    string // snapshot of the template to clone; "" is its present state
}

// Image creates a virtual machine by importing a disk image into a slot.
type Image struct {
	Volume string // "local:import/debian-12.qcow2"
	Slot   string // "scsi0"
}

// ISO creates a virtual machine with empty disks, and an image in a CD-ROM drive to install from.
type ISO struct {
	Volume string // "local:iso/debian-12.iso"
	Slot   string // "ide2"
}

// Backup creates a guest by restoring a backup. What the manifest wants beyond it is written afterwards.
type Backup struct {
	Volume  string // "pbs:backup/vm/201/2026-01-01T00:00:00Z"
	Storage string // for the volumes; "" is where they were
	Unique  bool   // draw new MAC addresses
}

// Template creates a container from a container template.
type Template struct {
	Volume string // "local:vztmpl/debian-12-standard_12.7-1_amd64.tar.zst"
}

// RunState is the run state that a manifest wants.
type RunState string

// The wanted run states. Ignored is the default: a guest's power is then its owner's business.
const (
	Running RunState = "running"
	Stopped RunState = "stopped"
	Ignored RunState = "ignored"
)

// Suspension stops all work on a guest for a stated reason.
type Suspension struct {
	Reason, Author string
	Until          time.Time // exclusive; zero never ends by itself
}

// Lifecycle says what may be done to a guest without asking. The last accepted one of an owned guest is remembered, so that
// removing its manifest cannot remove its guard.
type Lifecycle struct {
	Destroy         Permission
	RebootPolicy    RebootPolicy
	Window          string        // "Sat 02:00-04:00 Europe/Berlin", for RebootPolicy window
	ShutdownTimeout time.Duration // how long a shutdown may take; 0 is 3 minutes
	ForceStop       bool          // pull the plug when the shutdown takes longer
}

// Permission says whether a destructive step may run.
type Permission string

// Permissions. Approve is the default; Deny ignores approvals.
const (
	Deny    Permission = "deny"
	Approve Permission = "approve"
	Allow   Permission = "allow"
)

// RebootPolicy says what happens when a written change waits for a restart.
type RebootPolicy string

// Reboot policies. RebootNever is the default: the waiting change is reported.
const (
	RebootNever   RebootPolicy = "never"
	RebootApprove RebootPolicy = "approve"
	RebootWindow  RebootPolicy = "window"
	RebootAuto    RebootPolicy = "auto"
)
