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
	text := o.Keys[key].Text
	for pair := range strings.SplitSeq(text, ",") {
		if written, isSize := strings.CutPrefix(pair, "size="); isSize {
			size = DiskSize(written)
		}
	}
	return volumeOf(text), size
}

// DiskSpace returns what the disks of the manifest take, in bytes by storage. A disk without a size has that of its image, which is not known, and counts as 0.
func (d *Desired) DiskSpace() map[string]int64 {
	space := make(map[string]int64)
	for i := range d.Intents {
		if in := &d.Intents[i]; in.Verb == Want && in.Sub["storage"] != "" {
			space[in.Sub["storage"]] += DiskSize(in.Sub["size"])
		}
	}
	return space
}
