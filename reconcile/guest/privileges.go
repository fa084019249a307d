package guest

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// Privileges returns what the token needs to create the guest and to keep it as the manifest wants, sorted by path, privilege and key,
// without duplicates. A guest of mode observe only needs to be read. For a guest without a vmid, and for a template that is given by name,
// the path is /vms. A bridge is assumed to be a bridge of the host; the path of a virtual network would name its zone. Privileges omits
// the needs of the devices that a clone or a backup already has, such as their storage.
//
// Source: PVE::API2::Qemu, PVE::API2::LXC, PVE::LXC check_ct_modify_config_perm, PVE::Storage check_volume_access.
func Privileges(d Desired) []Need {
	n := needs{d: &d}
	n.onGuest("VM.Audit", "vmid", d.Origin)
	if d.Health.Agent {
		n.onGuest("VM.GuestAgent.Audit", "health", d.Origin)
		n.list[len(n.list)-1].Or = "VM.Monitor" // of Proxmox VE 8
	}
	if !d.Observe {
		n.ongoing()
		if d.Firewall != nil {
			n.onGuest("VM.Config.Network", "firewall", d.Firewall.Origin)
		}
		if d.Snapshots != nil {
			n.onGuest("VM.Snapshot", "snapshots", d.Snapshots.Origin)
		}
		n.create()
		for i := range d.Intents {
			n.intent(&d.Intents[i])
		}
		for _, s := range d.Secrets {
			if r, _ := find(d.Kind, s.Key); !r.once {
				n.row(r, s.Key, s.Origin)
			}
		}
	}
	slices.SortFunc(n.list, func(a, b Need) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Privilege, b.Privilege), cmp.Compare(a.Key, b.Key))
	})
	return slices.CompactFunc(n.list, func(a, b Need) bool { return a.Path == b.Path && a.Privilege == b.Privilege && a.Key == b.Key })
}

// backedUp returns the vmid of the guest of which a backup was made, or 0. It reads "pbs:backup/vm/201/…" and
// "local:backup/vzdump-qemu-201-….vma.zst".
func backedUp(volume string) int {
	_, name, _ := strings.Cut(volume, ":backup/")
	for _, prefix := range []string{"vm/", "ct/", "vzdump-qemu-", "vzdump-lxc-"} {
		if rest, ok := strings.CutPrefix(name, prefix); ok {
			digits, _, _ := strings.Cut(rest, prefix[len(prefix)-1:])
			vmid, err := strconv.Atoi(digits)
			if err == nil {
				return vmid
			}
		}
	}
	return 0
}

// ongoing adds the privileges for separate calls, and for the marker of every owned guest.
func (n *needs) ongoing() {
	d := n.d
	n.onGuest(configOptions, "tags", d.Origin)
	if d.State == Running || d.State == Stopped {
		n.onGuest("VM.PowerMgmt", "state", d.Origin)
	}
	if reboots := d.Lifecycle.RebootPolicy; reboots != "" && reboots != RebootNever || d.Lifecycle.Destroy != Deny {
		n.onGuest("VM.PowerMgmt", "lifecycle", d.Origin)
	}
	if d.Lifecycle.Destroy != Deny {
		n.onGuest("VM.Allocate", "lifecycle", d.Origin)
	}
	if d.Migrate.Moves() {
		n.onGuest("VM.Migrate", "node", d.PlaceOf("node"))
	}
	if d.Template {
		n.onGuest("VM.Allocate", "template", d.Origin)
	}
	if d.Refresh && d.Kind == VirtualMachine {
		n.onGuest(configCloudInit, "cloudinit", d.Origin)
	}
	if d.Pool != "" {
		n.add("/pool/"+d.Pool, "Pool.Allocate", "pool", d.PlaceOf("pool"))
		n.add("/pool/"+d.Pool, "Pool.Audit", "pool", d.PlaceOf("pool"))
		n.onGuest("VM.Allocate", "pool", d.PlaceOf("pool"))
	}
	if d.HA != nil {
		n.add("/", "Sys.Audit", "ha", d.HA.Origin)
		n.add("/", "Sys.Console", "ha", d.HA.Origin)
	}
}

// create adds the privileges for the call that creates the guest, apart from its keys.
func (n *needs) create() {
	s, at := n.d.Source, n.d.PlaceOf("source")
	if s == (Source{}) {
		return
	}
	n.onGuest("VM.Allocate", "source", at)
	if r, _ := find(n.d.Kind, nameKey(n.d.Kind)); s.Clone == nil { // the clone call accepts the name without it
		n.onGuest(r.privilege, r.key, n.d.PlaceOf(r.key))
	}
	if n.d.Kind == VirtualMachine && s.Clone == nil && s.Backup == nil { // the uuid with which the agent creates it
		n.onGuest(configHardware, "smbios1", n.d.PlaceOf("smbios1"))
	}
	switch {
	case s.Clone != nil:
		n.add(guestPath(s.Clone.VMID), "VM.Clone", "source", at)
		n.allocates(s.Clone.Storage, "source", at)
		if n.d.Node != "" || n.d.Placement != nil { // the clone is created on the node of the template, which may be another node
			n.onGuest("VM.Migrate", "node", n.d.PlaceOf("node"))
		}
	case s.Image != nil:
		n.readable(s.Image.Volume, "source", at)
	case s.ISO != nil:
		n.onGuest("VM.Config.CDROM", "source", at)
		n.readable(s.ISO.Volume, "source", at)
	case s.Template != nil:
		n.readable(s.Template.Volume, "source", at)
	case s.Backup != nil:
		n.backup(s.Backup, at)
	}
}

// backup adds the privileges to read a backup. One of them is on the guest of which the backup was made.
func (n *needs) backup(b *Backup, at Origin) {
	n.allocates(storageOf(b.Volume), "source", at)
	n.allocates(b.Storage, "source", at)
	if vmid := backedUp(b.Volume); vmid != 0 {
		n.add(guestPath(vmid), "VM.Backup", "source", at)
	}
}
