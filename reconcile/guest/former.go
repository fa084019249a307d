package guest

import (
	"slices"
	"strings"

	"gitops-agent/reconcile/guest/form"
)

// Former is the volume that an empty slot of a guest held before. A new volume in this slot would be empty and take its place, so the old one
// is attached again; if that is not possible, the change is destructive.
type Former struct {
	Volume string // id of the volume; "" if it is unknown which one the slot held
	Taken  string // why the volume cannot be attached again; "" if it can
	Unread bool   // the other guests were not read yet, so it is unknown whether one of them uses the volume
}

// String names the volume for people and in step digests.
func (f Former) String() string {
	if f.Volume == "" {
		return "an unknown volume"
	}
	return f.Volume
}

// DataSlots returns the slots into which a manifest puts a volume with data, sorted. It leaves out CD-ROM drives, cloud-init drives, which
// Proxmox writes again, and folders and devices of the host.
func DataSlots(d *Desired) []string {
	var slots []string
	for i := range d.Intents {
		in := &d.Intents[i]
		if r, _ := find(d.Kind, in.Key); r.drive && in.Verb == Want && wantsData(in) {
			slots = append(slots, in.Key)
		}
	}
	slices.Sort(slots)
	return slots
}

func wantsData(in *Intent) bool {
	volume, media := volumeOf(in.Text), in.Sub["media"]
	if named, ok := in.Sub["volume"]; ok {
		volume = named
	}
	isMedium := media == "cdrom" || strings.Contains(in.Text, "media=cdrom") || isTray(volume)
	return !isMedium && volume != cloudInitVolume && !isCloudInit(volume) && !strings.HasPrefix(volume, "/")
}

// DataVolume returns the volume with data in a slot of the guest, now or else after the next start, "" if there is none.
func DataVolume(o Observed, key string) string {
	now, next := nowAndNext(o.Keys[key])
	for _, text := range []string{now, next} {
		if volume := volumeOf(text); isVolume(volume) && !isCloudInit(volume) && !strings.Contains(text, "media=cdrom") {
			return volume
		}
	}
	return ""
}

// AllocatedSlots returns the slots for which the parameters of a call request a new volume with data, sorted.
func AllocatedSlots(kind Kind, params map[string]string) []string {
	var slots []string
	for key, text := range params {
		if r, _ := find(kind, key); r.drive && form.Allocates(volumeOf(text)) && !isCloudInit(volumeOf(text)) {
			slots = append(slots, key)
		}
	}
	slices.Sort(slots)
	return slots
}

// former returns what the slot held before, and whether it held a volume that a new one would replace.
func (s *slot) former() (Former, bool) {
	f, known := s.want.Former[s.in.Key]
	return f, known && s.target.volume != cloudInitVolume
}

// noteFormer describes, in the last change, what happens to the volume that the slot held before. Volume is what the change puts into the slot.
func (s *slot) noteFormer(volume string) {
	former, known := s.former()
	change := &s.changes[len(s.changes)-1]
	switch {
	case !known || change.Class == Impossible:
	case volume == former.Volume:
		change.To, change.Note = "volume="+volume, strings.TrimSuffix("attaches "+volume+" again; "+change.Note, "; ")
	case form.Allocates(volume):
		change.Class, change.Replaces = Destructive, former.String()
		change.Note = "creates an empty volume in place of " + former.String() + ": " + former.Taken
	}
}
