package policy

import (
	"strconv"
	"strings"
	"sync"

	"gitops-agent/reconcile/guest/form"

	"cel.dev/cel-go/common/types/ref"

	"gitops-agent/reconcile/guest"
)

// Guest is a guest as expressions see it, made by NewGuest or ObservedGuest, or NoGuest. It is not changed after it was made.
type Guest struct {
	Exists                       bool
	Kind, Name                   string
	VMID                         int
	Node, Pool, State            string
	Tags                         []string
	Labels                       map[string]string
	CPU                          CPU
	Memory                       int64 // bytes
	Disks                        []Disk
	Networks                     []Network
	OnBoot, Protection, Template bool
	Privileged, HA               bool
	Lifecycle                    Lifecycle

	values  guest.Values // for config, which few expressions read
	signers Signers      // nil knows none
	lists   lists
}

// lists are the lists and maps of a guest as values of CEL. A guest is judged by several policies, so each is made once, when an expression reads it: most
// guests get results that are known from others.
type lists struct{ tags, labels, disks, networks list }

// list is a value of CEL that is made once.
type list struct {
	once  sync.Once
	value ref.Val
}

func (l *list) made(as func() ref.Val) ref.Val {
	l.once.Do(func() { l.value = as() })
	return l.value
}

// CPU are the processors of a guest.
type CPU struct{ Cores, Sockets int64 }

// Disk is a disk, a mount point or a CD-ROM drive.
type Disk struct {
	Slot, Kind, Storage, Volume string
	Size                        int64 // bytes
	Backup                      bool
	Signers                     []string
}

// Network is a network interface.
type Network struct {
	Slot, Bridge, MAC   string
	VLAN                int64
	Firewall, Connected bool
	Signers             []string
}

// Lifecycle are the guards in effect.
type Lifecycle struct{ Destroy, Recreate, RebootPolicy string }

// Total returns the cores of all sockets.
func (c CPU) Total() int64 { return c.Cores * c.Sockets }

// config returns all native keys.
func (g *Guest) config() map[string]string {
	config := make(map[string]string)
	for _, key := range g.values.Keys() {
		config[key] = g.values.Text(key)
	}
	return config
}

// fieldSigners returns who introduced each field whose signers are known.
func (g *Guest) fieldSigners() map[string][]string {
	fields := make(map[string][]string)
	if g.signers == nil {
		return fields
	}
	for _, field := range append(g.values.Keys(), "spec.vmid", "spec.node", "spec.pool", "spec.source", "spec.ha", "spec.template", "metadata.labels") {
		if names := g.signers(field); len(names) > 0 {
			fields[field] = names
		}
	}
	return fields
}

// Signers returns the names of the signers who introduced a field of a guest; nil knows none.
type Signers func(field string) []string

// NewGuest returns the guest that a manifest wants. Live is the guest now; nil if it does not exist.
func NewGuest(d *guest.Desired, live *guest.Observed, signers Signers) *Guest {
	g, room := &Guest{signers: signers}, &slotRoom{}
	g.want(d, live, allParts, room)
	return g
}

// ObservedGuest returns a guest as it is now. Labels are those of its manifest.
func ObservedGuest(live *guest.Observed, labels map[string]string) *Guest {
	g, room := &Guest{Labels: labels}, &slotRoom{}
	g.derive(live.Ref, guest.ValuesNow(live), allParts, room)
	g.State, g.Node, g.Pool, g.HA, g.Template = string(live.Status), live.Node, live.Pool, live.HA, live.Template
	return g
}

// want sets the fields to those of the guest that a manifest wants.
func (g *Guest) want(d *guest.Desired, live *guest.Observed, read parts, room *slotRoom) {
	g.derive(d.Ref, guest.ValuesAfter(d, live), read, room)
	g.Labels = d.Labels
	g.State, g.Pool, g.Node = string(d.WantedState()), d.Pool, d.Node
	g.HA = d.HA != nil && !d.HA.Absent
	if live != nil {
		if d.Node == "" || d.Migrate == guest.MigrateDeny || d.Migrate == "" {
			g.Node = live.Node
		}
		if d.Pool == "" {
			g.Pool = live.Pool
		}
		if d.HA == nil {
			g.HA = live.HA
		}
		g.Template = live.Template
	}
	g.Template = g.Template || d.Template
	g.Lifecycle = Lifecycle{string(d.Lifecycle.Destroy), string(d.Lifecycle.Recreate), string(d.Lifecycle.RebootPolicy)}
}

