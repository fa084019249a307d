package pvesim

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Volume is one volume of a storage.
type Volume struct {
	ID     string // storage:name
	Owner  int    // vmid, or 0
	Size   int64  // bytes that a guest sees
	Stored int64  // bytes of the file if they differ, as for a compressed image; 0 means Size
	Data   int64  // bytes that the guest has written, which copies read; 0 means almost none
	Format string
	Base   string // id of the base image of a linked clone
	Kind   string // content type: images, rootdir, iso, vztmpl, import, snippets, backup
	Made   time.Time

	FileSystem int64  // size of the volume to which its file system was made or grown, if it differs from Size
	OS         string // distribution of a container's files, if known

	archive   *archive          // of a backup
	nodes     map[string]bool   // of a file on a storage that is not shared: the nodes that have it; nil is all of them
	checksums map[string]string // of a file that was downloaded, by algorithm
}

// storage holds volumes by the part of their id after the colon.
type storage struct {
	Storage
	volumes map[string]*Volume
	lock    guestLock
	full    bool // set by FillStorage
}

func newStorage(st Storage) *storage {
	if st.Size == 0 {
		st.Size = defaultStorageSize
	}
	return &storage{Storage: st, volumes: map[string]*Volume{}, lock: make(guestLock, 1)}
}

// volume returns the volume with the id, or nil.
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

// roundUp returns the size that the storage allocates: LVM rounds up to extents of 4 MiB.
func (st *storage) roundUp(size int64) int64 {
	if st.Type == "dir" {
		return size
	}
	const extent = 4 * mib
	return (size + extent - 1) / extent * extent
}

// add adds a volume to its storage. The state is locked.
func (s *Sim) add(v Volume) *Volume {
	id, name, _ := strings.Cut(v.ID, ":")
	v.Made = time.Now()
	s.storage(id).volumes[name] = &v
	return &v
}

// free removes a volume for a reason. Without a reason it records a violation. The state is locked.
func (s *Sim) free(id string, reason freeReason) {
	st, name, _ := strings.Cut(id, ":")
	sto := s.storage(st)
	if sto == nil || sto.volumes[name] == nil {
		return
	}
	s.checkFree(id, reason)
	delete(sto.volumes, name)
	s.counts.freed[id] = string(reason)
}

// isFile reports whether a volume is a file that belongs to no guest.
func (v *Volume) isFile() bool { return v.Kind == "iso" || v.Kind == "vztmpl" || v.Kind == "import" }

// isOn reports whether a node has the volume.
func (v *Volume) isOn(node string) bool { return v.nodes == nil || v.nodes[node] }

// volumeOn returns the volume with the id as a node sees it, or nil.
func (s *Sim) volumeOn(node, id string) *Volume {
	if v := s.volume(id); v != nil && v.isOn(node) {
		return v
	}
	return nil
}

// keepOn adds a file that a node made. Unless the storage is shared, only this node has it, apart from those that have the file already. The state is locked.
func (s *Sim) keepOn(node string, v Volume) {
	id, _, _ := strings.Cut(v.ID, ":")
	if !s.storage(id).Shared {
		v.nodes = map[string]bool{node: true}
		if before := s.volume(v.ID); before != nil {
			maps.Copy(v.nodes, before.nodes)
		}
	}
	s.add(v)
}

// freeOn removes a volume that a node deletes. Unless the storage is shared, other nodes keep their files with the name. The state is locked.
func (s *Sim) freeOn(node, id string, reason freeReason) {
	v := s.volumeOn(node, id)
	if v == nil {
		return
	}
	if v.isFile() {
		s.counts.countChange("/storage/"+id, http.MethodDelete)
	}
	storage, _, _ := strings.Cut(id, ":")
	if !v.isFile() || s.storage(storage).Shared {
		s.free(id, reason)
		return
	}
	left := make(map[string]bool)
	for _, other := range s.opts.Nodes {
		if other != node && v.isOn(other) {
			left[other] = true
		}
	}
	if len(left) == 0 {
		s.free(id, reason)
		return
	}
	s.checkFree(id, reason)
	v.nodes = left
}

// linkedClones returns the ids of the volumes that are linked clones of base.
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

// volumesOf returns the volumes of a guest.
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

func (v *Volume) stored() int64 {
	if v.Stored > 0 {
		return v.Stored
	}
	return v.Size
}
