package guest

import (
	"slices"
	"strings"
)

// sizeSlack is how much larger than asked a volume may be because its storage rounds up: LVM to extents of 4 MiB, others less.
const sizeSlack = 4 * mebibyte

// place is where a drive's volume comes from: the pseudo sub-keys of an intent.
type place struct {
	storage string // to allocate from
	volume  string // to attach; "cloudinit" for a cloud-init drive on storage, "none" for an empty tray
	size    string // wanted, "" is unmanaged
}

const cloudInitVolume = "cloudinit"

// slot is a drive's slot in a comparison.
type slot struct {
	*comparison
	in    *Intent
	row   *row
	wish  wish // of the native sub-keys
	place place
}

func (c *comparison) compareDrive(in *Intent, r *row) {
	var found [24]pair
	s := slot{comparison: c, in: in, row: r, wish: newWish(c.wanted[:0], in, r.syntax, c.ignored())}
	s.place = place{storage: s.wish.take("storage"), volume: s.wish.take("volume"), size: s.wish.take("size")}
	if s.wish.exact {
		s.place.size = "" // in native text it is Proxmox's own, which ignores another one
	}
	if isTray(s.place.volume) && s.wish.pairs.text("media") == "" {
		s.wish.pairs = append(s.wish.pairs, pair{"media", "cdrom"})
	}
	if s.place.volume != cloudInitVolume && allocates(s.place.volume) {
		s.refuse("", s.place.String(), "a new volume is asked for by storage and size")
		return
	}
	now, next := texts(c.live.Keys[in.Key])
	base := next
	if base == "" {
		base = now // it waits to be detached
	}
	if base == "" {
		s.fill()
		return
	}
	have := r.syntax.parse(found[:0], base)
	if now != base {
		s.refreshSize(have, now)
	}
	moved, obstacle := s.volumeFor(have)
	if obstacle != "" {
		s.refuse(canonicalPlace(have), s.place.String(), obstacle)
		if !s.sameMedia(have) {
			return
		}
	}
	switch {
	case moved != "" || next == "" || !s.wish.held(have):
		s.rewrite(have, moved, now, next)
	case now != next && !s.holds(now):
		c.wait(in, r, now, next)
	}
	if moved == "" {
		s.compareSize(have)
	}
}

// refreshSize gives have the size that its volume has now. Sizes never wait, so that what waits may name an old one.
func (s *slot) refreshSize(have properties, now string) {
	current := s.row.syntax.parse(nil, now)
	if i, size := have.find("size"), current.text("size"); i >= 0 && size != "" && current.text("volume") == have.text("volume") {
		have[i].text = size
	}
}

// holds reports whether a native text of the slot is what is wanted, but for its size.
func (s *slot) holds(text string) bool {
	if text == "" {
		return false
	}
	have := s.row.syntax.parse(nil, text)
	moved, obstacle := s.volumeFor(have)
	return moved == "" && obstacle == "" && s.wish.held(have)
}

// volumeFor returns the volume that has to replace the one in the slot, "" if that one stays, and why it cannot.
func (s *slot) volumeFor(have properties) (volume, obstacle string) {
	live := have.text("volume")
	switch want := s.place; {
	case want.volume == cloudInitVolume:
		return s.cloudInitFor(live)
	case want.volume != "" && want.volume == live, want.volume == "" && want.storage == "":
		return "", ""
	case want.volume != "" && !s.sameMedia(have) && s.running():
		return "", mediaNote
	case want.volume != "":
		return want.volume, ""
	case storageOf(live) == want.storage && isDisk(have):
		return "", ""
	case isDisk(have):
		return "", "move disk: a volume does not change its storage in place"
	case isCloudInit(live):
		return "", occupiedNote
	case s.running():
		return "", mediaNote
	default:
		return s.newVolume()
	}
}

const (
	mediaNote    = "a drive cannot change between disk and CD-ROM while the guest runs"
	occupiedNote = "the slot holds another volume: remove it first"
)

func (s *slot) cloudInitFor(live string) (volume, obstacle string) {
	switch {
	case isCloudInit(live) && (s.place.storage == "" || s.place.storage == storageOf(live)):
		return "", ""
	case isCloudInit(live):
		return "", "move disk: remove the cloud-init drive to make it on another storage"
	case !isTray(live):
		return "", occupiedNote
	default:
		return s.newVolume()
	}
}

// newVolume returns the allocation syntax for the slot's volume, or why there cannot be one. It is only ever written to a
// slot that holds no volume of the guest, since Proxmox allocates anew each time.
func (s *slot) newVolume() (volume, obstacle string) {
	switch {
	case s.place.volume != "" && s.place.volume != cloudInitVolume:
		return s.place.volume, ""
	case s.place.storage == "":
		return "", "the slot is empty, and no storage is named to allocate a volume from"
	case s.place.volume == cloudInitVolume:
		return s.place.storage + ":" + cloudInitVolume, ""
	case s.imported() != "":
		return s.place.storage + ":0", "" // of the size of what is imported
	case s.row.key == "efidisk0" || s.row.key == "tpmstate0":
		return s.place.storage + ":1", "" // a size that Proxmox replaces with the firmware's own
	case s.place.size == "":
		return "", "the slot is empty, and no size is given to allocate a volume of"
	}
	bytes, err := ParseSize(s.place.size)
	if err != nil {
		return "", err.Error()
	}
	return s.place.storage + ":" + gibibytes(bytes), ""
}

