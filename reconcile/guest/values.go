package guest

import (
	"maps"
	"slices"
	"strconv"
)

// Values are the native keys of a guest with their values, for readers that need single sub-keys. They contain no password.
type Values struct {
	kind  Kind
	texts map[string]string
}

// ValuesNow returns the values of a live guest, without those that wait for a restart.
func ValuesNow(o *Observed) Values {
	v := Values{o.Kind, make(map[string]string, len(o.Keys))}
	for key, value := range o.Keys {
		if value.Set && !isSecret(o.Kind, key) {
			v.texts[key] = value.Text
		}
	}
	return v
}

// ValuesAfter returns the values that a guest will have when it is as its manifest wants it, and after a restart if one is needed: what the manifest does
// not mention stays as it is. A nil guest does not exist yet. A new drive has the pseudo sub-keys of an Intent.
func ValuesAfter(d *Desired, live *Observed) Values {
	v := Values{d.Kind, make(map[string]string, len(d.Intents))}
	var ignore []string // a new guest gets these fields too
	if live != nil {
		ignore = d.Ignore
		for key, value := range live.Keys {
			if text, set := value.Next(); set && !isSecret(d.Kind, key) {
				v.texts[key] = text
			}
		}
	}
	for i := range d.Intents {
		in := &d.Intents[i]
		if !ignores(ignore, in.Key, "") && !isSecret(d.Kind, in.Key) {
			v.want(in, ignore)
		}
	}
	return v
}

// isSecret reports whether a key contains a password.
func isSecret(kind Kind, key string) bool {
	r, _ := find(kind, key)
	return r.form == secretForm
}

// want brings one intent into effect.
func (v Values) want(in *Intent, ignore []string) {
	r, _ := find(v.kind, in.Key)
	switch {
	case in.Verb == Absent, in.Sub == nil && isBlank(in.Text) && !r.device:
		delete(v.texts, in.Key)
	case r.syntax == nil:
		v.texts[in.Key] = in.Text
	default:
		base := r.syntax.parse(nil, v.texts[in.Key])
		wanted := newWantedProperties(nil, in, r.syntax, ignore, Version{})
		if r.drive {
			base = wanted.onto(base)
		}
		v.texts[in.Key] = r.syntax.native(wanted.merge(base))
	}
}

// onto returns the sub-keys of a drive that remain when it becomes the wanted one. A volume that is moved gets a new name, and no volume shrinks.
func (w *wantedProperties) onto(have properties) properties {
	volume, storage := have.text("volume"), w.pairs.text("storage")
	if storage != "" && volume != "" && storageOf(volume) != storage && !isTray(volume) {
		have = slices.DeleteFunc(have, func(p pair) bool { return p.name == "volume" })
	} else if volume != "" {
		w.remove("storage")
	}
	now, errNow := ParseSize(have.text("size"))
	wanted, errWanted := ParseSize(w.pairs.text("size"))
	if errNow == nil && errWanted == nil && now > wanted {
		w.remove("size")
	}
	return have
}

// Keys returns the keys, sorted.
func (v Values) Keys() []string { return slices.Sorted(maps.Keys(v.texts)) }

// Text returns the native text of a key, its default if it is not set, or "".
func (v Values) Text(key string) string {
	if text, set := v.texts[key]; set {
		return text
	}
	r, _ := find(v.kind, key)
	return r.absentValue
}

// Sub returns the canonical text of a sub-key, its default if it is not set, or "". The bare sub-key of a plain value is its text.
func (v Values) Sub(key string, names ...string) []string {
	r, _ := find(v.kind, key)
	out := make([]string, len(names))
	if r.syntax == nil {
		return out
	}
	p := r.syntax.parse(nil, v.Text(key))
	for i, name := range names {
		out[i] = r.syntax.meaning(p, name)
	}
	return out
}

// Int returns a key as a number, 0 if it is none.
func (v Values) Int(key string) int64 {
	n, _ := strconv.ParseInt(v.Text(key), 10, 64) // Proxmox keeps numbers in these keys
	return n
}

// IsOn reports whether a key is true.
func (v Values) IsOn(key string) bool { return truth(v.Text(key)) == "1" }

// Slots returns the keys that hold a drive or a network interface, sorted.
func (v Values) Slots() []string {
	var slots []string
	for key := range v.texts {
		if v.IsDrive(key) || v.IsCard(key) {
			slots = append(slots, key)
		}
	}
	slices.Sort(slots)
	return slots
}

// IsDrive reports whether a key holds a disk, a mount point or a CD-ROM drive.
func (v Values) IsDrive(key string) bool {
	r, known := find(v.kind, key)
	return known && r.drive
}

// IsCard reports whether a key holds a network interface.
func (v Values) IsCard(key string) bool {
	r, known := find(v.kind, key)
	return known && r.key == "net"
}

// Storage returns the storage of a drive: that of its volume, or the wanted one of a drive without a volume.
func (v Values) Storage(key string) string {
	sub := v.Sub(key, "volume", "storage")
	if storage := storageOf(sub[0]); storage != "" {
		return storage
	}
	return sub[1]
}

// IsCloudInit reports whether a drive has the data for cloud-init.
func (v Values) IsCloudInit(key string) bool {
	volume := v.Sub(key, "volume")[0]
	return volume == "cloudinit" || isCloudInit(volume)
}