// slotRoom is memory for the slots of one guest at a time.
type slotRoom struct {
	keys []guest.SlotKey
	slot guest.SlotRoom
}

// derive sets the fields that follow from native keys, as far as they are read.
func (g *Guest) derive(of guest.Ref, values guest.Values, read parts, room *slotRoom) {
	g.Exists, g.Kind, g.Name, g.VMID, g.values = true, string(of.Kind), of.Name, of.VMID, values
	if read.disks || read.networks {
		g.deriveSlots(read, room)
	}
	if read.tags {
		g.Tags = guest.PlainTags(values.Text("tags"))
	}
	g.OnBoot, g.Protection = read.onBoot && values.IsOn("onboot"), read.protection && values.IsOn("protection")
	isContainer := of.Kind == guest.Container
	if read.cpu {
		g.CPU = CPU{values.Int("cores"), 1}
		if !isContainer {
			g.CPU.Sockets = max(values.Int("sockets"), 1)
		}
	}
	switch {
	case read.memory && isContainer:
		g.Memory = values.Int("memory") << 20
	case read.memory:
		mebibytes, _ := strconv.ParseInt(values.Slot("memory", &room.slot).Sub("current"), 10, 64) // Proxmox keeps a number in it
		g.Memory = mebibytes << 20
	}
	g.Privileged = read.privileged && isContainer && !values.IsOn("unprivileged")
}

func (g *Guest) deriveSlots(read parts, room *slotRoom) {
	room.keys = g.values.Slots(room.keys[:0])
	for _, slot := range room.keys {
		if slot.IsDrive && !read.disks || !slot.IsDrive && !read.networks {
			continue
		}
		var signers []string
		if g.signers != nil {
			signers = g.signers(slot.Key)
		}
		if value := g.values.In(slot, &room.slot); slot.IsDrive {
			g.Disks = append(g.Disks, newDisk(slot.Key, value, signers, read))
		} else {
			g.Networks = append(g.Networks, newNetwork(slot.Key, value, signers, read))
		}
	}
}

func newDisk(slot string, value guest.Slot, signers []string, read parts) Disk {
	d := Disk{Slot: slot, Kind: "disk", Storage: value.Storage(), Volume: value.Sub("volume"), Backup: value.Sub("backup") == "1", Signers: signers}
	if read.sizes {
		d.Size, _ = form.ParseSize(value.Sub("size")) // a drive without a volume has no size
	}
	switch {
	case slot == "rootfs":
		d.Kind, d.Backup = "rootfs", true // a backup of a container always contains it
	case strings.HasPrefix(slot, "mp") && strings.HasPrefix(d.Volume, "/"):
		d.Kind, d.Backup = "bind", false // no backup contains a directory of the node
	case strings.HasPrefix(slot, "mp"):
		d.Kind = "mount"
	case strings.HasPrefix(slot, "efidisk"):
		d.Kind, d.Backup = "efi", true
	case strings.HasPrefix(slot, "tpmstate"):
		d.Kind, d.Backup = "tpm", true
	case value.IsCloudInit():
		d.Kind = "cloudinit"
	case value.Sub("media") == "cdrom":
		d.Kind = "cdrom"
	}
	return d
}

func newNetwork(slot string, value guest.Slot, signers []string, read parts) Network {
	n := Network{Slot: slot, Bridge: value.Sub("bridge"), Signers: signers}
	if read.links {
		n.Firewall, n.Connected = value.Sub("firewall") == "1", value.Sub("link_down") != "1"
		n.MAC = value.Sub("macaddr") + value.Sub("hwaddr")
		if tag := value.Sub("tag"); tag != "" {
			n.VLAN, _ = strconv.ParseInt(tag, 10, 64) // Proxmox keeps a number in it
		}
	}
	return n
}
