package plan

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/image"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/reason"
)

// A former file is one that the agent downloaded for an Image, that no manifest describes any more, and that may be deleted: the manifest of the Image says so,
// or the last one did before it was removed.

// Formers returns the former files, sorted by Image, node and volume.
func (i Images) Formers(inventory cluster.Inventory) []journal.File {
	var formers []journal.File
	for _, record := range i.Downloaded {
		d, named := i.named(record.Name)
		prunes := record.Prune
		if named {
			prunes = d.Prune
		}
		if prunes && i.isPlanned(imageRef(record.Name)) && !i.isWanted(record, inventory) {
			formers = append(formers, record)
		}
	}
	slices.SortFunc(formers, func(a, b journal.File) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Node, b.Node), cmp.Compare(a.Volume, b.Volume))
	})
	return formers
}

// HasFormers reports whether there may be former files.
func (i Images) HasFormers() bool {
	for _, record := range i.Downloaded {
		if record.Prune {
			return true
		}
	}
	return slices.ContainsFunc(i.Wanted, func(d image.Desired) bool { return d.Prune })
}

// Removed returns the storages with former files of Images without a manifest, sorted by Image and storage.
func (i Images) Removed() []image.Former {
	var removed []image.Former
	for _, record := range i.Formers(cluster.Inventory{}) {
		if _, named := i.named(record.Name); !named {
			removed = append(removed, image.Former{Name: record.Name, Storage: guest.VolumeStorage(record.Volume)})
		}
	}
	slices.SortFunc(removed, func(a, b image.Former) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Storage, b.Storage))
	})
	return slices.Compact(removed)
}

func imageRef(name string) guest.Ref { return guest.Ref{Kind: image.Kind, Name: name} }

// named returns the Image with a name.
func (i Images) named(name string) (image.Desired, bool) {
	at := slices.IndexFunc(i.Wanted, func(d image.Desired) bool { return d.Name == name })
	if at < 0 {
		return image.Desired{}, false
	}
	return i.Wanted[at], true
}

// isWanted reports whether a manifest describes the file of a record. A storage is assumed to be shared unless the inventory shows that it is not: the same file
// may then be that of another node.
func (i Images) isWanted(record journal.File, inventory cluster.Inventory) bool {
	local := isLocal(record.Node, guest.VolumeStorage(record.Volume), inventory)
	return slices.ContainsFunc(i.Wanted, func(d image.Desired) bool { return d.Volume() == record.Volume && (d.IsOn(record.Node) || !local) })
}

// isLocal reports whether the inventory shows that a node has a storage for itself.
func isLocal(node, storage string, inventory cluster.Inventory) bool {
	s, listed := inventory.Capacity.Storage(node, storage)
	return listed && !s.Shared
}

// formerPlace returns where a former file is read and deleted: on the node that downloaded it, or on another one if that is offline and they share the storage.
func formerPlace(record journal.File, inventory cluster.Inventory) cluster.FilePlace {
	at := cluster.FilePlaceOf(record.Node, record.Volume)
	if !slices.Contains(inventory.Offline, record.Node) {
		return at
	}
	for _, s := range inventory.Capacity.Storages {
		if s.Storage == at.Storage && s.Shared && s.Available && !slices.Contains(inventory.Offline, s.Node) {
			at.Node = s.Node
			return at
		}
	}
	return at
}

// HasLeft reports whether the node of a record is no member of the cluster any more.
func HasLeft(node string, inventory cluster.Inventory) bool {
	nodes := inventory.Capacity.Nodes
	return len(nodes) > 0 && !slices.ContainsFunc(nodes, func(n cluster.NodeCapacity) bool { return n.Node == node }) && !slices.Contains(inventory.Offline, node)
}

// IsGone reports whether a former file is certainly not there any more: a reading of its place since the record does not list it, or its node has left the cluster.
func IsGone(record journal.File, got cluster.Snapshot) bool {
	if HasLeft(record.Node, got.Inventory) {
		return true
	}
	files := got.Files[formerPlace(record, got.Inventory)]
	_, listed := files.Sizes[record.Volume]
	return files.Err == "" && isReadSince(files, record) && !listed
}

// isReadSince reports whether a place was read since a record about a file there.
func isReadSince(files cluster.Files, record journal.File) bool {
	return !files.ReadAt.IsZero() && files.ReadAt.After(record.Time)
}

// planFormers adds the deletions of former files to the plans of their Images. An Image without a manifest gets a plan if it has a former file.
func planFormers(want Desired, planned []Guest, got cluster.Snapshot) []Guest {
	if want.NoRevision {
		return planned // it is unknown which Images are wanted
	}
	formers := want.Images.Formers(got.Inventory)
	for _, record := range formers {
		if isCounted(record, formers, got.Inventory) {
			continue
		}
		at := slices.IndexFunc(planned, func(p Guest) bool { return p.Ref == imageRef(record.Name) })
		if at < 0 {
			planned = append(planned, Guest{Ref: imageRef(record.Name)})
			at = len(planned) - 1
		}
		planFormer(want, record, &planned[at], got)
	}
	return planned
}

