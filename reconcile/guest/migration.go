package guest

import (
	"maps"
	"slices"
	"strings"

	"gitops-agent/reconcile/guest/form"
)

// compareNode adds the move to a wanted node if the manifest allows moves. Otherwise the node is only used to create the guest, and a guest
// that its owner or the HA manager moved has not drifted.
func (c *comparison) compareNode() {
	d, o := c.want, c.live
	if !LeavesNode(*d, o.Node) {
		return
	}
	target := d.target()
	change := Change{Key: "node", From: o.Node, To: target, Write: WriteMigrate, Value: target, Origin: d.Origin}
	change.Class, change.Note = migrationCost(d.Migrate, o)
	c.add(change)
}

// Moves reports whether the agent moves a guest that is on another node than its manifest names.
func (m Migration) Moves() bool { return m == MigrateOffline || m == MigrateOnline }

// LeavesNode reports whether the manifest asks to move the guest away from a node.
func LeavesNode(d Desired, node string) bool {
	c := comparison{want: &d}
	return d.Migrate.Moves() && node != "" && d.target() != "" && node != d.Node && !slices.Contains(d.Nodes, node) && !c.ignoresKey("node")
}

// OnOtherNode reports whether a guest is on a node that its manifest does not name, and the manifest does not ask to move it. A guest whose node the agent
// chose may be anywhere.
func OnOtherNode(d Desired, o Observed) bool {
	c := comparison{want: &d, live: &o}
	return !d.Migrate.Moves() && d.Placement == nil && d.Node != "" && o.Node != "" && o.Node != d.Node && !slices.Contains(d.Nodes, o.Node) && !c.ignoresKey("node")
}

// target returns the node that a guest moves to: the node to create it on, or else the first node where it may be.
func (d *Desired) target() string {
	if d.Node == "" && len(d.Nodes) > 0 {
		return d.Nodes[0]
	}
	return d.Node
}

// migrationCost follows the prepare phases in qemu-server's QemuMigrate.pm and pve-container's LXC/Migrate.pm.
func migrationCost(migrate Migration, o *Observed) (Class, string) {
	runs := edit{live: o}.running()
	key, device := firstHostDevice(o, runs)
	switch {
	case device:
		return Impossible, "it uses " + key + ", a device of its host"
	case !runs:
		return Live, "moves while it is stopped, local disks are copied"
	case migrate == MigrateOffline:
		return Impossible, "it runs, and migrate: offline moves it only while it is stopped"
	case o.Kind == Container:
		return Disruptive, "the container restarts on the other node"
	default:
		return Live, "moves while it runs, local disks are copied"
	}
}

// HostDevice returns a key of the guest with a device of its host, which prevents the guest from leaving the node, and whether there is one.
func HostDevice(o Observed) (key string, bound bool) {
	return firstHostDevice(&o, edit{live: &o}.running())
}

// firstHostDevice returns the first key that prevents the guest from leaving its node, and whether there is one.
func firstHostDevice(o *Observed, runs bool) (key string, bound bool) {
	for _, key := range slices.Sorted(maps.Keys(o.Keys)) {
		if text := o.Keys[key].Text; text != "" && preventsMigration(o.Kind, key, text, runs) {
			return key, true
		}
	}
	return "", false
}

// preventsMigration reports whether Proxmox refuses to move a guest with the key. A mapped device exists on other nodes as well; only Proxmox
// knows whether a mapped PCI device can follow a running guest.
func preventsMigration(kind Kind, key, text string, runs bool) bool {
	r, _ := find(kind, key)
	if kind == Container {
		return r.drive && strings.HasPrefix(volumeOf(text), "/") && form.Truth(r.syntax.parse(nil, text).text("shared")) != "1"
	}
	switch r.key {
	case "usb":
		device := usbSyntax.parse(nil, text)
		return runs && device.text("mapping") != "" || device.text("host") != "" && !strings.EqualFold(device.text("host"), "spice")
	case "hostpci":
		return pciSyntax.parse(nil, text).text("host") != ""
	case "virtiofs":
		return runs
	case "serial":
		return text != "socket"
	case "parallel", "ivshmem":
		return true
	default:
		return false
	}
}
