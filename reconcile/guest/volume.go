package guest

import (
	"slices"
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

// DiscIn returns the id of the disc image in the CD-ROM drive of a slot, "" if there is none. A cloud-init drive has no disc.
func DiscIn(o Observed, key string) string {
	if !holdsVolume(o.Kind, key) {
		return ""
	}
	volume := volumeOf(o.Keys[key].Text)
	if _, name, ok := strings.Cut(volume, ":"); !ok || !strings.HasPrefix(name, "iso/") {
		return ""
	}
	return volume
}

func holdsVolume(kind Kind, key string) bool {
	r, known := find(kind, key)
	return known && (r.drive || r.key == "unused" || r.key == "vmstate")
}
