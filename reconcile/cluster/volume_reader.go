package cluster

import (
	"context"
	"slices"

	"gitops-agent/reconcile/guest"
)

// VolumeReader reads what decides who uses a volume. Package volumes needs it immediately before a call that attaches, moves or deletes volumes.
type VolumeReader interface {
	// MissingAudit returns a path on which the token lacks VM.Audit, or "". Proxmox leaves guests without it out of its lists.
	MissingAudit(ctx context.Context) (path string, err error)
	// Nodes lists the members of the cluster by name.
	Nodes(ctx context.Context) ([]Node, error)
	// StorageConfigs lists the storages that the token may see.
	StorageConfigs(ctx context.Context) ([]Storage, error)
	// Replications lists the replication jobs of all guests that the token may see.
	Replications(ctx context.Context) ([]Replication, error)
	// StoredVolumes lists the disks on a storage as a node shows them: those of one vmid, or all if vmid is 0. It omits disks that the token may
	// not see.
	StoredVolumes(ctx context.Context, node, storage string, vmid int) ([]StoredVolume, error)
}

// Node is a member of the cluster.
type Node struct {
	Name   string
	Online bool // as the endpoint sees it
}

// Storage is the configuration of a storage.
type Storage struct {
	ID       string
	Shared   bool     // its volumes are the same on every node
	Nodes    []string // that have the storage; empty means every node
	Content  []string // types of content that may be on it, such as images and iso, sorted; empty if unknown
	Disabled bool
	Backings []string // what is behind the storage, of Backings; none if unknown
}

// IsOn reports whether a node has the storage.
func (s Storage) IsOn(node string) bool { return len(s.Nodes) == 0 || slices.Contains(s.Nodes, node) }

// Allows reports whether the storage may have a type of content.
func (s Storage) Allows(content string) bool {
	return len(s.Content) == 0 || slices.Contains(s.Content, content)
}

// Replication is a job that copies the local volumes of a guest to another node, under the same names.
type Replication struct {
	VMID   int
	Target string // the node with the copies
}

// StoredVolume is a volume as its storage lists it.
type StoredVolume struct {
	ID     string
	Owner  int    // vmid; 0 if it has none
	Parent string // id or name of the base volume of a linked clone; "" if it has none
}

// VolumeEffect is what a call does to a volume.
type VolumeEffect string

// The effects on volumes.
const (
	Attaches VolumeEffect = "attach"   // the volume is put into a slot
	Imports  VolumeEffect = "import"   // the volume is copied into a new one
	Moves    VolumeEffect = "move"     // the volume is copied, and its guest gives it up; or it gets another name
	Deletes  VolumeEffect = "delete"   // the volume is deleted
	Migrates VolumeEffect = "migrate"  // the volume is moved to another node if its storage is local
	Freezes  VolumeEffect = "snapshot" // a snapshot of the volume is taken, deleted, or brought back
)

// Touch is a volume on which a call acts, in a way that matters to other guests that use the volume.
type Touch struct {
	Volume string // its id; "" stands for every volume that is named for the vmid of the call
	Effect VolumeEffect
}

// Touches returns the volumes on which a call acts, apart from those that Proxmox allocates for it. Live is the guest that the call is about; the
// zero value if it does not exist yet.
func Touches(call Call, live guest.Observed) []Touch {
	switch call.Op.row().volumes {
	case noVolumes:
	case namedVolumes:
		return namedTouches(call, live)
	case fileOfCall:
		return []Touch{{call.File(), Deletes}}
	case volumesOfSlot:
		return touchesOf(Moves, guest.VolumesInSlot(live, call.Params["disk"]))
	case localVolumes:
		return append(touchesOf(Migrates, guest.Volumes(live)), Touch{Effect: Migrates})
	case allVolumes:
		var volumes []string
		for _, a := range guest.LiveAttachments(live) { // Proxmox renames every volume in a slot, also one that is named for another guest
			volumes = append(volumes, a.Volume)
		}
		slices.Sort(volumes)
		return touchesOf(Moves, slices.Compact(volumes))
	case snapshotVolumes:
		return touchesOf(Freezes, snapshottedVolumes(call, live))
	case ownVolumes:
		list := touchesOf(Deletes, guest.Volumes(live))
		if call.Params["destroy-unreferenced-disks"] == "1" {
			list = append(list, Touch{Effect: Deletes})
		}
		return list
	}
	return nil
}

// snapshottedVolumes returns the volumes on which a call about a snapshot acts, sorted: those in the slots of the guest now for a new snapshot, and those
// in the slots that the guest had for an existing one.
func snapshottedVolumes(call Call, live guest.Observed) []string {
	references := guest.References(live)
	if call.Op != OpSnapshot {
		references = nil
		if live.Snapshots != nil {
			section, _ := live.Snapshots.Section(call.Params[ParamSnapshot])
			references = guest.SnapshotReferences(live.Kind, section.Name, section.Keys)
		}
	}
	var volumes []string
	for _, r := range references {
		if r.Relation == guest.Holds && r.Part != guest.InPending {
			volumes = append(volumes, r.Volume)
		}
	}
	slices.Sort(volumes)
	return slices.Compact(volumes)
}

func touchesOf(effect VolumeEffect, volumes []string) []Touch {
	var list []Touch
	for _, volume := range volumes {
		if guest.IsVolume(volume) {
			list = append(list, Touch{volume, effect})
		}
	}
	return list
}

// namedTouches returns the volumes that the parameters of a call put into slots, and those that are deleted with the keys of the call. Detaching a
// volume is not among them: it takes the volume from nobody, and it is how a person ends a double use.
func namedTouches(call Call, live guest.Observed) []Touch {
	var list []Touch
	for key, text := range call.Params {
		volume, image := guest.NamedVolumes(call.Kind, key, text)
		held := guest.VolumesInSlot(live, key)
		if volume != "" && !contains(held, volume) {
			list = append(list, Touch{volume, Attaches})
		}
		if _, owned := guest.VolumeOwner(image); owned && !guest.IsBaseVolume(image) { // a base volume never changes
			list = append(list, Touch{image, Imports})
		}
		list = append(list, deletedFrom(key, held, volume)...)
	}
	for _, key := range call.Delete {
		list = append(list, deletedFrom(key, guest.VolumesInSlot(live, key), "")...)
	}
	return list
}

// deletedFrom returns the volumes that are deleted when a key loses them. Stays is the volume that the key keeps.
func deletedFrom(key string, held []string, stays string) []Touch {
	var list []Touch
	for _, volume := range held {
		if volume != stays && guest.FreedByDelete(key, volume) {
			list = append(list, touchesOf(Deletes, []string{volume})...)
		}
	}
	return list
}

func contains(list []string, volume string) bool {
	for _, v := range list {
		if guest.VolumeKey(v) == guest.VolumeKey(volume) {
			return true
		}
	}
	return false
}
