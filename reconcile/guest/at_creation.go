package guest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// SourceKey is the name of spec.source in changes, plans and ignoreFields. It is no key of the configuration.
const SourceKey = "source"

// CreationValue is what a manifest says of a field that is used only when the guest, or one of its volumes, is created, and that no reading shows
// afterwards.
type CreationValue struct {
	Key     string // SourceKey; "ssh-public-keys", a native key; "scsi0.format", a sub-key
	Text    string // the same for all spellings with the same meaning, in every release; empty for a secret
	Secret  *Secret
	Origin  Origin // of the field; that of the manifest for SourceKey
	Ignored bool   // ignoreFields lists it
}

// IsVolume reports whether the value belongs to a volume, which may be created later than its guest.
func (v CreationValue) IsVolume() bool { return IsOfVolume(v.Key) }

// IsOfVolume reports whether a key of a CreationValue belongs to a volume.
func IsOfVolume(key string) bool { return strings.Contains(key, ".") }

// AtCreation returns the fields of a manifest that are used at creation only, sorted by key.
func AtCreation(d Desired) []CreationValue {
	var out []CreationValue
	add := func(v CreationValue, key, sub string) {
		v.Key = strings.TrimSuffix(key+"."+sub, ".")
		v.Ignored = ignores(d.Ignore, key, sub)
		out = append(out, v)
	}
	if text := d.Source.text(); text != "" {
		add(CreationValue{Text: text, Origin: d.Origin}, SourceKey, "")
	}
	for i := range d.Intents {
		in := &d.Intents[i]
		r, _ := find(d.Kind, in.Key)
		switch {
		case in.Verb != Want:
		case r.once:
			add(CreationValue{Text: linesInOrder(in.Text), Origin: in.Origin}, in.Key, "")
		case r.syntax != nil:
			for j := range r.syntax.subs {
				s := &r.syntax.subs[j]
				if !s.once {
					continue
				}
				if value := in.subKey(s.name, r.syntax); value != "" {
					add(CreationValue{Text: s.Canonical(value), Origin: in.Origin}, in.Key, s.name)
				}
			}
		}
	}
	for i := range d.Secrets {
		s := &d.Secrets[i]
		if r, _ := find(d.Kind, s.Key); r.once {
			add(CreationValue{Secret: s, Origin: s.Origin}, s.Key, "")
		}
	}
	slices.SortFunc(out, func(a, b CreationValue) int { return cmp.Compare(a.Key, b.Key) })
	return out
}

// IsAtCreation reports whether a key of guests of a kind is used at creation only. It knows no sub-keys.
func IsAtCreation(kind Kind, key string) bool {
	r, _ := find(kind, key)
	return r.once || key == SourceKey
}

// CreatesWith reports whether the creation of the guest uses a value. A clone and a restored guest keep the password and the keys of their original.
func (d *Desired) CreatesWith(v CreationValue) bool {
	return v.Key == SourceKey || v.IsVolume() || d.Source.Clone == nil && d.Source.Backup == nil
}

// Ignores reports whether ignoreFields lists a whole key.
func (d *Desired) Ignores(key string) bool { return ignores(d.Ignore, key, "") }

// subKey returns the value of a sub-key that an intent for a property string wants, "" if it wants none.
func (in *Intent) subKey(name string, s *syntax) string {
	if in.Sub != nil {
		return in.Sub[name]
	}
	return s.parse(nil, in.Text).text(name)
}

// linesInOrder returns the lines of a text as a set.
func linesInOrder(text string) string {
	lines := strings.Split(text, "\n")
	slices.Sort(lines)
	return strings.Join(slices.Compact(lines), "\n")
}

// text returns all that is set of a source, "" if nothing is. A field that a later release adds does not change the text of a source without it.
func (s Source) text() string {
	var parts []string
	part := func(name, value string) {
		if value != "" {
			parts = append(parts, fmt.Sprintf("%s=%q", name, value))
		}
	}
	file := func(kind, object, volume, slot string) {
		if object != "" { // the file of an Image has another name when its URL changes
			part(kind+".object", object)
		} else {
			part(kind+".volume", volume)
		}
		part(kind+".slot", slot)
	}
	yes := func(is bool) string {
		if is {
			return "true"
		}
		return ""
	}
	if c := s.Clone; c != nil {
		if c.VMID != 0 {
			part("clone.vmid", fmt.Sprint(c.VMID))
		}
		part("clone.name", c.Name)
		part("clone.full", yes(c.Full))
		part("clone.storage", c.Storage)
		part("clone.format", c.Format)
		part("clone.snapshot", c.Snap)
	}
	if i := s.Image; i != nil {
		file("image", i.Object, i.Volume, i.Slot)
	}
	if i := s.ISO; i != nil {
		file("iso", i.Object, i.Volume, i.Slot)
	}
	if t := s.Template; t != nil {
		file("template", t.Object, t.Volume, "")
	}
	if b := s.Backup; b != nil {
		part("backup.volume", b.Volume)
		part("backup.storage", b.Storage)
		part("backup.unique", yes(b.Unique))
	}
	part("blank", yes(s.Blank))
	return strings.Join(parts, " ")
}
