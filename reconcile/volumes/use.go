package volumes

import (
	"gitops-agent/reconcile/guest"
)

// Use is a reference to a volume by a guest.
type Use struct {
	Guest     guest.Ref
	Node      string // where the guest is
	Reference guest.Reference
	Replica   bool   // a replication job copies the volume to the node of the call
	Stored    string // the linked clone on the storage, if only the storage shows the use
}

// String returns "VirtualMachine/mail-0 (1000) as scsi0".
func (u Use) String() string {
	switch {
	case u.Stored != "":
		return "the storage has its linked clone " + u.Stored
	case u.Replica:
		return u.Guest.String() + " as " + u.Reference.String() + ", whose copies its replication keeps on this node"
	}
	return u.Guest.String() + " as " + u.Reference.String()
}

// uses maps volumes to their uses.
type uses struct {
	byVolume map[string][]Use // by key of the layout
	byFile   map[string][]Use // by file name, for paths
	byOwner  map[int][]Use    // by the vmid in the volume's id
	creating []creation       // guests that are being created
}

// creation is a guest that is being created: what from is not known until it has ended.
type creation struct {
	ref  guest.Ref
	node string
}

func newUses() uses {
	return uses{byVolume: make(map[string][]Use), byFile: make(map[string][]Use), byOwner: make(map[int][]Use)}
}

// add adds the references of one guest.
func (u *uses) add(l layout, g guestReferences) {
	if g.creating {
		u.creating = append(u.creating, creation{g.ref, g.node})
	}
	ref := g.ref
	for _, r := range g.references {
		use := Use{Guest: ref, Node: g.node, Reference: r}
		if r.Relation == guest.ByPath {
			u.byFile[r.Volume] = append(u.byFile[r.Volume], use)
			continue
		}
		key := l.key(r.Volume)
		u.byVolume[key] = append(u.byVolume[key], use)
		if owner, ok := guest.VolumeOwner(r.Volume); ok && owner != ref.VMID && r.Relation != guest.Shares {
			u.byOwner[owner] = append(u.byOwner[owner], use)
		}
	}
}
