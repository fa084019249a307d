package guest

import (
	"slices"
	"strings"

	"gitops-agent/reconcile/guest/form"
)

// wantedProperties is what an intent wants of a property string.
type wantedProperties struct {
	key    string
	syntax *syntax
	pairs  properties        // an empty text wants the sub-key unset
	sub    map[string]string // instead of pairs, for mergedText
	exact  bool              // sub-keys that are not named are wanted unset, except those that Proxmox owns
	ignore []string          // see Desired.Ignore
	on     Version           // release of the guest's node
}

// newWantedProperties reads an intent, without ignored sub-keys. It appends to pairs, which must be empty. An intent without sub-keys and text
// only wants the device to exist: what the manifest does not mention is never removed.
func newWantedProperties(pairs properties, in *Intent, s *syntax, ignore []string, on Version) wantedProperties {
	w := wantedProperties{key: in.Key, syntax: s, exact: in.Sub == nil && !isBlank(in.Text), ignore: ignore, on: on}
	if w.exact {
		pairs = s.parse(pairs, in.Text)
	}
	for name, text := range in.Sub {
		pairs = append(pairs, pair{s.resolve(name), text})
	}
	if s.style == smbiosStyle {
		pairs = decoded(pairs)
	}
	if len(ignore) > 0 {
		pairs = slices.DeleteFunc(pairs, func(p pair) bool { return w.ignores(p.name) })
	}
	w.pairs = pairs
	return w
}

func (w *wantedProperties) ignores(name string) bool {
	return len(w.ignore) > 0 && ignores(w.ignore, w.key, name)
}

// remove removes the named pseudo sub-key and returns its text.
func (w *wantedProperties) remove(name string) string {
	i := w.pairs.find(name)
	if i < 0 {
		return ""
	}
	text := w.pairs[i].text
	w.pairs = slices.Delete(w.pairs, i, i+1)
	return text
}

// heldBy reports whether have is as wanted.
func (w *wantedProperties) heldBy(have properties) bool {
	s := w.syntax
	if s.off && form.Truth(w.pairs.text(s.bare)) == "0" {
		return s.meaning(have, s.bare) == "0"
	}
	for i := range w.pairs {
		if !w.pairHeldBy(&w.pairs[i], have) {
			return false
		}
	}
	return !w.exact || w.hasNoOthers(have)
}

func (w *wantedProperties) pairHeldBy(want *pair, have properties) bool {
	known := w.syntax.sub(want.name)
	text := have.text(want.name)
	if text == "" {
		text = known.absentValue
	}
	switch {
	case known.once:
		return true
	case want.text == "":
		return text == "" || known.Same(text, known.absentValue)
	default:
		return text != "" && known.Satisfied(want.text, text)
	}
}

// hasNoOthers reports whether have sets no sub-key that exact properties leave out.
func (w *wantedProperties) hasNoOthers(have properties) bool {
	for _, sub := range have {
		known := w.syntax.sub(sub.name)
		if known.owned || w.pairs.find(sub.name) >= 0 || known.Same(sub.text, known.absentValue) || w.ignores(sub.name) {
			continue
		}
		if known.unsupportedBy(w.on) == "" {
			return false
		}
	}
	return true
}

// merge returns base with the wanted sub-keys set or unset. It keeps what Proxmox owns, and everything else unless the properties are exact. A
// wanted default that base leaves out is not added.
func (w *wantedProperties) merge(base properties) properties {
	var merged properties
	for _, sub := range base {
		known, i := w.syntax.sub(sub.name), w.pairs.find(sub.name)
		switch {
		case i >= 0 && w.pairs[i].text != "":
			merged = append(merged, pair{sub.name, known.Native(w.pairs[i].text)})
		case i < 0 && (!w.exact || known.owned || w.ignores(sub.name)):
			merged = append(merged, sub)
		}
	}
	added := w.added(base)
	return append(merged, added...)
}

// added returns the wanted sub-keys that base does not have, in the order of the syntax, then by name.
func (w *wantedProperties) added(base properties) properties {
	var added properties
	for i := range w.pairs {
		want := &w.pairs[i]
		if base.find(want.name) < 0 && w.adds(want) {
			added = append(added, pair{want.name, w.syntax.sub(want.name).Native(want.text)})
		}
	}
	slices.SortStableFunc(added, func(a, b pair) int { return strings.Compare(a.name, b.name) })
	return added
}

// adds reports whether a wanted sub-key is added to a value that does not have it: a default is not.
func (w *wantedProperties) adds(want *pair) bool {
	known := w.syntax.sub(want.name)
	isDefault := known.absentValue != "" && known.Same(want.text, known.absentValue) && want.name != w.syntax.bare
	return want.text != "" && !isDefault
}

// mergedText returns the text of the named sub-key of merge(base), without the others; "" if it is not set.
func (w *wantedProperties) mergedText(base properties, name string) string {
	known, i := w.syntax.sub(name), base.find(name)
	text, wanted := w.sub[name]
	if w.sub == nil {
		if j := w.pairs.find(name); j >= 0 {
			text, wanted = w.pairs[j].text, true
		}
	}
	switch {
	case wanted && text != "" && (i >= 0 || w.adds(&pair{name, text})):
		return known.Native(text)
	case !wanted && i >= 0 && (!w.exact || known.owned || w.ignores(name)):
		return base[i].text
	}
	return ""
}
