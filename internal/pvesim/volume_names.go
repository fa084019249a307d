package pvesim

import (
	"strings"
)

var (
	dirVolume     = newPattern(`^(?:\d+/base-\d+-[^/]+/)?(\d+)/[^/\s]+\.(raw|qcow2|vmdk|subvol)$`)
	lvmVolume     = newPattern(`^(?:base-\d+-[^/]+/)?((?:vm|base)-(\d+)-\S+)$`)
	backupOwner   = newPattern(`:backup/vzdump-(?:qemu|lxc)-(\d+)-`)
	contentVolume = newPattern(`^(iso|vztmpl|import|snippets|backup)/([^/]+)$`)
)

// volumeFromName returns a volume with the owner, format and content type of its name. It returns an error for a name that the storage cannot
// hold.
func (st *storage) volumeFromName(name string) (Volume, error) {
	v := Volume{ID: st.ID + ":" + name}
	if m := contentVolume.FindStringSubmatch(name); m != nil && st.Type == "dir" {
		v.Kind, v.Format = m[1], formatByName(m[2])
		switch v.Kind {
		case "snippets":
			v.Format = "snippet"
		case "iso":
			v.Format = "iso"
		}
		return v, nil
	}
	if st.Type == "dir" {
		m := dirVolume.FindStringSubmatch(name)
		if m == nil {
			return v, apiErrorf("unable to parse directory volume name '%s'", name)
		}
		v.Kind, v.Owner, v.Format = "images", atoi(m[1]), m[2]
		return v, nil
	}
	m := lvmVolume.FindStringSubmatch(name)
	if m == nil {
		return v, apiErrorf("unable to parse lvm volume name '%s'", name)
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

// freeName returns the first unused disk name of a guest. The file formats of a dir storage share one counter.
func (st *storage) freeName(vmid int, format string) string {
	for i := 0; ; i++ {
		stem := "vm-" + itoa(vmid) + "-disk-" + itoa(i)
		if !st.hasStem(stem) {
			if format == "subvol" {
				stem = "sub" + strings.Replace(stem, "vm-", "vol-", 1)
			}
			return st.volumeName(vmid, stem, format)
		}
	}
}

func (st *storage) hasStem(stem string) bool {
	base := "base-" + strings.TrimPrefix(stem, "vm-")
	for name := range st.volumes {
		file := name[strings.LastIndexByte(name, '/')+1:]
		file, _, _ = strings.Cut(file, ".")
		if file == stem || file == base || file == "subvol-"+strings.TrimPrefix(stem, "vm-") {
			return true
		}
	}
	return false
}

// volumeName returns the part of the id after the colon for a file stem such as vm-100-disk-0.
func (st *storage) volumeName(vmid int, stem, format string) string {
	if st.Type == "dir" {
		return itoa(vmid) + "/" + stem + "." + format
	}
	return stem
}

// path returns the path of a volume's file, as task logs and errors print it.
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

// formatLog returns the line that the allocation of a volume logs.
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

// ownerOf returns the vmid in a volume's name, or "".
func ownerOf(vol string) string {
	if m := backupOwner.FindStringSubmatch(vol); m != nil {
		return m[1]
	}
	_, name, _ := strings.Cut(vol, ":")
	if m := dirVolume.FindStringSubmatch(name); m != nil {
		return m[1]
	}
	if m := lvmVolume.FindStringSubmatch(name); m != nil {
		return m[2]
	}
	return ""
}
