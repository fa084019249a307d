package guest

import (
	"slices"
	"strconv"
	"strings"
)

// Volumes returns the ids of the volumes that the guest owns, sorted. Destroying the guest deletes them: the volumes of its drives, its
// cloud-init drive, its firmware, its mount points, its unused volumes and its saved state, now or after the next start. ISO images,
// directories and devices of the host, and volumes that are named for another guest are not included.
func Volumes(o Observed) []string {
	var volumes []string
	for key, value := range o.Keys {
		if !holdsVolume(o.Kind, key) {
			continue
		}
		texts := []string{value.Text}
		if value.Pending != nil {
			texts = append(texts, *value.Pending)
		}
		for _, text := range texts {
			if volume := volumeOf(text); ownedBy(volume, o.VMID) {
				volumes = append(volumes, volume)
			}
		}
	}
	slices.Sort(volumes)
	return slices.Compact(volumes)
}

// SMBIOSUUID returns the firmware uuid of a virtual machine as it runs now, in lower case. It is empty if none is set, and for containers.
func SMBIOSUUID(o Observed) string {
	if o.Kind == Container {
		return ""
	}
	return uuidOf(o.Keys["smbios1"].Text)
}

func uuidOf(smbios string) string {
	return strings.ToLower(smbiosSyntax.parse(nil, smbios).text("uuid"))
}

// KeepUUID returns the changes of a virtual machine that is identified by its firmware uuid. A change that would change or remove the uuid
// becomes impossible: the guest could not be recognized afterwards. Uuid is in lower case; an empty uuid changes nothing.
func KeepUUID(changes []Change, uuid string) []Change {
	kept := slices.Clone(changes)
	for i := range kept {
		c := &kept[i]
		if uuid != "" && c.Key == "smbios1" && c.Write != WriteNone && (c.Write == WriteDelete || uuidOf(c.Value) != uuid) {
			c.Class, c.Write, c.Note = Impossible, WriteNone, "the guest is identified by its uuid "+uuid+": set this uuid, or none"
		}
	}
	return kept
}

func holdsVolume(kind Kind, key string) bool {
	r, known := find(kind, key)
	return known && (r.drive || r.key == "unused" || r.key == "vmstate")
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