// imported returns the disk image that the slot is made from, or the empty string.
func (s *slot) imported() string {
	if image := s.want.Source.Image; s.creating && image != nil && image.Slot == s.in.Key {
		return image.Volume
	}
	return ""
}

// fill adds the change that puts a volume into an empty slot.
func (s *slot) fill() {
	volume, obstacle := s.newVolume()
	if obstacle != "" {
		s.refuse("", s.place.String(), obstacle)
		return
	}
	s.write(s.in, edit{live: s.live, key: s.in.Key, row: s.row, to: s.text(nil, volume)}, "")
	s.showPlace()
}

// rewrite adds the change of what is in the slot: its volume if moved names another one, and its options.
func (s *slot) rewrite(have properties, moved, now, next string) {
	kept := slices.Clone(have)
	if moved != "" {
		kept = slices.DeleteFunc(kept, func(p pair) bool { return p.name == "volume" || p.name == "size" || !s.sameMedia(have) })
	}
	s.write(s.in, edit{live: s.live, key: s.in.Key, row: s.row, from: now, to: s.text(kept, moved)}, next)
	if moved != "" {
		s.showPlace()
	}
	if now != next && s.holds(now) {
		s.revert()
	}
}

// text is the native text of the slot: the volume that base has, or moved, then the options.
func (s *slot) text(base properties, moved string) string {
	merged := s.wish.merge(base)
	if moved != "" {
		if strings.HasSuffix(moved, ":"+cloudInitVolume) {
			merged = slices.DeleteFunc(merged, func(p pair) bool { return p.name == "media" })
		}
		merged = slices.Insert(merged, 0, pair{"volume", moved})
		if image := s.imported(); image != "" {
			merged = slices.Insert(merged, 1, pair{"import-from", image})
		}
	} else {
		merged = slices.DeleteFunc(merged, func(p pair) bool { return s.row.syntax.sub(p.name).once })
	}
	return s.row.syntax.native(merged)
}

// showPlace makes the last change say in words what its allocation syntax does.
func (s *slot) showPlace() {
	change := &s.changes[len(s.changes)-1]
	options := s.row.syntax.native(s.wish.merge(nil))
	change.To = strings.Trim(s.place.String()+","+options, ",")
}

// compareSize adds a resize where the volume is too small.
func (s *slot) compareSize(have properties) {
	live := have.text("size")
	if s.place.size == "" || live == "" || !isDisk(have) || s.row.syntax == efiSyntax || s.row.syntax == tpmSyntax {
		return
	}
	want, errWant := ParseSize(s.place.size)
	got, errGot := ParseSize(live)
	switch {
	case errWant != nil || errGot != nil:
		s.refuse("size="+live, "size="+s.place.size, "the size cannot be read")
	case got < want:
		s.add(Change{
			Key: s.in.Key, From: "size=" + live, To: "size=" + s.place.size, Class: Live, Write: WriteResize, Value: FormatSize(want),
			Note: "grows, which cannot be undone", Origin: s.in.Origin,
		})
	case got-want >= sizeSlack:
		s.refuse("size="+live, "size="+s.place.size, "a disk cannot shrink")
	}
}

func (s *slot) refuse(from, to, why string) {
	s.add(Change{Key: s.in.Key, From: from, To: to, Class: Impossible, Note: why, Origin: s.in.Origin})
}

func (s *slot) running() bool { return edit{live: s.live}.running() }

// sameMedia reports whether the slot holds the kind of drive that is wanted.
func (s *slot) sameMedia(have properties) bool {
	tray := s.place.volume == cloudInitVolume || s.wish.pairs.text("media") == "cdrom"
	return tray != isDisk(have)
}

func isDisk(have properties) bool { return have.text("media") != "cdrom" }

// isTray reports whether a volume text is that of a CD-ROM drive without a volume of the guest's own.
func isTray(volume string) bool {
	return volume == "none" || volume == "cdrom" || strings.Contains(volume, ":iso/")
}

func canonicalPlace(have properties) string { return "volume=" + have.text("volume") }

// String returns the place as sub-keys of an intent: "storage=local-lvm,size=32G".
func (p place) String() string {
	var parts []string
	for _, part := range []pair{{"storage", p.storage}, {"volume", p.volume}, {"size", p.size}} {
		if part.text != "" {
			parts = append(parts, part.name+"="+part.text)
		}
	}
	return strings.Join(parts, ",")
}
