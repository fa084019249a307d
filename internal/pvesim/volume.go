package pvesim

import (
	"maps"
	"slices"
	"strings"
	"time"
)

// Volume is one volume of a storage.
type Volume struct {
	ID     string // storage:name
	Owner  int    // vmid, or 0
	Size   int64  // bytes that a guest sees
	Stored int64  // bytes of the file when they differ, as for a compressed image; 0 means Size
	Format string
	Base   string // id of the base image of a linked clone
	Kind   string // content type: images, rootdir, iso, vztmpl, import, snippets, backup
	Made   time.Time

	archive *archive // of a backup
}

// storage holds volumes by their name behind the colon.
type storage struct {
	Storage
	volumes map[string]*Volume
	lock    guestLock
	full    bool // by hand
}

func newStorage(st Storage) *storage {
	if st.Size == 0 {
		st.Size = defaultStorageSize
	}
	return &storage{Storage: st, volumes: map[string]*Volume{}, lock: make(guestLock, 1)}
}

// volume finds a volume by its id.
func (s *Sim) volume(id string) *Volume {
	st, name, ok := strings.Cut(id, ":")
	if !ok {
		return nil
	}
	if sto := s.storage(st); sto != nil {
		return sto.volumes[name]
	}
	return nil
}

// roundUp gives the size that the storage really allocates: LVM counts in extents of 4 MiB.
func (st *storage) roundUp(size int64) int64 {
	if st.Type == "dir" {
		return size
	}
	const extent = 4 * mib
	return (size + extent - 1) / extent * extent
}

// add makes a volume. The state is locked.
func (s *Sim) add(v Volume) *Volume {
	id, name, _ := strings.Cut(v.ID, ":")
	v.Made = time.Now()
	s.storage(id).volumes[name] = &v
	return &v
}

// free removes a volume for a stated reason; without one it is a violated invariant. The state is locked.
func (s *Sim) free(id string, why freeReason) {
	st, name, _ := strings.Cut(id, ":")
	sto := s.storage(st)
	if sto == nil || sto.volumes[name] == nil {
		return
	}
	s.checkFree(id, why)
	delete(sto.volumes, name)
	s.counts.freed[id] = string(why)
}

// linkedClones lists the volumes that are linked clones of base.
func (s *Sim) linkedClones(base string) []string {
	var out []string
	for _, st := range s.storages {
		for _, v := range st.volumes {
			if v.Base == base {
				out = append(out, v.ID)
			}
		}
	}
	slices.Sort(out)
	return out
}

// volumesOf lists the volumes of a guest, by id.
func (s *Sim) volumesOf(vmid int) []*Volume {
	var out []*Volume
	for _, st := range s.storages {
		for _, name := range slices.Sorted(maps.Keys(st.volumes)) {
			if v := st.volumes[name]; v.Owner == vmid {
				out = append(out, v)
			}
		}
	}
	return out
}
