package pvesim

import (
	"maps"
	"slices"
	"strings"
)

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

// sortedDrives returns the disk slots among the parameters in the order in which they are made.
func sortedDrives(kind Kind, p values) []string {
	return diskSlots(kind, p)
}

// unusedKey returns the lowest free unusedN.
func unusedKey(v values) string {
	for i := 0; ; i++ {
		if k := "unused" + itoa(i); v[k] == "" {
			return k
		}
	}
}

func diskSlots(kind Kind, v values) []string {
	var out []string
	for k := range v {
		if isDisk(kind, k) {
			out = append(out, k)
		}
	}
	slices.SortFunc(out, compareSlots)
	return out
}

// compareSlots orders scsi2 before scsi10 and otherwise by name.
func compareSlots(a, b string) int {
	as, ai, _ := splitIndex(a)
	bs, bi, _ := splitIndex(b)
	if c := strings.Compare(as, bs); c != 0 {
		return c
	}
	return ai - bi
}

func slotsOf(v values, keep func(string) bool) []string {
	return slices.DeleteFunc(slices.SortedFunc(maps.Keys(v), compareSlots), func(k string) bool { return !keep(k) })
}
