package guest

import (
	"strconv"
	"strings"
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
		name = name[strings.LastIndexByte(name, '/')+1:]
	}
	return storage + ":" + name
}

// isVolume reports whether text is the id of a volume that only one guest can use.
func isVolume(text string) bool {
	return strings.Contains(text, ":") && !strings.HasPrefix(text, "/") && !isTray(text) && !allocates(text)
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
// name of a linked clone begins with its base.
func volumeOwner(name string) (vmid int, ok bool) {
	last := name[strings.LastIndexByte(name, '/')+1:]
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
		return isDigits(digits) && tail == "cloudinit"
	}
	return name == "cloudinit"
}

// allocates reports whether a volume text is Proxmox's syntax for a new volume and not a volume id: "local-lvm:32", "8",
// "local-lvm:cloudinit".
func allocates(volume string) bool {
	name := volume[strings.IndexByte(volume, ':')+1:]
	return isDecimal(name) || name == "cloudinit"
}
