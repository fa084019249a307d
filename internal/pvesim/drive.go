package pvesim

import (
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// drive is one disk slot of a VM, or the root or a mount point of a container.
type drive struct {
	slot   string
	format propertyString
	volKey string // "file" or "volume"
	values values
}

// isDisk says whether a key is a disk slot. Unused volumes are not.
func isDisk(kind Kind, key string) bool {
	if kind == LXC {
		stem, _, ok := splitIndex(key)
		return key == "rootfs" || ok && stem == "mp"
	}
	if key == "efidisk0" || key == "tpmstate0" {
		return true
	}
	stem, index, ok := splitIndex(key)
	if !ok {
		return false
	}
	switch stem {
	case "ide", "sata", "scsi", "virtio":
		return index < qemuFormats[stem].count
	}
	return false
}

func isUnused(key string) bool {
	stem, _, ok := splitIndex(key)
	return ok && stem == "unused"
}

func isNet(key string) bool {
	stem, index, ok := splitIndex(key)
	return ok && stem == "net" && index < 32
}

func driveFormat(kind Kind, slot string) propertyString {
	switch {
	case kind == LXC && slot == "rootfs":
		return rootfsFormat
	case kind == LXC:
		return mountFormat
	case slot == "efidisk0":
		return efiFormat
	case slot == "tpmstate0":
		return tpmFormat
	}
	stem, _, _ := splitIndex(slot)
	return qemuFormats[stem].format
}

func parseDrive(slot, text string) (drive, error) {
	d := drive{slot: slot, format: driveFormat(QEMU, slot), volKey: "file"}
	v, err := d.format.parse(slot, text)
	if err != nil {
		return d, die("unable to parse drive options of %s", slot)
	}
	d.values = v
	if d.file() == "cdrom" || d.file() == "none" {
		d.values["media"] = "cdrom"
	}
	return d, nil
}

func parseMount(slot, text string) (drive, error) {
	d := drive{slot: slot, format: driveFormat(LXC, slot), volKey: "volume"}
	v, err := d.format.parse(slot, text)
	if err != nil {
		return d, die("unable to parse mount point %s", slot)
	}
	d.values = v
	return d, nil
}

func parseDisk(kind Kind, slot, text string) (drive, error) {
	if kind == LXC {
		return parseMount(slot, text)
	}
	return parseDrive(slot, text)
}

// with returns the drive on another volume of the given size; what belonged to the allocation goes.
func (d drive) with(vol string, size int64) drive {
	d.values = maps.Clone(d.values)
	d.values[d.volKey] = vol
	delete(d.values, "format")
	delete(d.values, "import-from")
	delete(d.values, "size")
	if size >= 0 {
		d.values["size"] = formatSize(size)
	}
	return d
}

func (d drive) file() string   { return d.values[d.volKey] }
func (d drive) text() string   { return d.format.format(d.values) }
func (d drive) isCDROM() bool  { return d.values["media"] == "cdrom" }
func (d drive) isImport() bool { return d.values["import-from"] != "" }

var cloudInitName = regexp.MustCompile(`[:/](?:vm-\d+-)?cloudinit(?:\.(?:raw|qcow2))?$`)

// isCloudInit says whether the drive is a generated cloud-init image, allocated or yet to be.
func (d drive) isCloudInit() bool { return cloudInitName.MatchString(d.file()) }

// isNew says whether the drive asks for an allocation: a size in GiB instead of a volume.
func (d drive) isNew() bool { return newVolume.MatchString(d.file()) }

// wantsCloudInit says whether the drive asks for a new cloud-init image.
func (d drive) wantsCloudInit() bool { return strings.HasSuffix(d.file(), ":cloudinit") }

// ownsVolume says whether the drive sits on a volume that belongs to the guest.
func (d drive) ownsVolume() bool {
	f := d.file()
	return volumeID.MatchString(f) && !d.isNew() && (!d.isCDROM() || d.isCloudInit()) && !contentVolume.MatchString(f[strings.IndexByte(f, ':')+1:])
}

// newStorage splits allocation syntax into storage and bytes. Without a storage it is "local".
func (d drive) newStorage() (string, int64) {
	m := newVolume.FindStringSubmatch(d.file())
	if m == nil {
		return "", 0
	}
	st := m[1]
	if st == "" {
		st = "local"
	}
	g, err := strconv.ParseFloat(m[2], 64)
	if err != nil {
		return st, 0
	}
	return st, int64(g * float64(gib))
}

// storageOf is the storage that a drive names, or nothing.
func (d drive) storageOf() string {
	if d.isNew() {
		st, _ := d.newStorage()
		return st
	}
	if m := volumeID.FindStringSubmatch(d.file()); m != nil {
		return m[1]
	}
	return ""
}

// sortedDrives returns the disk slots among the parameters in the order in which they are made.
func sortedDrives(kind Kind, p values) []string {
	return diskSlots(kind, p)
}

var errArbitraryPath = die("Only root can pass arbitrary filesystem paths. at /usr/share/perl5/PVE/Storage.pm line 651.")

// checkDisks refuses what can be refused before any work: unknown storages, foreign paths, missing privileges. The state is locked.
func (c *call) checkDisks(kind Kind, p values) error {
	for _, slot := range sortedDrives(kind, p) {
		d, err := parseDisk(kind, slot, p[slot])
		if err != nil {
			return err
		}
		if err := c.checkDisk(d); err != nil {
			return err
		}
	}
	return nil
}

func (c *call) checkDisk(d drive) error {
	f := d.file()
	switch {
	case f == "none" || f == "cdrom":
		return nil
	case strings.HasPrefix(f, "/"):
		return errArbitraryPath
	}
	if strings.HasPrefix(d.values["import-from"], "/") {
		return errArbitraryPath
	}
	id := d.storageOf()
	st := c.sim.storage(id)
	if st == nil {
		return die("storage '%s' does not exist", id)
	}
	if d.isNew() || d.wantsCloudInit() {
		return c.require("/storage/"+id, "Datastore.AllocateSpace")
	}
	if _, err := st.describe(f[len(id)+1:]); err != nil {
		return err
	}
	return c.sim.requireAny(c.who, "/storage/"+id, "Datastore.Audit", "Datastore.AllocateSpace")
}

// allocate makes the volume that a drive asks for, or looks up the one it names, and returns the drive as it is stored. What it
// makes is appended to made. The state is locked.
func (s *Sim) allocate(vmid int, d drive, logf func(string, ...any), made *[]string) (drive, error) {
	switch {
	case d.file() == "none" || d.file() == "cdrom":
		return d, nil
	case d.wantsCloudInit():
		return s.allocateCloudInit(vmid, d, logf, made)
	case d.isNew():
		return s.allocateNew(vmid, d, logf, made)
	}
	v := s.volume(d.file())
	if v == nil {
		return d, die("volume '%s' does not exist", d.file())
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
		v := s.add(Volume{ID: id, Owner: vmid, Size: 4 * mib, Format: format, Kind: "images"})
		logf("%s", st.formatLog(v))
		*made = append(*made, id)
	}
	d = d.with(id, -1)
	d.values["media"] = "cdrom"
	return d, nil
}

// maxRawSize is where the file system of a dir storage gives up, in bytes.
const maxRawSize = 16 * tib

func (s *Sim) allocateNew(vmid int, d drive, logf func(string, ...any), made *[]string) (drive, error) {
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
		src := s.volume(d.values["import-from"])
		if src == nil {
			return d, die("failed to stat '%s'", s.pathOf(d.values["import-from"]))
		}
		size = src.Size
		if d.values["format"] == "" && st.Type == "dir" {
			format = src.Format
		}
	}
	v := Volume{ID: id + ":" + st.freeName(vmid, format), Owner: vmid, Size: st.roundUp(size), Format: format, Kind: "images"}
	logf("%s", st.formatLog(&v))
	if size > maxRawSize {
		return d, die("unable to create image: qemu-img: %s: The image size is too large for file format '%s'", s.pathOf(v.ID), format)
	}
	s.add(v)
	*made = append(*made, v.ID)
	return d.with(v.ID, v.Size), nil
}

