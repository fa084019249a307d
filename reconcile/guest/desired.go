package guest

import "time"

// Desired is what a manifest wants of one guest: intents on native keys, not a copy of the live shape. What it does not
// mention is not managed. It is immutable once made.
type Desired struct {
	Ref
	Origin    Origin   // of the manifest
	Node      string   // "" leaves the placement to the cluster, and needs a source that implies one
	Source    Source   // how to create the guest; never compared with a live one
	Intents   []Intent // sorted by key, one a key
	Pool      string   // "" is unmanaged
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
	Template *Template
	Blank    bool
}

// Clone creates a virtual machine or a container from a template guest.
type Clone struct {
	VMID    int    // of the template; 0 where Name is given
	Name    string // of the template, resolved on the cluster; an ambiguous name is an error
	Full    bool   // copy the disks; otherwise a linked clone
	Storage string // for a full clone; "" is the template's own
}

// Image creates a virtual machine by importing a disk image into a slot.
type Image struct {
	Volume string // "local:import/debian-12.qcow2"
	Slot   string // "scsi0"
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
