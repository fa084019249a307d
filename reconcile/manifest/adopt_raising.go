package manifest

import (
	"maps"
	"slices"
	"strings"

	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/guest/form"
	"gitops-agent/reconcile/manifest/tree"
)

// raising is the inverse of lowering: it turns native keys into the fields that express them. It uses the same rows.
type raising struct {
	kind guest.Kind
	node guest.Version       // release of the guest's node
	keys map[string]*liveKey // by native key; keys that are missing here are not expressed by fields
	slot string              // native key to which sub-keys belong at the moment
	path string              // of the current field

	firewall *guest.FirewallSeen // nil if it is not expressed
}

// raiser is an object that raises some fields by hand: the inverse of a lowerer. The function rows returns the entries of its rows.
type raiser interface {
	raise(r *raising, rows func() []tree.Entry) []tree.Entry
}

// raisable is a value with an inverse of lower.
type raisable interface {
	raise(r *raising, native string) *tree.Node
}

// below returns the raising for a field of the current object.
func (r *raising) below(name string) *raising {
	next := *r
	next.path = name
	if r.path != "" {
		next.path = r.path + "." + name
	}
	return &next
}

// at returns the raising for the device in a slot.
func (r *raising) at(key string) *raising {
	next := *r
	next.slot = key
	return &next
}

// raiseObject returns the fields of an object that the live guest has, or nil if there are none.
func raiseObject(r *raising, o object) *tree.Node {
	rows := func() []tree.Entry { return r.rows(o.fields()) }
	out := &tree.Node{Kind: tree.Mapping}
	if more, ok := o.(raiser); ok {
		out.Entries = more.raise(r, rows)
	} else {
		out.Entries = rows()
	}
	return nilIfEmpty(out)
}

func (r *raising) rows(rows []field) []tree.Entry {
	var out []tree.Entry
	for _, row := range rows {
		if n := r.below(row.name).value(row.value, row.native); n != nil {
			out = append(out, tree.Entry{Name: row.name, Value: n})
		}
	}
	return out
}

// value raises one value. It returns nil if the value cannot be raised.
func (r *raising) value(v value, native string) *tree.Node {
	if known, ok := v.(raisable); ok {
		return known.raise(r, native)
	}
	return nil
}

func nilIfEmpty(n *tree.Node) *tree.Node {
	if len(n.Entries) == 0 {
		return nil
	}
	return n
}

// nativeValue is the live text for a field.
type nativeValue struct {
	key  *liveKey
	sub  string
	text string
	part *livePart // nil for the whole key
}

// nativeValue returns the value of a native key, a sub-key, or a sub-key of the current slot, if no field expresses it yet.
func (r *raising) nativeValue(native string) (nativeValue, bool) {
	name, sub, isSub := strings.Cut(native, ".")
	if name == "" {
		name = r.slot
	}
	key := r.keys[name]
	switch {
	case native == "" || key == nil || key.field != "":
		return nativeValue{}, false
	case !isSub:
		return nativeValue{key: key, text: key.text}, !key.inAnyField()
	case sub == "storage":
		text, part := key.storage()
		return nativeValue{key, sub, text, part}, part != nil
	default:
		part := key.find(sub)
		if part == nil {
			return nativeValue{}, false
		}
		return nativeValue{key, sub, part.text, part}, true
	}
}

// means reports whether a text that a field prints has the meaning of the native value. A size is a minimum, so whole MiB are accepted for a volume
// that is slightly larger.
func (f nativeValue) means(printed, text string) bool {
	switch f.sub {
	case "storage":
		return printed == text
	case "size":
		want, errWant := form.ParseSize(printed)
		have, errHave := form.ParseSize(text)
		return errWant == nil && errHave == nil && have-want >= 0 && have-want < mib
	default:
		return f.key.means(f.sub, printed, text)
	}
}

// texts returns the native value as Proxmox prints it and in canonical form.
func (f nativeValue) texts() []string {
	if f.sub != "" {
		return []string{f.text}
	}
	canonical, _ := guest.Canonical(f.key.kind, f.key.key, f.text)
	return []string{f.text, canonical}
}

// markAs records the field that expresses the native value.
func (f nativeValue) markAs(path string) {
	if f.part != nil {
		f.part.field = path
	} else {
		f.key.field = path
	}
}

func (v scalarValue[T]) raise(r *raising, native string) *tree.Node {
	f, found := r.nativeValue(native)
	if !found {
		return nil
	}
	for _, text := range f.texts() {
		if n := spelling(v.codec, text, f.means); n != nil {
			f.markAs(r.path)
			return n
		}
	}
	return nil
}

func (v listValue) raise(r *raising, native string) *tree.Node {
	f, found := r.nativeValue(native)
	if !found {
		return nil
	}
	for _, text := range f.texts() {
		words := strings.FieldsFunc(text, func(c rune) bool { return strings.ContainsRune(" ,;\t\n", c) })
		acceptable := !slices.ContainsFunc(words, func(word string) bool { return !v.rule.ok(word) })
		if len(words) > 0 && acceptable && len(distinct(words)) == len(words) && f.means(strings.Join(words, v.join), text) {
			f.markAs(r.path)
			return listOf(words)
		}
	}
	return nil
}

func distinct(words []string) []string { return slices.Compact(slices.Sorted(slices.Values(words))) }

// raise raises the group. For a device that a guest has only once, native is its key.
func (g groupValue) raise(r *raising, native string) *tree.Node {
	if native != "" {
		r = r.at(native)
	}
	return raiseObject(r, g.into)
}

func (v byHandValue) raise(r *raising, native string) *tree.Node { return r.value(v.value, native) }

func (s examplesValue) raise(r *raising, native string) *tree.Node { return r.value(s.value, native) }

func (s slotsValue[T, P]) raise(r *raising, native string) *tree.Node {
	out := &tree.Node{Kind: tree.Mapping}
	for _, key := range slices.SortedFunc(maps.Keys(r.keys), compareSlots) {
		slot, fits := s.slotOf(key, native)
		if !fits {
			continue
		}
		var device T
		if n := raiseObject(r.at(key).below(slot), P(&device)); n != nil {
			out.Entries = append(out.Entries, tree.Entry{Name: slot, Value: n})
		}
	}
	return nilIfEmpty(out)
}

// slotOf returns the slot for a native key.
func (s slotsValue[T, P]) slotOf(key, native string) (string, bool) {
	if native == "" {
		return key, s.names.has(key)
	}
	number, found := strings.CutPrefix(key, native)
	slot := s.names[0].prefix + number
	return slot, found && s.names.has(slot)
}

// compareSlots sorts net2 before net10.
func compareSlots(a, b string) int {
	stem := func(key string) string { return strings.TrimRight(key, "0123456789") }
	if stem(a) != stem(b) || len(a) == len(b) {
		return strings.Compare(a, b)
	}
	return len(a) - len(b)
}
