package guest

// Class is the cost of a change for the guest. It depends on the current state of the guest: a change of a restart key is Live for a
// stopped guest.
//
// Source: PVE API, hotplug and pending rules of QemuServer.pm and LXC/Config.pm.
type Class string

// Classes, least severe first.
const (
	Live        Class = "live"        // no interruption
	Restart     Class = "restart"     // written now, takes effect at the next start
	Disruptive  Class = "disruptive"  // interrupts the service or its network; data is safe
	Destructive Class = "destructive" // data is lost
	Impossible  Class = "impossible"  // cannot be done in place
)

// Classes lists every class, least severe first.
func Classes() []Class { return []Class{Live, Restart, Disruptive, Destructive, Impossible} }

// Write is the way in which a Change is sent to Proxmox.
type Write string

// The ways to write a change.
const (
	WriteSet      Write = "set"      // key=Value in a config call
	WriteDelete   Write = "delete"   // the key's name in a config call's delete list
	WriteSecret   Write = "secret"   // key in a config call, with the content of the secret that Value names
	WriteResize   Write = "resize"   // a resize call, Value is the new size
	WriteMove     Write = "move"     // a call that moves the volume of slot Key, Value is the storage
	WriteMigrate  Write = "migrate"  // a migrate call, Value is the node; Key is "node"
	WritePool     Write = "pool"     // a call that changes the pool's members, Value is the pool; Key is "pool"
	WriteTemplate Write = "template" // a call that turns the guest into a template; Key is "template"
	WriteHA       Write = "ha"       // a call to the HA manager, Value is add, set or remove; Key is "ha"
	WriteFirewall Write = "firewall" // calls that change the guest's firewall; Key begins with "firewall."
	WriteNone     Write = "none"     // nothing to send: the change waits for a restart, or is impossible
)

// Change is one difference between a Desired and an Observed guest.
type Change struct {
	Key    string
	From   string // canonical, for people; "" is absent
	To     string // canonical, for people; "" is absent
	Class  Class
	Write  Write
	Value  string // native text to send; merged with what Proxmox owns. A secret where To is asterisks
	Waits  bool   // already written: it takes effect at the next start
	Unsure bool   // of a change that waits: it may be in effect already, so nothing is restarted for it
	ByHA   bool   // already asked for: the HA manager makes it in its own time; Write is WriteNone
	Note   string // what happens, in a few words: "link flap", "restart needed", or why the change is impossible
	Origin Origin // the manifest line that asks for the change

	RootOnly  bool   // Proxmox lets only root@pam make the change, so the agent does not; the class is Impossible
	RootValue string // of a change with RootOnly: the native text that root has to write; "" if root has to remove the key

	Guarded bool // it takes a volume out of its slot, or Proxmox refuses it while the guest is protected: the protection stands against it, if it is on

	LeavesBackups string // the volume that the change takes out of the backups of a guest that requires them, "scsi1 (local-lvm:vm-201-disk-1)"; "" if there is none

	Replaces string // for people: the volume that the slot held before, which a new empty volume replaces; "" if there is none
}
