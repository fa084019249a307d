package preflight

import (
	"fmt"
	"strings"

	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/placement"
	"gitops-agent/reconcile/plan"
)

// Source is what a guest that does not exist yet is created from, on the node that reads it: a disk image or a backup, or the template of a clone.
type Source struct {
	Node, Volume string
	Kind         guest.Kind // of the template
	VMID         int        // of the template; 0 for a Volume
	Snapshot     string     // of the template; "" is its present state
}

// IsBackup reports whether the source is a backup.
func (s Source) IsBackup() bool { return strings.Contains(s.Volume, ":backup/") }

// Content is what the cluster says of a Source. The zero value says nothing.
type Content struct {
	Size int64                  // that a guest sees of a disk image, in bytes; 0 if it is not known
	Keys map[string]guest.Value // of the guest in a backup, or of a template; nil if they are not known
}

// Sources returns what the guests that do not exist yet are created from and the cluster has, without duplicates. What is in an archive of several images is left out: Proxmox
// does not say it.
func Sources(guests []guest.Desired, around ClusterContext) []Source {
	var list []Source
	seen := make(map[Source]bool)
	for i := range guests {
		if s := sourceOf(&guests[i], around); s != (Source{}) && !seen[s] {
			seen[s] = true
			list = append(list, s)
		}
	}
	return list
}

// sourceOf returns the source of a guest that does not exist yet, the zero Source without one that the cluster can be asked about.
func sourceOf(d *guest.Desired, around ClusterContext) Source {
	if _, exists := around.Inventory.Row(d.VMID); exists {
		return Source{}
	}
	switch s := d.Source; {
	case s.Clone != nil:
		if row, err := plan.FindTemplate(d, around.Inventory); err == nil {
			return Source{Node: row.Node, Kind: row.Kind, VMID: row.VMID, Snapshot: s.Clone.Snap}
		}
	case d.Node == "":
	case s.Image != nil && archiveOf(s.Image.Volume) == s.Image.Volume && storageOf(s.Image.Volume) != "":
		return Source{Node: d.Node, Volume: s.Image.Volume}
	case s.Backup != nil && storageOf(s.Backup.Volume) != "":
		return Source{Node: d.Node, Volume: s.Backup.Volume}
	}
	return Source{}
}

// contentOf returns what the cluster says of the source of a guest.
func (c ClusterContext) contentOf(d *guest.Desired) Content { return c.Contents[sourceOf(d, c)] }

// copied returns what a new guest gets from the guest in a backup, or from the template of a clone.
func copied(d *guest.Desired, content Content) guest.Copied {
	c := guest.Copied{Keys: content.Keys}
	switch s := d.Source; {
	case s.Clone != nil && s.Clone.Full:
		c.Storage = s.Clone.Storage
	case s.Backup != nil:
		c.Storage = s.Backup.Storage
	}
	return c
}

// LargerInSources returns the volumes of new guests that are larger than their manifests ask for, because those of their sources are.
func LargerInSources(guests []guest.Desired, around ClusterContext) map[guest.Ref][]guest.Larger {
	larger := make(map[guest.Ref][]guest.Larger)
	for i := range guests {
		d := &guests[i]
		content := around.contentOf(d)
		if content.Keys != nil {
			if found := guest.LargerInClone(*d, copied(d, content).As(*d)); len(found) > 0 {
				larger[d.Ref] = found
			}
		}
		if content.Size == 0 {
			continue
		}
		for _, in := range d.Intents {
			if in.Key == d.Source.Image.Slot && in.Verb == guest.Want {
				if l, is := guest.LargerThan(in, content.Size); is {
					larger[d.Ref] = []guest.Larger{l}
				}
			}
		}
	}
	return larger
}

// impossibleSources returns what the sources of new guests make impossible, or leave without effect: what cannot be changed on an existing guest, and a firmware with which the system
// that is installed does not start. What is impossible for a clone is a condition of its plan.
func impossibleSources(guests []guest.Desired, around ClusterContext) []Unresolved {
	var found []Unresolved
	for i := range guests {
		d := &guests[i]
		content := around.contentOf(d)
		if content.Keys == nil {
			continue
		}
		what, name := "template", ""
		if d.Source.Clone != nil {
			name = templateName(d.Source.Clone)
		} else {
			what, name = "backup", d.Source.Backup.Volume
			for _, c := range guest.RestoreObstacles(*d, copied(d, content).As(*d)) {
				found = append(found, Unresolved{
					What: what, Name: name, Problem: "the guest in it could never be as the manifest wants it: " + c.Key + ": " + c.Note,
					Hint: "write into the manifest what the backup has, or restore another one", For: []Cause{{d.Ref, c.Key, c.Origin}},
				})
			}
		}
		if has, wants, origin := firmwares(d, content); has != wants {
			found = append(found, Unresolved{
				What: what, Name: name, Warning: true, For: []Cause{{d.Ref, "bios", origin}},
				Problem: fmt.Sprintf("its system was installed with the firmware %s, and the manifest wants %s, with which such a system usually does not start", has, wants),
				Hint:    "leave firmware.bios out of the manifest, or write " + has,
			})
		}
	}
	return found
}

// firmwares returns the firmware of the machine that a guest is created from, and that of its manifest: seabios or ovmf. A manifest without one wants what there is.
func firmwares(d *guest.Desired, content Content) (has, wants string, origin guest.Origin) {
	has = "seabios"
	if v := content.Keys["bios"]; v.Set {
		has = v.Text
	}
	wants = has
	for _, in := range d.Intents {
		switch {
		case in.Key != "bios":
		case in.Verb == guest.Want:
			wants, origin = in.Text, in.Origin
		case in.Verb == guest.Absent:
			wants, origin = "seabios", in.Origin
		}
	}
	return has, wants, origin
}

// spaceOf returns what creating a guest takes of storages, in bytes. What the manifest adds to the disks of its source counts too.
func spaceOf(d *guest.Desired, around ClusterContext) map[string]int64 {
	content := around.contentOf(d)
	if content.Keys == nil {
		_, _, space := placement.Needs(d, ownOrTemplate(d, around))
		if image := d.Source.Image; image != nil && content.Size > 0 {
			for _, in := range d.Intents {
				if in.Key == image.Slot && in.Verb == guest.Want {
					space[in.Sub["storage"]] += max(0, content.Size-guest.DiskSize(in.Sub["size"]))
				}
			}
		}
		return space
	}
	space := make(map[string]int64)
	if d.Source.Clone == nil || d.Source.Clone.Full {
		space = copied(d, content).Space(d.Kind)
	}
	has := copied(d, content).As(*d)
	for _, in := range d.Intents {
		if size := guest.DiskSize(in.Sub["size"]); in.Verb == guest.Want && in.Sub["storage"] != "" {
			volume, live := guest.LiveDisk(has, in.Key)
			if storageOf(volume) != in.Sub["storage"] { // a new disk, or one that is moved
				live = 0
			}
			space[in.Sub["storage"]] += max(0, size-live)
		}
	}
	return space
}
