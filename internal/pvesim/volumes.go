package pvesim

import (
	"maps"
	"regexp"
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
}

// storage holds volumes by their name behind the colon.
type storage struct {
	Storage
	volumes map[string]*Volume
	lock    guestLock
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

var (
	dirVolume     = regexp.MustCompile(`^(?:\d+/base-\d+-[^/]+/)?(\d+)/((?:vm|base|subvol)-(\d+)-[^/]+\.(raw|qcow2|vmdk|subvol))$`)
	lvmVolume     = regexp.MustCompile(`^(?:base-\d+-[^/]+/)?((?:vm|base)-(\d+)-\S+)$`)
	contentVolume = regexp.MustCompile(`^(iso|vztmpl|import|snippets|backup)/([^/]+)$`)
)

// describe fills owner, format and content type from a volume's name, or refuses a name that the storage cannot hold.
func (st *storage) describe(name string) (Volume, error) {
	v := Volume{ID: st.ID + ":" + name}
	if m := contentVolume.FindStringSubmatch(name); m != nil && st.Type == "dir" {
		v.Kind, v.Format = m[1], formatByName(m[2])
		return v, nil
	}
	if st.Type == "dir" {
		m := dirVolume.FindStringSubmatch(name)
		if m == nil {
			return v, die("unable to parse directory volume name '%s'", name)
		}
		v.Kind, v.Owner, v.Format = "images", atoi(m[3]), m[4]
		return v, nil
	}
	m := lvmVolume.FindStringSubmatch(name)
	if m == nil {
		return v, die("unable to parse lvm volume name '%s'", name)
	}
	v.Kind, v.Owner, v.Format = "images", atoi(m[2]), "raw"
	return v, nil
}

func formatByName(file string) string {
	for _, ext := range []string{"qcow2", "raw", "vmdk", "iso"} {
		if strings.HasSuffix(file, "."+ext) {
			return ext
		}
	}
	if strings.Contains(file, ".tar.") {
		_, ext, _ := strings.Cut(file, ".tar.")
		return "t" + ext
	}
	return "raw"
}

// freeName returns the first unused disk name of a guest: the file formats of a dir share one counter.
func (st *storage) freeName(vmid int, format string) string {
	for i := 0; ; i++ {
		stem := "vm-" + itoa(vmid) + "-disk-" + itoa(i)
		if !st.hasStem(vmid, stem) {
			return st.volumeName(vmid, stem, format)
		}
	}
}

func (st *storage) hasStem(vmid int, stem string) bool {
	base := "base-" + strings.TrimPrefix(stem, "vm-")
	for name := range st.volumes {
		file := name[strings.LastIndexByte(name, '/')+1:]
		file, _, _ = strings.Cut(file, ".")
		if file == stem || file == base {
			return true
		}
	}
	_ = vmid
	return false
}

// volumeName is the name behind the colon for a file stem such as vm-100-disk-0.
func (st *storage) volumeName(vmid int, stem, format string) string {
	if st.Type == "dir" {
		return itoa(vmid) + "/" + stem + "." + format
	}
	return stem
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
func (s *Sim) free(id, reason string) {
	st, name, _ := strings.Cut(id, ":")
	sto := s.storage(st)
	if sto == nil || sto.volumes[name] == nil {
		return
	}
	if reason == "" {
		s.violate("volume %s freed without a destroy or a delete", id)
	}
	delete(sto.volumes, name)
	s.counts.freed[id] = reason
}

// linkedTo lists the volumes that are linked clones of base.
func (s *Sim) linkedTo(base string) []string {
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

// owned lists the volumes of a guest, by id.
func (s *Sim) owned(vmid int) []*Volume {
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

// path is the file of a volume, as task logs and errors show it.
func (st *storage) path(name string) string {
	if st.Type != "dir" {
		return "/dev/pve/" + name
	}
	if m := contentVolume.FindStringSubmatch(name); m != nil {
		dir := map[string]string{"iso": "template/iso", "vztmpl": "template/cache", "import": "import", "snippets": "snippets", "backup": "dump"}
		return st.Path + "/" + dir[m[1]] + "/" + m[2]
	}
	if i := strings.LastIndex(name, "/"); strings.Count(name, "/") > 1 {
		j := strings.LastIndex(name[:i], "/")
		name = name[j+1:]
	}
	return st.Path + "/images/" + name
}

// formatLog is the line that allocating prints.
func (st *storage) formatLog(v *Volume) string {
	_, name, _ := strings.Cut(v.ID, ":")
	switch {
	case st.Type != "dir":
		return "  Logical volume \"" + name + "\" created."
	case v.Format == "qcow2":
		return "Formatting '" + st.path(name) + "', fmt=qcow2 cluster_size=65536 extended_l2=off preallocation=metadata compression_type=zlib size=" +
			itoa64(v.Size) + " lazy_refcounts=off refcount_bits=16"
	}
	return "Formatting '" + st.path(name) + "', fmt=" + v.Format + " size=" + itoa64(v.Size) + " preallocation=off"
}
