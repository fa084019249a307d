package guest

import (
	"cmp"
	"strconv"
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

// Allocated returns the storage on which a native text allocates a new volume, and its size in bytes: "local-lvm:16,ssd=1" gives local-lvm and 16 GiB. Of other texts, of the state of
// a firmware or a TPM, which Proxmox makes small, and of what is copied from an image it returns 0.
func Allocated(key, text string) (storage string, size int64) {
	storage, gib, _ := strings.Cut(volumeOf(text), ":")
	number, err := strconv.ParseFloat(gib, 64)
	if err != nil || number <= 0 || number > maxGiB || strings.HasPrefix(key, "efidisk") || strings.HasPrefix(key, "tpmstate") {
		return "", 0
	}
	return storage, int64(number * (1 << 30))
}

// maxGiB bounds the number of an allocation, so that it is a number of bytes.
const maxGiB = 1 << 30

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

// Copied is a guest that is made with the volumes of another one: of a template, or of the guest in a backup.
type Copied struct {
	Keys    map[string]Value // of the other one
	Storage string           // to which all volumes are copied; "" if each stays on the storage of its original
}

// Space returns what the volumes take, in bytes by storage.
func (c Copied) Space(kind Kind) map[string]int64 {
	space := make(map[string]int64)
	for key := range c.Keys {
		if storage := c.storageOf(kind, key); storage != "" {
			_, size := LiveDisk(Observed{Keys: c.Keys}, key)
			space[storage] += size
		}
	}
	return space
}

// As returns the new guest before its first configuration, as far as its volumes and keys are those of the other one.
func (c Copied) As(d Desired) Observed {
	o := Observed{Ref: d.Ref, Node: d.Node, Keys: make(map[string]Value, len(c.Keys))}
	for key, value := range c.Keys {
		if storage := c.storageOf(d.Kind, key); storage != "" {
			_, rest, _ := strings.Cut(value.Text, ":")
			value.Text = storage + ":" + rest
		}
		o.Keys[key] = value
	}
	return o
}

// storageOf returns the storage on which the new guest has the volume of a key, "" if the key has none of its own.
func (c Copied) storageOf(kind Kind, key string) string {
	o := Observed{Ref: Ref{Kind: kind}, Keys: c.Keys}
	storage := storageOf(volumeOf(c.Keys[key].Text))
	if !holdsVolume(kind, key) || storage == "" || DiscIn(o, key) != "" || strings.HasPrefix(key, "unused") {
		return ""
	}
	return cmp.Or(c.Storage, storage)
}

// LargerThan returns what a manifest asks for less than an image has that is copied into a slot, and whether it does. Size is that of the image, in bytes.
func LargerThan(in Intent, size int64) (Larger, bool) {
	wanted := DiskSize(in.Sub["size"])
	if wanted == 0 || size-wanted < sizeSlack {
		return Larger{}, false
	}
	return Larger{Key: in.Key, Wanted: in.Sub["size"], Size: form.FormatSize(size), Origin: in.Origin}, true
}