func (st *storage) formatFor(d drive) (string, error) {
	f := d.values["format"]
	switch {
	case f == "":
		return "raw", nil
	case st.Type != "dir" && f != "raw":
		return "", die("unsupported format '%s' at /usr/share/perl5/PVE/Storage/LvmThinPlugin.pm line 90.", f)
	}
	return f, nil
}

// pathOf is the file of a volume id.
func (s *Sim) pathOf(id string) string {
	st, name, _ := strings.Cut(id, ":")
	if sto := s.storage(st); sto != nil {
		return sto.path(name)
	}
	return id
}

// rollback frees volumes made by work that failed. The state is locked.
func (s *Sim) rollback(made []string) {
	for _, id := range slices.Backward(made) {
		s.free(id, "failed allocation")
	}
}

// moveToUnused keeps a detached volume in the config. A CD-ROM leaves nothing behind; a cloud-init image is freed. The state is
// locked.
func (s *Sim) moveToUnused(kind Kind, conf *config, slot, text string) {
	d, err := parseDisk(kind, slot, text)
	if err != nil || !d.ownsVolume() {
		return
	}
	if d.isCloudInit() {
		s.free(d.file(), "detached cloud-init image")
		return
	}
	for k, v := range conf.values {
		if isUnused(k) && v == d.file() {
			return
		}
	}
	conf.values[unusedKey(conf.values)] = d.file()
}
