package guest

import (
	"maps"
	"slices"
	"testing"
)

// TestSubKeysAreThoseOfTheMergedValue reads sub-keys one by one, and compares them with the whole value that the manifest's and the live one make together.
func TestSubKeysAreThoseOfTheMergedValue(t *testing.T) {
	t.Parallel()
	compared := 0
	for _, kind := range []Kind{VirtualMachine, Container} {
		for _, r := range rowsOf(kind) {
			if r.syntax == nil {
				continue
			}
			key, texts := sampleKeys(r)[0], append(samplesOf(r), "")
			names := map[string]bool{"unknown": true, "storage": true}
			for _, s := range r.syntax.subs {
				names[s.name] = true
			}
			for i, live := range texts {
				for _, further := range []int{0, 1} {
					for _, in := range mergedIntents(r, key, texts[(i+further)%len(texts)]) {
						for _, ignore := range [][]string{nil, {key + "." + r.syntax.subs[0].name}, {key + ".size", key + ".unknown"}} {
							observed := &Observed{Ref: Ref{Kind: kind}, Keys: map[string]Value{key: {Text: live, Set: live != ""}}}
							values := ValuesAfter(&Desired{Ref: observed.Ref, Intents: []Intent{in}, Ignore: ignore}, observed)
							var room, whole SlotRoom
							slot := values.Slot(key, &room)
							merged := values.slot(r, values.intent(r, key), key, &whole).properties()
							for name := range names {
								compared++
								if got, want := slot.Sub(name), r.syntax.meaning(merged, name); got != want {
									t.Fatalf("%s: %q %v over %q, ignoring %v: got %s=%q, want %q", key, in.Text, in.Sub, live, ignore, name, got, want)
								}
							}
						}
					}
				}
			}
		}
	}
	if compared < 10_000 {
		t.Errorf("compared %d sub-keys, want many", compared)
	}
}

// mergedIntents ask for a sample as a text, by its sub-keys, and by its sub-keys with one of them unset.
func mergedIntents(r *row, key, text string) []Intent {
	sub := map[string]string{}
	for _, p := range r.syntax.parse(nil, text) {
		sub[p.name] = p.text
	}
	list := []Intent{{Key: key, Verb: Want, Text: text}, {Key: key, Verb: Want, Sub: sub}, {Key: key, Verb: Absent}}
	for _, name := range slices.Sorted(maps.Keys(sub)) {
		unset := maps.Clone(sub)
		unset[name] = ""
		list = append(list, Intent{Key: key, Verb: Want, Sub: unset})
	}
	return list
}
