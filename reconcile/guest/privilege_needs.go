package guest

import (
	"strconv"
)

// RootPAM is the Privilege of a Need that no API token can have: Proxmox requires the user root@pam itself.
const RootPAM = "root@pam"

// Need is one privilege that the agent's token needs for a guest.
type Need struct {
	Path      string // of the access control list: "/vms/201", "/storage/local-lvm"
	Privilege string // "VM.Config.CPU", or RootPAM
	Or        string // another privilege that is sufficient; "" is none
	OrPath    string // another path on which it is sufficient, the guest's pool; "" is none
	Key       string // what needs it: a native key, or source, node, pool, ha, template, state, lifecycle, vmid
	Origin    Origin // the manifest line
}

// needs collects the privileges that one guest needs.
type needs struct {
	d    *Desired
	list []Need
}

func (n *needs) add(path, privilege, key string, origin Origin) {
	n.list = append(n.list, Need{Path: path, Privilege: privilege, Key: key, Origin: origin})
}

// onGuest adds a privilege on the guest, which may also be granted on its pool.
func (n *needs) onGuest(privilege, key string, origin Origin) {
	n.add(guestPath(n.d.VMID), privilege, key, origin)
	if n.d.Pool != "" {
		n.list[len(n.list)-1].OrPath = "/pool/" + n.d.Pool
	}
}

// readable adds the privilege to read an image, a template or a backup.
func (n *needs) readable(volume, key string, origin Origin) {
	if storage := storageOf(volume); storage != "" {
		n.add("/storage/"+storage, "Datastore.Audit", key, origin)
		n.list[len(n.list)-1].Or = "Datastore.AllocateSpace"
	}
}

func (n *needs) allocates(storage, key string, origin Origin) {
	if storage != "" {
		n.add("/storage/"+storage, "Datastore.AllocateSpace", key, origin)
	}
}

func guestPath(vmid int) string {
	if vmid == 0 {
		return "/vms"
	}
	return "/vms/" + strconv.Itoa(vmid)
}
