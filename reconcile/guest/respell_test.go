package guest

import (
	"cmp"
	"encoding/base64"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"gitops-agent/reconcile/guest/form"
)

// speller draws other spellings of the same meaning, as people and releases of Proxmox write them. It shares no parser with
// the package: it takes texts apart by their separators alone.
type speller struct{ *rapid.T }

func (s speller) coin() bool { return rapid.Bool().Draw(s.T, "coin") }

func (s speller) one(texts ...string) string { return rapid.SampledFrom(texts).Draw(s.T, "spelling") }

func (s speller) shuffled(words []string) []string {
	return rapid.Permutation(words).Draw(s.T, "order")
}

// anyCase changes the case of some letters.
func (s speller) anyCase(text string) string {
	return s.one(text, strings.ToUpper(text), strings.ToLower(text))
}

// plain respells a plain value; inside a property string there are no commas.
func (s speller) plain(known *scalar, text string, inside bool) string {
	switch known.Form {
	case form.Bool:
		if !inside {
			return text
		}
		return map[string]string{"1": s.one("1", "on", "yes", "true", "True"), "0": s.one("0", "off", "no", "false")}[text]
	case form.Number:
		if strings.Contains(text, ".") {
			return text + s.one("", "0", "00")
		}
		return text + s.one("", ".0")
	case form.Notes:
		return strings.ReplaceAll(text, "\r\n", "\n") + s.one("", "\n", "\n\n", "  ", "\r\n")
	case form.Tags:
		return s.words(s.anyCase(text), ";", ",", " ", ";;", ", ")
	case form.Set, form.Ranges, form.PCI:
		if known.Form == form.PCI {
			text = s.anyCase(text)
		}
		return s.words(text, cmp.Or(known.Separator, ";"))
	case form.Hotplug:
		return s.words(text, ",")
	case form.List:
		return strings.Join(strings.FieldsFunc(text, isWordEnd), s.one(" ", ";"))
	case form.MAC, form.UUID, form.Generated:
		return s.anyCase(text)
	case form.Hex:
		return "0x" + s.anyCase(text[len("0x"):])
	case form.USB:
		return s.one(s.anyCase(strings.ReplaceAll(text, "0x", "")), strings.ToLower(text))
	case form.Address, form.Network:
		if strings.Contains(text, ":") {
			return s.one(text, strings.ToUpper(text), strings.ToLower(text))
		}
		return text
	case form.Keys:
		return s.one(text, text+"%0A", "%0A"+text, strings.ReplaceAll(text, "%2F", "%2f"), "%23%20ops%0A"+text)
	case form.Environ:
		return strings.Join(s.shuffled(strings.Split(text, "\x00")), "\x00")
	case form.Opaque, form.Int, form.Weight, form.Enum, form.Name, form.Encoded, form.Machine, form.Size, form.ID, form.Port, form.Volume, form.Secret:
	}
	return text
}

func isWordEnd(r rune) bool { return strings.ContainsRune(",; \t\n", r) }

// words respells a set: in another order, some twice, between other separators.
func (s speller) words(text string, separators ...string) string {
	words := strings.FieldsFunc(text, isWordEnd)
	if len(words) == 0 {
		return text
	}
	words = append(s.shuffled(words), words[:rapid.IntRange(0, 1).Draw(s.T, "twice")]...)
	return strings.Join(words, s.one(separators...))
}

// value respells the value of a row.
func (s speller) value(r *row, text string) string {
	if r.syntax == nil {
		return s.plain(&r.scalar, text, false)
	}
	subs := map[string]string{}
	for part := range strings.SplitSeq(text, ",") {
		name, value, named := strings.Cut(part, "=")
		switch {
		case !named:
			name, value = r.syntax.bare, part
		case r.syntax.style == nicStyle && slices.Contains(cardModels, name):
			subs["model"] = name
			name = "macaddr"
		}
		subs[name] = value
	}
	s.addDefaults(r.syntax, subs)
	return s.join(r.syntax, subs)
}

// addDefaults spells out some of the defaults that a value leaves out.
func (s speller) addDefaults(x *syntax, subs map[string]string) {
	for i := range x.subs {
		known := &x.subs[i]
		_, there := subs[known.name]
		if !there && known.absentValue != "" && known.unsupportedBy(Version{}) == "" && known.name != "base64" && s.coin() {
			subs[known.name] = known.absentValue
		}
	}
	if x.style == smbiosStyle && subs["base64"] != "1" && s.coin() {
		for name, text := range subs {
			if isEncoded(name) {
				subs[name] = base64.StdEncoding.EncodeToString([]byte(text))
			}
		}
		subs["base64"] = "1"
	}
}

// join writes sub-keys in any order, with or without the name of the one that needs none, under any of their names.
func (s speller) join(x *syntax, subs map[string]string) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(subs)) {
		text := subs[name]
		if subs["base64"] == "" {
			text = s.plain(&x.sub(name).scalar, text, true)
		}
		switch {
		case name == "macaddr" && x.style == nicStyle && s.coin():
			name, subs["model"] = subs["model"], ""
			parts = slices.DeleteFunc(parts, func(part string) bool { return strings.HasSuffix("model="+name, part) })
		case name == "model" && x.style == nicStyle && subs["model"] == "":
			continue
		}
		if name == x.bare && !strings.Contains(text, "=") && s.coin() {
			parts = append(parts, text)
			continue
		}
		parts = append(parts, s.anyName(x, name)+"="+text)
	}
	return strings.Join(s.shuffled(parts), ",")
}

// anyName returns one of the names of a sub-key.
func (s speller) anyName(x *syntax, name string) string {
	names := []string{name}
	for alias, full := range x.alias {
		if full == name {
			names = append(names, alias)
		}
	}
	slices.Sort(names)
	return s.one(names...)
}

type sample struct {
	kind      Kind
	key, text string
}

func allSamples() []sample {
	var samples []sample
	eachSample(func(kind Kind, key, text string) { samples = append(samples, sample{kind, key, text}) })
	return samples
}

// TestSpellingMakesNoDifference: the order of sub-keys, separators, the case of tags and addresses, spelled-out defaults,
// other names, and white space at the end are not drift, for any key.
func TestSpellingMakesNoDifference(t *testing.T) {
	samples := allSamples()
	rapid.Check(t, func(t *rapid.T) {
		for range 20 {
			checkSpelling(t, rapid.SampledFrom(samples).Draw(t, "sample"))
		}
	})
}

func FuzzSpellingMakesNoDifference(f *testing.F) {
	samples := allSamples()
	f.Fuzz(rapid.MakeFuzz(func(t *rapid.T) { checkSpelling(t, rapid.SampledFrom(samples).Draw(t, "sample")) }))
}

func checkSpelling(t *rapid.T, drawn sample) {
	r, _ := find(drawn.kind, drawn.key)
	respelled := speller{t}.value(r, drawn.text)
	one, _ := Canonical(drawn.kind, drawn.key, drawn.text)
	if other, _ := Canonical(drawn.kind, drawn.key, respelled); one != other {
		t.Errorf("canonical of %s %s: got %q of %q, and %q of %q, want the same", drawn.kind, drawn.key, one, drawn.text, other, respelled)
	}
	checkEqual(t, drawn.kind, drawn.key, drawn.text, respelled)
	checkEqual(t, drawn.kind, drawn.key, respelled, drawn.text)
}
