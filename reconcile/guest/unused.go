package guest

import (
	"slices"
	"strings"
)

// UnusedVolumes lists the volumes that belong to a guest and that no slot uses, such as "unused0=local:201/vm-201-disk-1.raw", sorted. A
// detached or moved disk leaves one behind; to delete its key would free it.
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

// UnusedVolumesOn is the same for one storage.
func UnusedVolumesOn(o Observed, storage string) []string {
	return slices.DeleteFunc(UnusedVolumes(o), func(volume string) bool {
		_, id, _ := strings.Cut(volume, "=")
		return storageOf(id) != storage
	})
}
