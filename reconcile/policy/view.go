package policy

import (
	"strconv"
	"strings"

	"cel.dev/cel-go/common/types/ref"

	"gitops-agent/reconcile/guest"
)

// Guest is a guest as expressions see it. The zero Guest does not exist. It is not changed after it was made.
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
	Config                       map[string]string
	Signers                      map[string][]string
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

func (g *Guest) disks() ref.Val    { return objects(diskType, g.Disks) }
func (g *Guest) networks() ref.Val { return objects(networkType, g.Networks) }

// Signers returns the names of the signers who introduced a field of a guest; nil knows none.
type Signers func(field string) []string

// NewGuest returns the guest that a manifest wants. Live is the guest now; nil if it does not exist.
func NewGuest(d *guest.Desired, live *guest.Observed, signers Signers) *Guest {
	g := newGuest(d.Ref, guest.ValuesAfter(d, live), signers)
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
	return g
}

// ObservedGuest returns a guest as it is now. Labels are those of its manifest.
func ObservedGuest(live *guest.Observed, labels map[string]string) *Guest {
	g := newGuest(live.Ref, guest.ValuesNow(live), nil)
	g.State, g.Node, g.Pool, g.HA, g.Template, g.Labels = string(live.Status), live.Node, live.Pool, live.HA, live.Template, labels
	return g
}

// newGuest returns the part of a guest that follows from its native keys.
func newGuest(of guest.Ref, values guest.Values, signers Signers) *Guest {
	g := &Guest{Exists: true, Kind: string(of.Kind), Name: of.Name, VMID: of.VMID, Config: map[string]string{}, Signers: map[string][]string{}}
	introduced := func(field string) []string {
		if signers == nil {
			return nil
		}
		names := signers(field)
		if len(names) > 0 {
			g.Signers[field] = names
		}
		return names
	}
	for _, key := range values.Keys() {
		g.Config[key] = values.Text(key)
		names := introduced(key)
		switch {
		case values.IsDrive(key):
			g.Disks = append(g.Disks, newDisk(key, values, names))
		case values.IsCard(key):
			g.Networks = append(g.Networks, newNetwork(key, values, names))
		}
	}
	for _, field := range []string{"spec.vmid", "spec.node", "spec.pool", "spec.source", "spec.ha", "spec.template"} {
		introduced(field)
	}
	g.Tags = guest.PlainTags(values.Text("tags"))
	g.OnBoot, g.Protection = values.IsOn("onboot"), values.IsOn("protection")
	g.CPU = CPU{values.Int("cores"), 1}
	g.Memory = values.Int("memory") << 20
	if of.Kind == guest.Container {
		g.Privileged = !values.IsOn("unprivileged")
		return g
	}
	g.CPU.Sockets = max(values.Int("sockets"), 1)
	mebibytes, _ := strconv.ParseInt(values.Sub("memory", "current")[0], 10, 64) // Proxmox keeps a number in it
	g.Memory = mebibytes << 20
	return g
}

func newDisk(slot string, values guest.Values, signers []string) Disk {
	sub := values.Sub(slot, "volume", "size", "media", "backup")
	size, _ := guest.ParseSize(sub[1]) // a drive without a volume has no size
	d := Disk{Slot: slot, Kind: "disk", Storage: values.Storage(slot), Volume: sub[0], Size: size, Backup: sub[3] == "1", Signers: signers}
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
	case values.IsCloudInit(slot):
		d.Kind = "cloudinit"
	case sub[2] == "cdrom":
		d.Kind = "cdrom"
	}
	return d
}

func newNetwork(slot string, values guest.Values, signers []string) Network {
	sub := values.Sub(slot, "bridge", "tag", "firewall", "link_down", "macaddr", "hwaddr")
	vlan, _ := strconv.ParseInt(sub[1], 10, 64) // 0 without a tag
	return Network{Slot: slot, Bridge: sub[0], VLAN: vlan, Firewall: sub[2] == "1", Connected: sub[3] != "1", MAC: sub[4] + sub[5], Signers: signers}
}
