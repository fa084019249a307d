package volumes

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
)

// verdict returns why a call must not act on its volumes, or nil.
func verdict(v view, s stored, r Request) error {
	for _, t := range r.Touches {
		takes := t.Effect == cluster.Attaches || t.Effect == cluster.Imports
		if _, listed := s.volumes[s.layout.key(t.Volume)]; takes && !listed {
			return &UnknownError{
				Cause: NoSuchVolume, What: "storage " + guest.VolumeStorage(t.Volume) + " does not list " + t.Volume + " on " + r.Node,
				Fix: "correct the volume in the manifest; if it exists, grant the token Datastore.Audit on the storage and VM.Config.Disk on the guest in its name",
			}
		}
		if g, isCreated := v.creation(t); isCreated {
			return &UnknownError{
				Cause: GuestUnread, What: fmt.Sprintf("%s on %s is being created, and what from is not known", g.ref, g.node),
				Fix: "wait until it is created; if that was interrupted, remove the guest in Proxmox",
			}
		}
		if by := v.others(t, r); len(by) > 0 {
			return &InUseError{Guest: r.Guest, Volume: cmp.Or(t.Volume, by[0].Reference.Volume), Effect: t.Effect, By: by}
		}
		if clones := s.linkedClones(t, r.Guest.VMID); len(clones) > 0 {
			return &InUseError{Guest: r.Guest, Volume: t.Volume, Effect: t.Effect, By: clones}
		}
	}
	return nil
}

// others returns the uses of a touched volume by other guests that forbid the call, without duplicates, in a fixed order.
func (v view) others(t cluster.Touch, r Request) []Use {
	var found []Use
	for _, use := range v.usesOf(t, r.Guest.VMID) {
		if use.Guest.VMID == r.Guest.VMID || allows(use, t, r) {
			continue
		}
		if sees, replica := v.sees(use, t); sees {
			use.Replica = replica
			found = append(found, use)
		}
	}
	slices.SortFunc(found, func(a, b Use) int { return cmp.Compare(a.String(), b.String()) })
	return slices.CompactFunc(found, func(a, b Use) bool { return a.String() == b.String() })
}

// creation returns a guest that is being created, perhaps from a file that the call deletes. The configuration of a guest does not name such a file.
func (v view) creation(t cluster.Touch) (creation, bool) {
	if t.Effect != cluster.Deletes || !guest.BelongsToNoGuest(t.Volume) {
		return creation{}, false
	}
	created := slices.Clone(v.fresh.creating)
	for _, p := range v.parts {
		for _, g := range p.uses.creating {
			if !v.reread[g.ref.VMID] {
				created = append(created, g)
			}
		}
	}
	shared := v.frame.layout.isShared(guest.VolumeStorage(t.Volume))
	i := slices.IndexFunc(created, func(g creation) bool { return shared || g.node == v.node })
	if i < 0 {
		return creation{}, false
	}
	return created[i], true
}

// usesOf returns all uses of a touched volume, whoever has them.
func (v view) usesOf(t cluster.Touch, vmid int) []Use {
	var list []Use
	collect := func(u uses) []Use {
		if t.Volume == "" {
			return u.byOwner[vmid]
		}
		return slices.Concat(u.byVolume[v.frame.layout.key(t.Volume)], u.byFile[guest.VolumeFile(t.Volume)])
	}
	for _, p := range v.parts {
		for _, use := range collect(p.uses) {
			if !v.reread[use.Guest.VMID] {
				list = append(list, use)
			}
		}
	}
	return append(list, collect(v.fresh)...)
}

// sees reports whether the guest of a use means the volume on the node of the call, and whether it does so through a replicated copy.
func (v view) sees(use Use, t cluster.Touch) (sees, replica bool) {
	storage := guest.VolumeStorage(cmp.Or(t.Volume, use.Reference.Volume))
	switch {
	case v.frame.layout.isShared(storage):
		return t.Effect != cluster.Migrates, false
	case use.Node == v.node:
		return true, false
	}
	replica = slices.Contains(v.frame.replicas[use.Guest.VMID], v.node)
	return replica, replica
}

// allows reports whether a use does not forbid the call. A guest that the agent owns gives up a volume by detaching it, which leaves it in an unused
// key; then another guest may attach it. A copy for an import may be made of a volume that no slot contains.
func allows(use Use, t cluster.Touch, r Request) bool {
	if use.Reference.Relation != guest.Unused || use.Reference.Part == guest.InSnapshot {
		return false
	}
	return t.Effect == cluster.Imports || t.Effect == cluster.Attaches && r.Owned(use.Guest.VMID)
}

// linkedClones returns the linked clones of a touched base volume that the storage lists, apart from those of the guest itself.
func (s stored) linkedClones(t cluster.Touch, vmid int) []Use {
	if t.Effect != cluster.Deletes && t.Effect != cluster.Moves || !guest.IsBaseVolume(t.Volume) {
		return nil
	}
	var list []Use
	for _, clone := range s.clones[guest.VolumeFile(t.Volume)] {
		if clone.Owner != vmid {
			list = append(list, Use{Stored: clone.ID})
		}
	}
	return list
}

// baseFile returns the file name of the base volume in the parent of a linked clone: an id, a path, or a snapshot such as
// "rpool/base-9000-disk-0@__base__".
func baseFile(parent string) string {
	name, _, _ := strings.Cut(parent, "@")
	return guest.VolumeFile(name)
}
