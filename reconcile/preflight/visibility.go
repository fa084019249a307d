package preflight

import (
	"regexp"
	"slices"
	"strings"
)

// neededToSee returns the privilege that the token needs to see a name in a list, "Datastore.Audit on /storage/local", or "" if it has the privilege.
// Proxmox leaves names out of its lists if the token has no privilege on them.
//
// Source: PVE::API2::Network index, PVE::Network::SDN get_local_vnets, PVE::Storage check_volume_access, PVE::API2::Qemu::CPU index.
func neededToSee(l List, name string, granted Granted) string {
	switch l.Kind {
	case Bridge:
		return neededToSeeBridge(name, granted)
	case Volume:
		return neededToSeeVolume(l, name, granted)
	case CPU:
		if strings.HasPrefix(name, "custom-") {
			return granted.needed("/nodes", "Sys.Audit")
		}
	}
	return ""
}

// neededToSeeBridge checks the bridges of the hosts first. The name may also be a virtual network of any zone.
func neededToSeeBridge(bridge string, granted Granted) string {
	const zones = "/sdn/zones/"
	if need := granted.needed(zones+"localnetwork/"+bridge, "SDN.Use", "SDN.Audit"); need != "" {
		return need
	}
	if granted.needed(zones+"any/"+bridge, "SDN.Audit", "SDN.Use") != "" {
		return "SDN.Audit on /sdn/zones"
	}
	for at := range granted {
		zone, below := strings.CutPrefix(at, zones)
		if zone, _, _ = strings.Cut(zone, "/"); below && zone != "localnetwork" && granted.needed(zones+zone+"/"+bridge, "SDN.Audit", "SDN.Use") != "" {
			return "SDN.Audit on /sdn/zones"
		}
	}
	return ""
}

func neededToSeeVolume(l List, volume string, granted Granted) string {
	at := "/storage/" + l.Storage
	if need := granted.needed(at, "Datastore.Audit", "Datastore.AllocateSpace"); need != "" || granted.Allows(at, "Datastore.Allocate") {
		return need
	}
	var privileges [2]string // on the storage, and on the guest that the volume belongs to
	switch l.Content {
	case "images":
		privileges = [2]string{"Datastore.Audit", "VM.Config.Disk"}
	case "backup":
		privileges = [2]string{"Datastore.AllocateSpace", "VM.Backup"}
	default:
		return ""
	}
	owner := ownerOf(volume)
	if owner == "" {
		return "Datastore.Allocate on " + at
	}
	needs := []string{granted.needed(at, privileges[0]), granted.needed("/vms/"+owner, privileges[1])}
	return strings.Join(slices.DeleteFunc(needs, func(need string) bool { return need == "" }), " and ")
}

// owned matches the vmid in the name of a disk or a backup: "local:100/vm-100-disk-0.raw", "pbs:backup/ct/100/…" and
// "local:backup/vzdump-qemu-100-….vma.zst".
var owned = regexp.MustCompile(`(?:\b(?:vm|base|subvol)-|:backup/(?:vm|ct)/|:backup/vzdump-[a-z]+-)([1-9][0-9]+)`)

// ownerOf returns the vmid of the guest that owns a volume, or "". In a linked clone it follows the template's.
func ownerOf(volume string) string {
	found := owned.FindAllStringSubmatch(volume, -1)
	if len(found) == 0 {
		return ""
	}
	return found[len(found)-1][1]
}
