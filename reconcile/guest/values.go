package guest

import (
	"slices"
	"strconv"
	"strings"

	"gitops-agent/reconcile/guest/form"
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
	case !found || r.Form == form.Secret:
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
	if !found || r.Form == form.Secret || ignores(v.ignore, key, "") {
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
	return v.isSet(key) && r.Form != form.Secret
}

// Slot is the value of a key with sub-keys, or the zero value of a key without any.
type Slot struct {
	syntax *syntax
	have   properties
	wants  *wantedProperties // over have; nil if the manifest wants nothing
}

// SlotRoom is memory for one Slot at a time, so that a reader of many slots allocates none.
type SlotRoom struct {
	have, wants [8]pair
	wanted      wantedProperties
}

// Slot returns the value of a key, or its default if it is not set. It is valid until the room is used again.
func (v Values) Slot(key string, room *SlotRoom) Slot {
	r, _ := find(v.kind, key)
	if r.syntax == nil {
		return Slot{}
	}
	return v.read(r, v.intent(r, key), key, room)
}

// read returns the value of a key for Sub.
func (v Values) read(r *row, in *Intent, key string, room *SlotRoom) Slot {
	if in == nil || in.Sub == nil || in.Verb == Absent || r.drive || len(v.ignore) > 0 || !r.syntax.keepsNames() {
		return v.slot(r, in, key, room)
	}
	room.wanted = wantedProperties{syntax: r.syntax, sub: in.Sub} // copying them takes longer than the few readings of most slots
	return Slot{r.syntax, r.syntax.parse(room.have[:0], v.liveText(r, key)), &room.wanted}
}

// slot returns the value of a key, also for properties.
func (v Values) slot(r *row, in *Intent, key string, room *SlotRoom) Slot {
	s := Slot{syntax: r.syntax}
	switch {
	case in == nil && v.isSet(key):
		s.have = r.syntax.parse(room.have[:0], v.liveText(r, key))
		return s
	case in == nil || in.removes(r):
		s.have = r.syntax.parse(room.have[:0], r.absentValue)
		return s
	}
	s.have = r.syntax.parse(room.have[:0], v.liveText(r, key))
	room.wanted = newWantedProperties(room.wants[:0], in, r.syntax, v.ignore, Version{})
	s.wants = &room.wanted
	if r.drive {
		s.have = s.wants.onto(s.have)
	}
	return s
}

// properties returns all sub-keys.
func (s Slot) properties() properties {
	if s.wants == nil {
		return s.have
	}
	return s.wants.merge(s.have)
}

// text returns the text of a sub-key, "" if it is not set.
func (s Slot) text(name string) string {
	if s.wants == nil {
		return s.have.text(name)
	}
	return s.wants.mergedText(s.have, name)
}

// Sub returns the canonical text of a sub-key, its default if it is not set, or "". The bare sub-key of a plain value is its text.
func (s Slot) Sub(name string) string {
	if s.syntax == nil {
		return ""
	}
	return s.syntax.sub(name).meaning(s.text(name))
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
	now, errNow := form.ParseSize(have.text("size"))
	wanted, errWanted := form.ParseSize(w.pairs.text("size"))
	if errNow == nil && errWanted == nil && now > wanted {
		w.remove("size")
	}
	return have
}

// Keys returns the keys that are set, sorted.
func (v Values) Keys() []string {
	var keys []string
	add := func(key string) {
		if r, _ := find(v.kind, key); v.has(r, key) {
			keys = append(keys, key)
		}
	}
	for key := range v.live {
		add(key)
	}
	for i := range v.intents {
		if _, isLive := v.live[v.intents[i].Key]; !isLive {
			add(v.intents[i].Key)
		}
	}
	slices.Sort(keys)
	return keys
}

// SlotKey is a key that holds a drive or a network interface.
type SlotKey struct {
	Key     string
	IsDrive bool // a disk, a mount point or a CD-ROM drive

	row    *row
	intent *Intent
}

// Slots appends the keys that hold a drive or a network interface to a slice of the caller, which must be empty, and sorts them.
func (v Values) Slots(keys []SlotKey) []SlotKey {
	add := func(key string, isSet bool) {
		if r, _ := find(v.kind, key); r.drive || r.key == cardKey {
			in := v.intent(r, key)
			if in != nil && !in.removes(r) || in == nil && isSet {
				keys = append(keys, SlotKey{key, r.drive, r, in})
			}
		}
	}
	for key := range v.live {
		if mayBeSlot(key) {
			add(key, v.isSet(key))
		}
	}
	for i := range v.intents {
		if key := v.intents[i].Key; mayBeSlot(key) {
			if _, isLive := v.live[key]; !isLive {
				add(key, false)
			}
		}
	}
	slices.SortFunc(keys, func(a, b SlotKey) int { return strings.Compare(a.Key, b.Key) })
	return keys
}

// In returns the value of a slot. It is valid until the room is used again.
func (v Values) In(slot SlotKey, room *SlotRoom) Slot {
	return v.read(slot.row, slot.intent, slot.Key, room)
}

// mayBeSlot reports whether a key can name a slot, which is cheaper than to find its row.
func mayBeSlot(key string) bool {
	last := key[max(len(key)-1, 0):]
	return last >= "0" && last <= "9" || key == "rootfs"
}

// cardKey is the key of the row of network interfaces.
const cardKey = "net"

// Text returns the native text of a key, its default if it is not set, or "".
func (v Values) Text(key string) string {
	r, _ := find(v.kind, key)
	in := v.intent(r, key)
	switch {
	case in == nil && v.isSet(key) && r.Form != form.Secret:
		return v.liveText(r, key)
	case in == nil || in.removes(r):
		return r.absentValue
	case r.syntax == nil:
		return in.Text
	}
	var room SlotRoom
	return r.syntax.native(v.slot(r, in, key, &room).properties())
}

// Int returns a key as a number, 0 if it is none.
func (v Values) Int(key string) int64 {
	n, _ := strconv.ParseInt(v.Text(key), 10, 64) // Proxmox keeps numbers in these keys
	return n
}

// IsOn reports whether a key is true.
func (v Values) IsOn(key string) bool { return form.Truth(v.Text(key)) == "1" }
