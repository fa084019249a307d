package secret

import (
	"maps"
	"slices"
	"strings"

	"gitops-agent/reconcile/guest"
)

// Baseline is what the manifest of a guest said of the fields that are used at creation only, when the guest was created, or when the agent first knew it:
// fingerprints by key of guest.CreationValue, and the KeyID of the fingerprints by KeyName. The journal has its text.
type Baseline map[string]string

// KeyName is the name of the key of fingerprints in a Baseline, and in the Place of its State.
const KeyName = "secrets.key"

// notKnown is the fingerprint of a secret that could not be read.
const notKnown = "?"

// ParseBaseline returns the baseline with a text; nil for "", a guest without one.
func ParseBaseline(text string) Baseline {
	if text == "" {
		return nil
	}
	b := Baseline{}
	for field := range strings.FieldsSeq(text) {
		key, value, _ := strings.Cut(field, "=")
		b[key] = value
	}
	return b
}

// String returns the text of the baseline.
func (b Baseline) String() string {
	var text strings.Builder
	for i, key := range slices.Sorted(maps.Keys(b)) {
		if i > 0 {
			text.WriteByte(' ')
		}
		text.WriteString(key + "=" + b[key])
	}
	return text.String()
}

// NewBaseline returns the baseline of a guest whose values are used as its manifest has them, as far as uses says. It is nil without a key of fingerprints.
func NewBaseline(d guest.Desired, states map[Place]State, uses func(guest.CreationValue) bool) Baseline {
	id := states[Place{Key: KeyName}].Fingerprint
	if id == "" {
		return nil
	}
	b := Baseline{KeyName: id}
	for _, value := range guest.AtCreation(d) {
		if uses(value) {
			b.take(d.VMID, value.Key, states)
		}
	}
	return b
}

func (b Baseline) take(vmid int, key string, states map[Place]State) {
	b[key] = notKnown
	if now := states[Place{VMID: vmid, Key: key}].Fingerprint; now != "" {
		b[key] = now
	}
}

// Follow returns the baseline after a look at a manifest, and whether it has changed. A value that ignoreFields lists is taken as it is: a person has made the
// guest so. So is the value of a volume that is new, and one that was not known. A guest without a baseline, or with one of another key, gets that of its
// manifest.
func (b Baseline) Follow(d *guest.Desired, states map[Place]State) (Baseline, bool) {
	if id := states[Place{Key: KeyName}].Fingerprint; id == "" {
		return b, false
	} else if b[KeyName] != id {
		return NewBaseline(*d, states, func(guest.CreationValue) bool { return true }), true
	}
	next := maps.Clone(b)
	named := make(map[string]bool)
	for _, value := range guest.AtCreation(*d) {
		named[value.Key] = true
		then, known := b[value.Key]
		if value.Ignored || then == notKnown || !known && value.IsVolume() {
			next.take(d.VMID, value.Key, states)
		}
	}
	for key := range b {
		slot, _, isVolume := strings.Cut(key, ".")
		switch {
		case named[key] || key == KeyName:
		case isVolume && !d.Names(slot), !isVolume && d.Ignores(key):
			delete(next, key)
		}
	}
	return next, !maps.Equal(b, next)
}

// MayFollow reports whether Follow may change the baseline. It is cheap, and needs no fingerprints but the id of their key.
func (b Baseline) MayFollow(d *guest.Desired, id string) bool {
	if len(b) == 0 || b[KeyName] != id || len(d.Ignore) > 0 {
		return true
	}
	values := guest.AtCreation(*d)
	isOpen := func(key string) bool {
		then, known := b[key]
		return then == notKnown || !known && guest.IsOfVolume(key)
	}
	return slices.ContainsFunc(values, func(v guest.CreationValue) bool { return isOpen(v.Key) }) || slices.ContainsFunc(slices.Collect(maps.Keys(b)), guest.IsOfVolume)
}

// Differs returns whether the guest has something else than the manifest says of a value.
func (b Baseline) Differs(d *guest.Desired, value guest.CreationValue, states map[Place]State) bool {
	if id := states[Place{Key: KeyName}].Fingerprint; id == "" || b[KeyName] != id || value.Ignored {
		return false
	}
	now := states[Place{VMID: d.VMID, Key: value.Key}].Fingerprint
	switch then, known := b[value.Key]; {
	case now == "", then == notKnown:
		return false
	case !known: // an adopted guest was created in another way, and a volume is newer than its guest
		return value.Key != guest.SourceKey && !value.IsVolume()
	default:
		return then != now
	}
}

// Removed returns the keys whose values the guest has and its manifest does not mention any more, sorted. How a guest was created, and how its volumes were,
// are not among them: nothing of that stays in the guest.
func (b Baseline) Removed(d *guest.Desired, states map[Place]State) []string {
	if id := states[Place{Key: KeyName}].Fingerprint; id == "" || b[KeyName] != id {
		return nil
	}
	var keys []string
	values := guest.AtCreation(*d)
	for key := range b {
		isNamed := slices.ContainsFunc(values, func(v guest.CreationValue) bool { return v.Key == key })
		if key != KeyName && key != guest.SourceKey && !guest.IsOfVolume(key) && !isNamed && !d.Ignores(key) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}
