package guest

import (
	"strings"

	"gitops-agent/reconcile/guest/form"
)

// DiskSize returns the bytes of a size as Proxmox and manifests write it, "16G"; 0 if it cannot be read.
func DiskSize(text string) int64 {
	size, err := form.ParseSize(text)
	if err != nil {
		return 0
	}
	return size
}

// LiveDisk returns the volume of a disk of a guest and its size in bytes, 0 if it is not known.
func LiveDisk(o Observed, key string) (volume string, size int64) {
	volume, rest, _ := strings.Cut(o.Keys[key].Text, ",")
	for pair := range strings.SplitSeq(rest, ",") {
		if text, isSize := strings.CutPrefix(pair, "size="); isSize {
			size = DiskSize(text)
		}
	}
	return strings.TrimPrefix(volume, "file="), size
}
