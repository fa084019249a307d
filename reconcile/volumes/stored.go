package volumes

import (
	"context"
	"errors"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
)

// listing identifies a list of volumes: of one vmid on a storage, or of all if vmid is 0.
type listing struct {
	storage string
	vmid    int
}

// stored is what the storages list about the touched volumes.
type stored struct {
	layout  layout
	volumes map[string]cluster.StoredVolume   // by key of the layout
	clones  map[string][]cluster.StoredVolume // linked clones by file name of their base
}

// readStored reads what the storages list about the touched volumes. For a base volume it reads the whole storage, to find its linked clones. A
// storage that the token may not list matters only for volumes that are attached or imported: whether a volume that the guest holds still exists
// changes nothing.
func (s *Source) readStored(ctx context.Context, f *frame, r Request) (stored, error) {
	found := stored{layout: f.layout, volumes: make(map[string]cluster.StoredVolume), clones: make(map[string][]cluster.StoredVolume)}
	read := make(map[listing]bool)
	for _, t := range r.Touches {
		at := listing{storage: guest.VolumeStorage(t.Volume)}
		if owner, ok := guest.VolumeOwner(t.Volume); ok && !guest.IsBaseVolume(t.Volume) {
			at.vmid = owner
		}
		if t.Volume == "" || read[at] || guest.BelongsToNoGuest(t.Volume) { // a file has neither clones nor an owner
			continue
		}
		read[at] = true
		volumes, err := s.reader.StoredVolumes(ctx, r.Node, at.storage, at.vmid)
		takes := t.Effect == cluster.Attaches || t.Effect == cluster.Imports
		switch {
		case errors.Is(err, cluster.ErrDenied) && !takes:
			continue
		case err != nil:
			return found, unreadable("the list of volumes of storage "+at.storage+" on "+r.Node, err)
		}
		for _, volume := range volumes {
			found.volumes[f.layout.key(volume.ID)] = volume
			if volume.Parent != "" {
				base := baseFile(volume.Parent)
				found.clones[base] = append(found.clones[base], volume)
			}
		}
	}
	return found, nil
}
