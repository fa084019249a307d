package guest

import (
	"slices"
	"strconv"
	"strings"
)

// Values are the native keys of a guest with their values, for readers that need single sub-keys. They contain no password. A value is derived when it is asked
// for, since most readers need few of them.
type Values struct {
	kind    Kind
	live    map[string]Value
	next    bool     // the values of live after a restart
	intents []Intent // sorted by key; over live
	ignore  []string // keys and sub-keys of live that no intent changes
}

// ValuesNow returns the values of a live guest, without those that wait for a restart.
func ValuesNow(o *Observed) Values { return Values{kind: o.Kind, live: o.Keys} }

// ValuesAfter returns the values that a guest will have when it is as its manifest wants it, and after a restart if one is needed: what the manifest does
// not mention stays as it is. A nil guest does not exist yet. A new drive has the pseudo sub-keys of an Intent.
func ValuesAfter(d *Desired, live *Observed) Values {
	v := Values{kind: d.Kind, next: true, intents: d.Intents}
	if live != nil { // a new guest gets the ignored fields too
		v.live, v.ignore = live.Keys, d.Ignore
	}
	return v
}

// liveText returns the native text of the live guest, "" if the key is not set.
func (v Values) liveText(r *row, key string) string {
	value, found := v.live[key]
	switch {
	case !found || r.form == secretForm:
	case v.next:
		if text, set := value.Next(); set {
			return text
		}
	case value.Set:
		return value.Text
	}
	return ""
}

// isSet reports whether the live guest has the key.
func (v Values) isSet(key string) bool {
	value := v.live[key]
	if v.next {
		_, set := value.Next()
		return set
	}
	return value.Set
}

// intent returns what the manifest wants of a key, nil if it wants nothing.
func (v Values) intent(r *row, key string) *Intent {
	i, found := slices.BinarySearchFunc(v.intents, key, func(in Intent, key string) int { return strings.Compare(in.Key, key) })
	if !found || r.form == secretForm || ignores(v.ignore, key, "") {
		return nil
	}
	return &v.intents[i]
}

// removes reports whether an intent wants that its key is not set.
func (in *Intent) removes(r *row) bool {
	return in.Verb == Absent || in.Sub == nil && isBlank(in.Text) && !r.device
}

// has reports whether the key is set.
func (v Values) has(r *row, key string) bool {
	if in := v.intent(r, key); in != nil {
		return !in.removes(r)
	}
	return v.isSet(key) && r.form != secretForm
}

// Slot is the value of a key with sub-keys, or the zero value of a key without any.
type Slot struct {
	syntax *syntax
	parts  properties
}

// Slot returns the value of a key, or its default if it is not set.
func (v Values) Slot(key string) Slot {
	r, _ := find(v.kind, key)
	if r.syntax == nil {
		return Slot{}
	}
	return Slot{r.syntax, v.properties(r, key)}
}

func (v Values) properties(r *row, key string) properties {
	in := v.intent(r, key)
	switch {
	case in == nil && v.isSet(key):
		return r.syntax.parse(make(properties, 0, 8), v.liveText(r, key))
	case in == nil || in.removes(r):
		return r.syntax.parse(nil, r.absentValue)
	}
	base := r.syntax.parse(make(properties, 0, 8), v.liveText(r, key))
	wanted := newWantedProperties(make(properties, 0, 8), in, r.syntax, v.ignore, Version{})
	if r.drive {
		base = wanted.onto(base)
	}
	return wanted.merge(base)
}

// Sub returns the canonical text of a sub-key, its default if it is not set, or "". The bare sub-key of a plain value is its text.
func (s Slot) Sub(name string) string {
	if s.syntax == nil {
		return ""
	}
	return s.syntax.meaning(s.parts, name)
}

// Storage returns the storage of a drive: that of its volume, or the wanted one of a drive without a volume.
func (s Slot) Storage() string {
	if storage := storageOf(s.Sub("volume")); storage != "" {
		return storage
	}
	return s.Sub("storage")
}

// IsCloudInit reports whether a drive has the data for cloud-init.
func (s Slot) IsCloudInit() bool {
	volume := s.Sub("volume")
	return volume == "cloudinit" || isCloudInit(volume)
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

// Keys returns the keys that are set, sorted.
func (v Values) Keys() []string {
	return v.keys(func(string) bool { return true }, func(*row) bool { return true })
}

// Slots returns the keys that hold a drive or a network interface, sorted.
func (v Values) Slots() []string {
	return v.keys(mayBeSlot, func(r *row) bool { return r.drive || r.key == cardKey })
}

// mayBeSlot reports whether a key can name a slot, which is cheaper than to find its row.
func mayBeSlot(key string) bool {
	last := key[max(len(key)-1, 0):]
	return last >= "0" && last <= "9" || key == "rootfs"
}

// cardKey is the key of the row of network interfaces.
const cardKey = "net"

// keys returns the keys that are set, that can be wanted, and whose rows are wanted, sorted.
func (v Values) keys(possible func(key string) bool, wanted func(r *row) bool) []string {
	var keys []string
	for key := range v.live {
		if !possible(key) {
			continue
		}
		if r, _ := find(v.kind, key); wanted(r) && v.has(r, key) {
			keys = append(keys, key)
		}
	}
	for i := range v.intents {
		key := v.intents[i].Key
		if _, isLive := v.live[key]; isLive || !possible(key) {
			continue
		}
		if r, _ := find(v.kind, key); wanted(r) && v.has(r, key) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

// Text returns the native text of a key, its default if it is not set, or "".
func (v Values) Text(key string) string {
	r, _ := find(v.kind, key)
	in := v.intent(r, key)
	switch {
	case in == nil && v.isSet(key) && r.form != secretForm:
		return v.liveText(r, key)
	case in == nil || in.removes(r):
		return r.absentValue
	case r.syntax == nil:
		return in.Text
	}
	return r.syntax.native(v.properties(r, key))
}

// Int returns a key as a number, 0 if it is none.
func (v Values) Int(key string) int64 {
	n, _ := strconv.ParseInt(v.Text(key), 10, 64) // Proxmox keeps numbers in these keys
	return n
}

// IsOn reports whether a key is true.
func (v Values) IsOn(key string) bool { return truth(v.Text(key)) == "1" }

// IsDrive reports whether a key holds a disk, a mount point or a CD-ROM drive.
func (v Values) IsDrive(key string) bool {
	r, known := find(v.kind, key)
	return known && r.drive
}
