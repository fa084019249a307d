package guest

import (
	"slices"
	"strings"
)

// UnusedVolumes returns the volumes of a guest that are in no slot, such as "unused0=local:201/vm-201-disk-1.raw", sorted. Detaching or moving a
// disk leaves one behind. Deleting its key deletes the volume.
func UnusedVolumes(o Observed) []string {
	var list []string
	for key, value := range o.Keys {
		if number, ok := strings.CutPrefix(key, "unused"); ok && number != "" && strings.Trim(number, "0123456789") == "" {
			list = append(list, key+"="+value.Text)
		}
	}
	slices.Sort(list)
	return list
}

// UnusedVolumesOn returns the unused volumes on one storage.
func UnusedVolumesOn(o Observed, storage string) []string {
	return slices.DeleteFunc(UnusedVolumes(o), func(volume string) bool {
		_, id, _ := strings.Cut(volume, "=")
		return storageOf(id) != storage
	})
}
