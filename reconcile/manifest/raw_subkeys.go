package manifest

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/manifest/tree"
)

// withRaw adds the row raw to the rows of an object whose rows are sub-keys of one native key. The row raw accepts the sub-keys without a
// field. Native is the key with a dot, "rootfs.", or only the dot for the current slot.
func withRaw(into *textMap, native, example string, rows []field) []field {
	v := rawSubKeys{dictionaryValue{into: into, names: nativeKey, native: true}, rows}
	doc := "Native sub-keys that have no field here, with their native values. An empty text wants a sub-key unset."
	return append(rows, field{"raw", native, doc, withExamples(v, example)})
}

// rawSubKeys is a mapping of native sub-keys of one key to native values.
type rawSubKeys struct {
	dictionaryValue
	fields []field // the fields beside raw, whose sub-keys raw does not accept
}

func (v rawSubKeys) lower(l *lowering, native string) {
	key := cmp.Or(strings.TrimSuffix(native, "."), l.slot)
	for _, sub := range slices.Sorted(maps.Keys(*v.into)) {
		value := (*v.into)[sub]
		if wrong := v.refuse(l.kind, key, sub, value.value); wrong != nil {
			l.problem(value.place, wrong.message, wrong.hint)
			continue
		}
		l.putSub(key, sub, value.place, value.value)
	}
}

// refuse returns why a sub-key cannot be set here, or nil.
func (v rawSubKeys) refuse(kind guest.Kind, key, sub, text string) *rejection {
	free := v.free(kind, key)
	switch name := v.fieldOf(sub); {
	case name != "":
		return &rejection{"sub-key " + sub + " of " + key + " has a field of its own", "set " + name + " beside raw"}
	case !slices.Contains(free, sub):
		hint := cmp.Or(didYouMean(closest(sub, free)), "it has "+strings.Join(free, ", "))
		return &rejection{"got the unknown sub-key " + sub + " of " + key, hint}
	case text == "":
		return nil
	}
	if err := guest.CheckSubKey(kind, key, sub, text); err != nil {
		return &rejection{message: err.Error()}
	}
	return nil
}

// free returns the sub-keys of a key that have no field.
func (v rawSubKeys) free(kind guest.Kind, key string) []string {
	return slices.DeleteFunc(guest.SubKeys(kind, key), func(sub string) bool { return v.fieldOf(sub) != "" })
}

// fieldOf returns the field for a sub-key, or "" if it has none.
func (v rawSubKeys) fieldOf(sub string) string {
	found := ""
	look := func(path string, row field) {
		if _, own, isSub := strings.Cut(row.native, "."); isSub && own == sub {
			found = cmp.Or(found, path)
		}
	}
	for _, row := range v.fields {
		look(row.name, row)
		row.value.walk(row.name, look)
	}
	if sub == "media" && find(v.fields, "iso") != nil {
		return "iso"
	}
	return found
}

func (v rawSubKeys) walk(path string, visit func(path string, row field)) {
	visit(path+".*", field{native: "."}) // always compared, regardless of its name
}

// raise returns the sub-keys that no field expresses. It leaves out values that are not in Proxmox's form, and sub-keys that the release of the guest's
// node does not support any more.
func (v rawSubKeys) raise(r *raising, native string) *tree.Node {
	key := r.keys[cmp.Or(strings.TrimSuffix(native, "."), r.slot)]
	if key == nil || key.field != "" {
		return nil
	}
	out := &tree.Node{Kind: tree.Mapping}
	for _, sub := range v.free(r.kind, key.key) {
		part := key.find(sub)
		if part == nil || part.generated || !anyText.ok(part.text) || guest.CheckSubKey(r.kind, key.key, sub, part.text) != nil ||
			guest.UnsupportedSubKey(r.kind, key.key, sub, r.node) != "" {
			continue
		}
		part.field = r.below(segment(sub)).path
		out.Entries = append(out.Entries, tree.Entry{Name: sub, Value: scalarOf("!!str", part.text)})
	}
	return nilIfEmpty(out)
}
