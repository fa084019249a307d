package guest

import (
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Reference is one place in the configuration of a guest that names a volume.
type Reference struct {
	Key      string   // the native key, "scsi1"
	Part     Part     // of the configuration
	Snapshot string   // the name of the snapshot if Part is InSnapshot
	Volume   string   // the volume's id; only the name of the volume if Relation is ByPath
	Relation Relation // of the guest to the volume
}

// Part is a part of a guest's configuration.
type Part string

// The parts of a configuration.
const (
	InCurrent  Part = "current"
	InPending  Part = "pending"
	InSnapshot Part = "snapshot"
)

// Relation says how a reference names its volume.
type Relation string

// The relations of a guest to a volume.
const (
	Holds   Relation = "holds"    // a slot contains the volume
	Unused  Relation = "unused"   // an unused key contains the volume
	BasedOn Relation = "based-on" // a slot contains a linked clone of the volume
	ByPath  Relation = "by-path"  // a text contains the path of a volume with this name; its storage is not known
	Shares  Relation = "shares"   // a slot contains a file that belongs to no guest, such as an image in a CD-ROM drive
)

// String returns "scsi1", "scsi1 (pending)", "scsi1 of snapshot before", "unused0", "a linked clone in scsi0" or "a path in args".
func (r Reference) String() string {
	text := r.Key
	switch r.Relation {
	case BasedOn:
		text = "the base of a linked clone in " + r.Key
	case ByPath:
		text = "a path in " + r.Key
	case Holds, Unused, Shares:
	}
	switch r.Part {
	case InPending:
		text += " (pending)"
	case InSnapshot:
		text += " of snapshot " + r.Snapshot
	case InCurrent:
	}
	return text
}

// References returns every place in the configuration of a guest, now and after the next start, that names a volume, in no order. It does not
// check who owns a volume.
func References(o Observed) []Reference {
	var list []Reference
	for key, value := range o.Keys {
		list = appendReferences(list, o.Kind, key, value.Text, Reference{Key: key, Part: InCurrent})
		if value.Pending != nil {
			list = appendReferences(list, o.Kind, key, *value.Pending, Reference{Key: key, Part: InPending})
		}
	}
	return list
}

// SnapshotReferences returns every place in a snapshot's section of a configuration that names a volume, in no order.
func SnapshotReferences(kind Kind, snapshot string, keys map[string]string) []Reference {
	var list []Reference
	for key, text := range keys {
		list = appendReferences(list, kind, key, text, Reference{Key: key, Part: InSnapshot, Snapshot: snapshot})
	}
	return list
}

// prose are keys whose text only people read.
var prose = map[string]bool{"description": true, "tags": true, "name": true, "hostname": true}

// volumeName matches the name of a volume in a path.
var volumeName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\b(?:vm|base|subvol|basevol)-[1-9][0-9]+-[A-Za-z0-9_.-]+`)
})

// imageFile matches the name of the file of an Image in a path. It ends in digits of the checksum.
var imageFile = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`[A-Za-z0-9][A-Za-z0-9_.-]*-[0-9a-f]{12}\.[A-Za-z0-9.]+`)
})

// partition matches the end of the path of a partition.
var partition = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`-part[0-9]+$`) })

// appendReferences adds the references of one text.
func appendReferences(list []Reference, kind Kind, key, text string, r Reference) []Reference {
	if holdsVolume(kind, key) {
		switch volume := volumeOf(text); {
		case BelongsToNoGuest(volume):
			r.Volume, r.Relation = volume, Shares
			return append(list, r)
		case isVolume(volume):
			r.Volume, r.Relation = volume, Holds
			if strings.HasPrefix(key, "unused") {
				r.Relation = Unused
			}
			list = append(list, r)
			if base, ok := BaseVolume(volume); ok {
				r.Volume, r.Relation = base, BasedOn
				list = append(list, r)
			}
			return list
		}
	}
	if prose[key] || !strings.Contains(text, "-") {
		return list
	}
	for _, name := range imageFile().FindAllString(text, -1) {
		r.Volume, r.Relation = name, ByPath
		list = append(list, r)
	}
	text = strings.ReplaceAll(text, "--", "-") // the device mapper doubles the dashes: /dev/mapper/pve-vm--100--disk--0
	for _, name := range volumeName().FindAllString(text, -1) {
		r.Volume, r.Relation = partition().ReplaceAllString(name, ""), ByPath
		list = append(list, r)
	}
	return list
}

// NamedVolumes returns what a native text puts into a slot: the volume that it names, and the image that it imports. Either is empty if the
// text names none that only one guest can use.
func NamedVolumes(kind Kind, key, text string) (volume, image string) {
	r, known := find(kind, key)
	if !known || !holdsVolume(kind, key) {
		return "", ""
	}
	if volume = volumeOf(text); !isVolume(volume) {
		volume = ""
	}
	if r.syntax != nil {
		image = r.syntax.parse(nil, text).text("import-from")
	}
	if !isVolume(image) {
		image = ""
	}
	return volume, image
}

// FreedByDelete reports whether deleting a key of the guest's configuration deletes the volume in it, and not only detaches it.
//
// Source: PVE API, PUT config: an unused volume and a cloud-init drive are deleted at once.
func FreedByDelete(key, volume string) bool {
	return strings.HasPrefix(key, "unused") || isCloudInit(volume)
}

// VolumeStorage returns the storage in the id of a volume.
func VolumeStorage(volume string) string { return storageOf(volume) }

// VolumeFile returns the last part of a volume's name, by which a path names the volume.
func VolumeFile(volume string) string { return volume[strings.LastIndexAny(volume, ":/")+1:] }

// IsVolume reports whether a text is the id of a volume that only one guest can use: no path, no image of a CD-ROM drive, and no request to allocate
// a volume.
func IsVolume(text string) bool { return isVolume(text) }

// NamesFile reports whether a reference names a file that belongs to no guest, by its id or by a path.
func (r Reference) NamesFile(file string) bool {
	return r.Volume == file || r.Relation == ByPath && r.Volume == VolumeFile(file)
}

// NamesFile returns the field or the native key of a manifest that names a file that belongs to no guest, "" if none does.
func (d *Desired) NamesFile(file string) string {
	s := d.Source
	switch {
	case s.Image != nil && s.Image.Volume == file:
		return "source.image"
	case s.ISO != nil && s.ISO.Volume == file:
		return "source.iso"
	case s.Template != nil && s.Template.Volume == file:
		return "source.template"
	}
	for i := range d.Intents {
		in := &d.Intents[i]
		if in.Verb != Want {
			continue
		}
		references := appendReferences(nil, d.Kind, in.Key, in.Text, Reference{})
		for _, text := range in.Sub {
			references = appendReferences(references, d.Kind, in.Key, text, Reference{})
		}
		if slices.ContainsFunc(references, func(r Reference) bool { return r.NamesFile(file) }) {
			return in.Key
		}
	}
	return ""
}
