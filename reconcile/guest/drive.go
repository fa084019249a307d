package guest

import (
	"slices"
	"strings"

	"gitops-agent/reconcile/guest/form"
)

// sizeSlack is how much larger than wanted a volume may be because its storage rounds up: LVM to extents of 4 MiB, others less.
const sizeSlack = 4 * form.Mebibyte

// compareDrive adds the changes of one drive. Allocation syntax in an intent is refused: it would allocate a volume in every cycle.
func (c *comparison) compareDrive(in *Intent, r *row) {
	s := c.newSlot(in, r)
	if s.target.volume != cloudInitVolume && form.Allocates(s.target.volume) {
		s.addImpossible("", s.target.String(), "set storage and size to create a volume")
		return
	}
	if s.target.volume == "" && s.target.storage != "" && s.properties.pairs.text("media") == "cdrom" {
		s.addImpossible("", s.target.String(), "a CD-ROM drive needs an existing volume, none or cloudinit")
		return
	}
	now, next := nowAndNext(c.live.Keys[in.Key])
	if s.blockedByCloudInitDrive(now, next) {
		return
	}
	base := next
	if base == "" {
		base = now // the drive waits to be detached
	}
	if base == "" {
		s.fillEmpty()
		return
	}
	var found [24]pair
	have := r.syntax.parse(found[:0], base)
	stale := now != base && s.useCurrentSize(have, now)
	if now != next && s.onOtherStorage(have) && s.onTargetStorage(now) {
		s.keepMoved(now, next)
		return
	}
	moved, obstacle := s.volumeFor(have)
	if obstacle != "" {
		s.addImpossible(volumeText(have), s.target.String(), obstacle)
		if !s.sameMedia(have) {
			return
		}
	}
	switch {
	case moved != "" || next == "" || !s.properties.heldBy(have):
		s.rewrite(have, moved, now, next)
	default:
		if now != next && !s.matches(now) {
			c.addWaiting(in, r, now, next)
		}
		if stale && s.target.size != "" {
			s.correctSize(have, now, next)
		}
	}
	if moved == "" {
		s.compareStorage(have, now, next)
		if volumeOf(now) == have.text("volume") { // a resize grows the volume that the guest uses now
			s.compareSize(have)
		}
	}
}

// keepMoved replaces a waiting change that would restore the volume that the slot had before a move.
func (s *slot) keepMoved(now, next string) {
	have := s.row.syntax.parse(nil, now)
	s.rewrite(have, "", now, next)
	s.compareSize(have)
}

// useCurrentSize sets the size in have, which is the pending text, to the current size of the volume. It reports whether the pending text
// named a smaller size. Volumes only grow, and Proxmox does not correct pending text when a volume grows, so the larger size is the right
// one.
func (s *slot) useCurrentSize(have properties, now string) (stale bool) {
	current := s.row.syntax.parse(nil, now)
	i, size := have.find("size"), current.text("size")
	if i < 0 || size == "" || current.text("volume") != have.text("volume") {
		return false
	}
	waiting, errWaiting := form.ParseSize(have[i].text)
	present, errPresent := form.ParseSize(size)
	if errWaiting != nil || errPresent != nil || waiting >= present {
		return false
	}
	have[i].text = size
	return true
}

// correctSize adds the change that corrects the size in the pending text. Otherwise the next start would write the old size into the
// configuration, and Proxmox does not resize a volume to the size that it has.
func (s *slot) correctSize(have properties, now, next string) {
	s.addWrite(s.in, edit{live: s.live, key: s.in.Key, row: s.row, from: now, to: s.text(have, "")}, next)
	change := &s.changes[len(s.changes)-1]
	if change.Class != Impossible {
		change.Class, change.Note = Live, sizeNote
	}
}

const sizeNote = "corrects the size in the pending change"

// TextWithSize returns the native text that a drive has after the guest's next start, with another size in it. It is written if the volume
// has this size already and the text does not. Proxmox then measures the volume, except for the root volume of a container, whose text it
// keeps.
func TextWithSize(o Observed, key, size string) string {
	r, _ := find(o.Kind, key)
	_, next := nowAndNext(o.Keys[key])
	text := r.syntax.parse(nil, next)
	if i := text.find("size"); i >= 0 {
		text[i].text = size
	}
	return r.syntax.native(text)
}

// matches reports whether a native text of the slot has the wanted volume and options, regardless of the size.
func (s *slot) matches(text string) bool {
	if text == "" {
		return false
	}
	have := s.row.syntax.parse(nil, text)
	moved, obstacle := s.volumeFor(have)
	return moved == "" && obstacle == "" && !s.onOtherStorage(have) && s.properties.heldBy(have)
}

// fillEmpty adds the change that puts a volume into an empty slot.
func (s *slot) fillEmpty() {
	volume, obstacle := s.newVolume()
	if obstacle != "" {
		s.addImpossible("", s.target.String(), obstacle)
		return
	}
	s.addWrite(s.in, edit{live: s.live, key: s.in.Key, row: s.row, to: s.text(nil, volume)}, "")
	s.showTarget()
	s.noteFormer(volume)
}

// rewrite adds the change of a slot that is not empty: its volume if moved names another volume, and its options.
func (s *slot) rewrite(have properties, moved, now, next string) {
	kept := slices.Clone(have)
	if moved != "" {
		kept = slices.DeleteFunc(kept, func(p pair) bool { return p.name == "volume" || p.name == "size" || !s.sameMedia(have) })
	}
	s.addWrite(s.in, edit{live: s.live, key: s.in.Key, row: s.row, from: now, to: s.text(kept, moved)}, next)
	if moved != "" {
		s.showTarget()
		s.noteFormer(moved)
	}
	if now != next && s.matches(now) {
		s.markAsRevert()
	}
}

// text returns the native text of the slot: the volume of base, or moved, then the options.
func (s *slot) text(base properties, moved string) string {
	merged := s.properties.merge(base)
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

// showTarget sets the To of the last change to readable words in place of the allocation syntax.
func (s *slot) showTarget() {
	change := &s.changes[len(s.changes)-1]
	options := s.row.syntax.native(s.properties.merge(nil))
	change.To = strings.Trim(s.target.String()+","+options, ",")
}

// compareSize adds a resize if the volume is too small. A volume that is too large stays, and is no difference: a size is a minimum.
func (s *slot) compareSize(have properties) {
	live := have.text("size")
	if s.target.size == "" || live == "" || !isDisk(have) || s.row.syntax == efiSyntax || s.row.syntax == tpmSyntax {
		return
	}
	want, errWant := form.ParseSize(s.target.size)
	got, errGot := form.ParseSize(live)
	switch {
	case errWant != nil || errGot != nil:
		s.addImpossible("size="+live, "size="+s.target.size, "the size cannot be read")
	case got < want:
		s.add(Change{
			Key: s.in.Key, From: "size=" + live, To: "size=" + s.target.size, Class: Live, Write: WriteResize, Value: form.FormatSize(want),
			Note: "grows, which cannot be undone", Origin: s.in.Origin,
		})
	case got-want >= sizeSlack:
		s.larger = append(s.larger, Larger{Key: s.in.Key, Wanted: s.target.size, Size: live, Origin: s.in.Origin})
	}
}
