package pvesim

import (
	"maps"
	"math"
	"net/http"
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

func parseDrive(slot, text string) (drive, error) {
	d := drive{slot: slot, format: driveFormat(QEMU, slot), volKey: "file"}
	v, err := d.format.parse(slot, text)
	if err != nil {
		return d, apiErrorf("unable to parse drive options of %s", slot)
	}
	d.values = v
	if !d.throttle() {
		return d, paramError(slot, "unable to parse drive options")
	}
	if d.file() == "cdrom" || d.file() == "none" {
		d.values["media"] = "cdrom"
	}
	return d, nil
}

// throttle replaces limits in bytes by limits in megabytes, and reports whether the limits go together. Proxmox takes the text of a limit in bytes for 1.
//
// Source: PVE::QemuServer::Drive parse_drive.
func (d drive) throttle() bool {
	v := d.values
	isSet := func(key string) bool { return v[key] != "" && v[key] != "0" }
	for _, dir := range []string{"", "_rd", "_wr"} {
		if _, given := v["bps"+dir]; given {
			if _, also := v["mbps"+dir]; also {
				return false
			}
			delete(v, "bps"+dir)
			v["mbps"+dir] = "0.000"
		}
		for option, needs := range map[string]string{
			"mbps" + dir + "_max": "mbps" + dir, "bps" + dir + "_max_length": "mbps" + dir + "_max", "iops" + dir + "_max_length": "iops" + dir + "_max",
		} {
			if isSet(option) && !isSet(needs) {
				return false
			}
		}
		for _, unit := range []string{"mbps", "iops"} {
			if dir != "" && isSet(unit+dir) && isSet(unit) {
				return false
			}
		}
	}
	return true
}

func parseMount(slot, text string) (drive, error) {
	d := drive{slot: slot, format: driveFormat(LXC, slot), volKey: "volume"}
	v, err := d.format.parse(slot, text)
	if err != nil {
		return d, apiErrorf("unable to parse mount point %s", slot)
	}
	d.values = v
	return d, nil
}

// errMissingMount returns the error for a mount point that the container does not have: Proxmox parses its empty text.
func errMissingMount(slot string) error {
	const missing = "property is missing and it is not optional"
	bad := map[string]string{"volume": missing}
	if stem, _, _ := splitIndex(slot); stem == "mp" {
		bad["mp"] = missing
	}
	return &apiError{status: http.StatusInternalServerError, message: "format error\n", params: bad}
}

func parseDisk(kind Kind, slot, text string) (drive, error) {
	if kind == LXC {
		return parseMount(slot, text)
	}
	return parseDrive(slot, text)
}

// with returns the drive on another volume of the given size in bytes; a negative size is left out. Options of the allocation are
// removed.
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

func (d drive) file() string { return d.values[d.volKey] }

func (d drive) text() string { return d.format.format(d.values) }

func (d drive) isCDROM() bool { return d.values["media"] == "cdrom" }

func (d drive) isImport() bool { return d.values["import-from"] != "" }

var cloudInitName = newPattern(`[:/](?:vm-\d+-)?cloudinit(?:\.(?:raw|qcow2))?$`)

// isCloudInit reports whether the drive is a generated cloud-init image, allocated or requested.
func (d drive) isCloudInit() bool { return cloudInitName.MatchString(d.file()) }

// isNew reports whether the drive requests an allocation: it has a size in GiB in place of a volume.
func (d drive) isNew() bool { return newVolume.MatchString(d.file()) }

// wantsCloudInit reports whether the drive requests a new cloud-init image.
func (d drive) wantsCloudInit() bool { return strings.HasSuffix(d.file(), ":cloudinit") }

// ownsVolume reports whether the drive has a volume that belongs to the guest.
func (d drive) ownsVolume() bool {
	f := d.file()
	return volumeID.MatchString(f) && !d.isNew() && (!d.isCDROM() || d.isCloudInit()) && !contentVolume.MatchString(f[strings.IndexByte(f, ':')+1:])
}

// newStorage returns the storage and the size in bytes of an allocation request. The default storage is "local".
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
	if d.volKey == "volume" { // a container allocates whole MiB, a VM whole KiB
		return st, int64(g*1024) * mib
	}
	return st, int64(math.Ceil(g*1024*1024)) * kib
}

// storageOf returns the storage that a drive names, or "".
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
