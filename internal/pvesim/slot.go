package pvesim

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// isDisk reports whether a key is a disk slot. The keys of unused volumes are not disk slots.
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

// freeUnusedKey returns the lowest free unusedN.
func freeUnusedKey(v values) string {
	for i := 0; ; i++ {
		if k := "unused" + itoa(i); v[k] == "" {
			return k
		}
	}
}

// diskSlots returns the disk slots among the keys, in the order in which the disks are created.
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

// compareSlots orders keys by name, those without an index first, and scsi2 before scsi10.
func compareSlots(a, b string) int {
	as, ai, _ := splitIndex(a)
	bs, bi, _ := splitIndex(b)
	return cmp.Or(strings.Compare(as, bs), ai-bi, strings.Compare(a, b))
}

// slotsOf returns the keys that keep accepts, in the order of compareSlots.
func slotsOf(v values, keep func(string) bool) []string {
	return slices.DeleteFunc(slices.SortedFunc(maps.Keys(v), compareSlots), func(k string) bool { return !keep(k) })
}

func sortedKeys(v values) []string { return slices.Sorted(maps.Keys(v)) }