// isCounted reports whether a former file is also the one of a newer record: on a storage that two nodes share, both may have downloaded a file of this name, one
// after the other. It is deleted once.
func isCounted(record journal.File, formers []journal.File, inventory cluster.Inventory) bool {
	storage := guest.VolumeStorage(record.Volume)
	return slices.ContainsFunc(formers, func(other journal.File) bool {
		return other.Volume == record.Volume && isNewer(other, record) && isShared(other.Node, storage, inventory) && isShared(record.Node, storage, inventory)
	})
}

// planFormer adds the deletion of a former file to the plan of its Image, or a condition that says why the file stays.
func planFormer(want Desired, record journal.File, p *Guest, got cluster.Snapshot) {
	d, named := want.Images.named(record.Name)
	if IsGone(record, got) || named && lacksIn(p, record.Node) != "" {
		return // the new file comes first
	}
	place := formerPlace(record, got.Inventory)
	files := got.Files[place]
	size := files.Sizes[record.Volume]
	unknown := Condition{Type: NotObserved, Reason: reason.NotObserved}
	switch {
	case slices.Contains(got.Inventory.Offline, place.Node):
		unknown.Message = fmt.Sprintf("%s on %s is to be deleted, and the node is offline", record.Volume, place.Node)
	case files.Err != "":
		unknown.Message = fmt.Sprintf("whether %s is to be deleted is unknown, since the files in %s on %s could not be read: %s", record.Volume, place.Storage, place.Node, files.Err)
		unknown.Hint = reason.EndDeletions.Text
	case !isReadSince(files, record):
		unknown.Message = fmt.Sprintf("the files in %s on %s were not read yet", place.Storage, place.Node)
	case size != record.Size:
		unknown.Reason = reason.NotManaged
		unknown.Message = fmt.Sprintf("%s on %s has %d bytes, and had %d when the agent downloaded it, so it is not deleted", record.Volume, place.Node, size, record.Size)
		unknown.Hint = reason.RemoveChangedFormer.Text
	default:
		p.Present = true
		if user := fileUser(want, got, record.Volume, place); user != "" {
			p.Conditions = append(p.Conditions, FileInUse(record, user))
			return
		}
		p.Steps = append(p.Steps, deletionStep(d, named, record, place))
		return
	}
	p.Conditions = append(p.Conditions, unknown)
}

// FileInUse returns the condition of an Image of which a former file stays, since something uses it.
func FileInUse(record journal.File, user string) Condition {
	return Condition{
		Type: Warned, Reason: reason.InUse, Message: fmt.Sprintf("%s stays on %s: %s", record.Volume, record.Node, user),
		Hint: reason.DeletedLater.Text,
	}
}

// lacksIn returns why the file of an Image is not on a node, or not on one of the nodes if the manifest does not keep it on this one.
func lacksIn(p *Guest, node string) string {
	if why := cmp.Or(p.Lacking[node], p.Lacking[""]); why != "" {
		return why
	}
	if slices.Contains(p.keptOn, node) {
		return ""
	}
	for _, other := range slices.Sorted(maps.Keys(p.Lacking)) {
		return p.Lacking[other]
	}
	return ""
}

// deletionStep returns the step in which a node deletes a former file.
func deletionStep(d image.Desired, named bool, record journal.File, at cluster.FilePlace) Step {
	why := "removed from the repository"
	switch {
	case named && d.Volume() == record.Volume:
		why = "the manifest does not keep the file on " + record.Node + " any more"
	case named:
		why = "the manifest describes another file"
	}
	call := cluster.Call{Op: cluster.OpDeleteFile, Node: at.Node, Params: map[string]string{
		cluster.ParamStorage: at.Storage, cluster.ParamContent: at.Content, cluster.ParamFile: guest.VolumeFile(record.Volume),
	}}
	return Step{
		Guest: imageRef(record.Name), Op: cluster.OpDeleteFile, Class: guest.Destructive, Reason: why, Volumes: []string{record.Volume},
		Touches: Touches([]cluster.Call{call}, guest.Observed{}), File: d.Origin.File, Calls: []cluster.Call{call}, Former: &record,
	}
}

// fileUser returns which guest uses a file, or which manifest names it, "" if none is known. The last check before the call reads the guests again, with
// their snapshots.
func fileUser(want Desired, got cluster.Snapshot, volume string, at cluster.FilePlace) string {
	local := isLocal(at.Node, at.Storage, got.Inventory)
	for _, list := range [][]guest.Desired{want.Guests, want.Others} {
		for i := range list {
			g := &list[i]
			row, exists := got.Inventory.Row(g.VMID)
			elsewhere := local && (g.Node != "" && g.Node != at.Node) && (!exists || row.Node != at.Node)
			if key := g.NamesFile(volume); key != "" && !elsewhere {
				return fmt.Sprintf("the manifest of %s names it in %s", g.Ref, key)
			}
		}
	}
	for _, vmid := range slices.Sorted(maps.Keys(got.Guests)) {
		seen := got.Guests[vmid]
		if local && seen.Node != at.Node {
			continue
		}
		for _, r := range guest.References(seen) {
			if r.NamesFile(volume) {
				return fmt.Sprintf("%s has it as %s", seen.Ref, r)
			}
		}
	}
	return ""
}
