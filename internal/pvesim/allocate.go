package pvesim

import (
	"slices"
	"strings"
)

// allocate creates the volume that a drive of a guest on a node requests, or finds the volume that a drive names, and returns the drive as it is stored.
// It appends the ids of new volumes to made. The state is locked.
func (s *Sim) allocate(node string, vmid int, d drive, logf func(string, ...any), made *[]string) (drive, error) {
	switch {
	case d.file() == "none" || d.file() == "cdrom":
		return d, nil
	case d.wantsCloudInit():
		return s.allocateCloudInit(vmid, d, logf, made)
	case d.isNew():
		return s.allocateNew(node, vmid, d, logf, made)
	}
	v := s.volume(d.file())
	if v == nil {
		return d, apiErrorf("volume '%s' does not exist", d.file())
	}
	if d.isCloudInit() {
		return d, nil
	}
	return d.with(d.file(), v.Size), nil
}

func (s *Sim) allocateCloudInit(vmid int, d drive, logf func(string, ...any), made *[]string) (drive, error) {
	st := s.storage(d.storageOf())
	format := "raw"
	if st.Type == "dir" {
		format = "qcow2"
	}
	if f := d.values["format"]; f != "" {
		format = f
	}
	id := st.ID + ":" + st.volumeName(vmid, "vm-"+itoa(vmid)+"-cloudinit", format)
	if s.volume(id) == nil {
		if err := st.checkSpace(vmid, 4*mib); err != nil {
			return d, err
		}
		v := s.add(Volume{ID: id, Owner: vmid, Size: 4 * mib, Format: format, Kind: "images"})
		logf("%s", st.formatLog(v))
		*made = append(*made, id)
	}
	d = d.with(id, -1)
	d.values["media"] = "cdrom"
	return d, nil
}

// maxRawSize is the largest file that the file system of a dir storage can hold, in bytes.
const maxRawSize = 16 * tib

func (s *Sim) allocateNew(node string, vmid int, d drive, logf func(string, ...any), made *[]string) (drive, error) {
	id, size := d.newStorage()
	st := s.storage(id)
	format, err := st.formatFor(d)
	if err != nil {
		return d, err
	}
	switch d.slot {
	case "efidisk0":
		size = 128 * kib
		if d.values["efitype"] == "4m" {
			size = 528 * kib
		}
	case "tpmstate0":
		size = 4 * mib
	}
	if d.isImport() {
		src := s.volumeOn(node, d.values["import-from"])
		if src == nil {
			return d, apiErrorf("failed to stat '%s'", s.pathOf(d.values["import-from"]))
		}
		size = src.Size
		if d.values["format"] == "" && st.Type == "dir" {
			format = src.Format
		}
	}
	if d.volKey == "volume" && size == 0 && st.Type == "dir" {
		format = "subvol" // a directory without a limit
	}
	if d.isImport() {
		logf("create full clone of drive (%s)", d.values["import-from"])
	}
	v := Volume{ID: id + ":" + st.freeName(vmid, format), Owner: vmid, Size: st.roundUp(size), Format: format, Kind: "images"}
	if format != "subvol" {
		logf("%s", st.formatLog(&v))
	}
	if size > maxRawSize {
		return d, apiErrorf("unable to create image: qemu-img: %s: The image size is too large for file format '%s'", s.pathOf(v.ID), format)
	}
	if err := st.checkSpace(vmid, v.Size); err != nil {
		return d, err
	}
	s.add(v)
	if d.isImport() {
		logf("allocated target volume '%s'", v.ID)
		for _, l := range convertLog(s.volume(d.values["import-from"])) {
			logf("%s", l)
		}
	}
	*made = append(*made, v.ID)
	return d.with(v.ID, v.Size), nil
}

func (st *storage) formatFor(d drive) (string, error) {
	f := d.values["format"]
	switch {
	case f == "":
		return "raw", nil
	case st.Type != "dir" && f != "raw":
		return "", apiErrorf("unsupported format '%s' at /usr/share/perl5/PVE/Storage/LvmThinPlugin.pm line 90.", f)
	}
	return f, nil
}

// pathOf returns the path of a volume's file.
func (s *Sim) pathOf(id string) string {
	st, name, _ := strings.Cut(id, ":")
	if sto := s.storage(st); sto != nil {
		return sto.path(name)
	}
	return id
}

// freeAllocated frees the volumes that failed work has created, the last one first. The state is locked.
func (s *Sim) freeAllocated(made []string) {
	for _, id := range slices.Backward(made) {
		s.free(id, freedAfterFailure)
	}
}

// moveToUnused keeps a detached volume in the config as unusedN. A CD-ROM adds nothing; a cloud-init image is freed. The state is
// locked.
func (s *Sim) moveToUnused(kind Kind, conf *config, slot, text string) {
	d, err := parseDisk(kind, slot, text)
	if err != nil || !d.ownsVolume() {
		return
	}
	if d.isCloudInit() {
		s.free(d.file(), freedDetachedImage)
		return
	}
	for k, v := range conf.Values {
		if isUnused(k) && v == d.file() {
			return
		}
	}
	conf.Values[freeUnusedKey(conf.Values)] = d.file()
}
