package guest

import "slices"

// Words returns the words that a native key accepts or, if sub is not empty, the words that this sub-key accepts. They have the order of the
// key table. Words returns nothing if the key or sub-key is not an enumeration, or is not in the table.
func Words(kind Kind, key, sub string) []string {
	r, _ := find(kind, key)
	switch {
	case sub == "":
		return slices.Clone(r.Words)
	case r.syntax == nil:
		return nil
	default:
		return slices.Clone(r.syntax.sub(sub).Words)
	}
}

// SlotCount returns the number of slots of a family of keys: 31 for "scsi", which is scsi0 to scsi30. It is 0 for any other text.
func SlotCount(kind Kind, family string) int {
	r, _ := find(kind, family+"0")
	if r.key != family {
		return 0
	}
	return r.slots
}

// ImageFormats returns the image formats that a new volume can have on a storage that keeps files.
//
// Source: PVE API, parameter format of POST /nodes/{node}/qemu/{vmid}/clone.
func ImageFormats() []string { return slices.Clone(newVolumeFormats) }

// IsKnown reports whether the table holds a native key.
func IsKnown(kind Kind, key string) bool {
	_, known := find(kind, key)
	return known
}

// IsDrive reports whether a native key is the slot of a disk, a CD-ROM drive or a mount point.
func IsDrive(kind Kind, key string) bool {
	r, _ := find(kind, key)
	return r.drive
}

// KeptByProxmox reports whether Proxmox writes a native key itself and accepts no value for it.
func KeptByProxmox(kind Kind, key string) bool {
	r, _ := find(kind, key)
	return r.effect == never && r.instead == ""
}
