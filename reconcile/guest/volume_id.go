package guest

import (
	"strconv"
	"strings"

	"gitops-agent/reconcile/guest/form"
)

// VolumeOwner returns the vmid in the id of a volume, and whether the id contains one.
func VolumeOwner(volume string) (vmid int, ok bool) {
	_, name, _ := strings.Cut(volume, ":")
	return volumeOwner(name)
}

// VolumeKey returns the same text for all ids of a volume. The id of a linked clone may begin with its base volume or not.
func VolumeKey(volume string) string {
	storage, name, _ := strings.Cut(volume, ":")
	if _, owned := volumeOwner(name); owned {
		base, _ := baseOf(name)
		name = strings.TrimPrefix(strings.TrimPrefix(name, base), "/")
	}
	return storage + ":" + name
}

// BaseVolume returns the id of the base volume in the id of a linked clone, and whether the id contains one.
func BaseVolume(volume string) (base string, ok bool) {
	storage, name, _ := strings.Cut(volume, ":")
	base, ok = baseOf(name)
	return storage + ":" + base, ok
}

// IsBaseVolume reports whether a volume is a volume of a template, from which linked clones are made.
func IsBaseVolume(volume string) bool {
	_, name, _ := strings.Cut(VolumeKey(volume), ":")
	return isBase(name[strings.LastIndexByte(name, '/')+1:])
}

func isBase(file string) bool {
	return strings.HasPrefix(file, "base-") || strings.HasPrefix(file, "basevol-")
}

// baseOf returns the base in the name of a linked clone: the first half of "base-9000-disk-0/vm-100-disk-0" and of
// "9000/base-9000-disk-0.qcow2/100/vm-100-disk-0.qcow2".
func baseOf(name string) (base string, ok bool) {
	parts := strings.Split(name, "/")
	half := len(parts) / 2
	if len(parts) != 2 && len(parts) != 4 || !isBase(parts[half-1]) {
		return "", false
	}
	return strings.Join(parts[:half], "/"), true
}

// isVolume reports whether text is the id of a volume that only one guest can use.
func isVolume(text string) bool {
	return strings.Contains(text, ":") && !strings.HasPrefix(text, "/") && !isTray(text) && !form.Allocates(text)
}

const cloudInitVolume = "cloudinit"

// hostDrive is the text of a CD-ROM drive that is the physical drive of the host.
const hostDrive = "cdrom"

// isTray reports whether a volume text belongs to a CD-ROM drive without a volume that the guest owns.
func isTray(volume string) bool {
	return volume == "none" || volume == hostDrive || strings.Contains(volume, ":iso/")
}

// volumeOf returns the volume in the native text of a drive.
func volumeOf(text string) string {
	for text != "" {
		var part string
		part, text, _ = strings.Cut(text, ",")
		name, value, named := strings.Cut(part, "=")
		switch {
		case !named:
			return strings.TrimSpace(part)
		case name == "file", name == "volume":
			return value
		}
	}
	return ""
}

// ownedBy reports whether the guest vmid can own a volume: the volume is not named for another guest.
func ownedBy(volume string, vmid int) bool {
	storage, name, ok := strings.Cut(volume, ":")
	if !ok || strings.HasPrefix(storage, "/") || strings.HasPrefix(name, "iso/") {
		return false
	}
	owner, named := volumeOwner(name)
	return !named || owner == vmid
}

// volumeOwner returns the vmid in the name of a volume, "vm-100-disk-0" or "base-9000-disk-0/subvol-100-disk-0". The last part counts, since the
// name of a linked clone begins with its base. On storages with folders the folder decides, whatever the file is called:
// "100/vm-200-disk-0.raw" belongs to guest 100.
//
// Source: PVE::Storage::DirPlugin parse_volname.
func volumeOwner(name string) (vmid int, ok bool) {
	parts := strings.Split(name, "/")
	last := parts[len(parts)-1]
	if n := len(parts); (n == 2 || n == 4 && form.IsDigits(parts[0])) && form.IsDigits(parts[n-2]) {
		vmid, err := strconv.Atoi(parts[n-2])
		return vmid, err == nil
	}
	for _, prefix := range []string{"vm-", "base-", "subvol-", "basevol-"} {
		if rest, found := strings.CutPrefix(last, prefix); found {
			digits, _, _ := strings.Cut(rest, "-")
			vmid, err := strconv.Atoi(digits)
			return vmid, err == nil
		}
	}
	return 0, false
}

// storageOf returns the storage of a volume id. It is empty for none, cdrom and paths of the host.
func storageOf(volume string) string {
	storage, _, ok := strings.Cut(volume, ":")
	if !ok || strings.HasPrefix(volume, "/") {
		return ""
	}
	return storage
}

// isCloudInit reports whether a volume is a cloud-init drive, "local-lvm:vm-100-cloudinit", "local:100/vm-100-cloudinit.qcow2", or the
// allocation syntax for a cloud-init drive.
func isCloudInit(volume string) bool {
	name := volume[strings.LastIndexAny(volume, ":/")+1:]
	name, _, _ = strings.Cut(name, ".")
	if rest, ok := strings.CutPrefix(name, "vm-"); ok {
		digits, tail, _ := strings.Cut(rest, "-")
		return form.IsDigits(digits) && tail == "cloudinit"
	}
	return name == "cloudinit"
}
