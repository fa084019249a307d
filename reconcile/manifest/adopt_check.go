package manifest

import (
	"errors"
	"maps"
	"regexp"
	"slices"
	"strings"

	"gitops-agent/reconcile/guest"
)

// check reads the document as the agent would and returns what is wrong with it: what does not parse, what would be changed on the live
// guest, and what no API token may set.
func (a *adoption) check(text []byte, raised *raising) (guest.Desired, []pinProblem) {
	cluster := "apiVersion: " + apiVersion + "\nkind: " + kindCluster + "\nmetadata: {name: adopted}\n"
	set, err := Parse([]File{{"adopted.yaml", text}, {"cluster.yaml", []byte(cluster)}})
	var problems *Problems
	if errors.As(err, &problems) {
		var out []pinProblem
		for _, p := range problems.List {
			out = append(out, pinProblem{raised.keyOf(p.Field), refusal(p.Message)})
		}
		return guest.Desired{}, out
	}
	if len(set.Guests) != 1 {
		return guest.Desired{}, []pinProblem{{"", "the document does not read back as one guest"}}
	}
	desired := set.Guests[0].desired
	var out []pinProblem
	for _, c := range guest.Diff(desired, a.seen) {
		out = append(out, pinProblem{c.Key, "pinned as it is, it would be changed: " + c.Note})
	}
	return desired, append(out, unsettable(desired, a.seen.Version)...)
}

// refusal returns what a manifest would have to have in place of a value, without the value.
func refusal(message string) string {
	const longest = 120 // bytes; longer ones list words
	if _, want, found := strings.Cut(message, ", want "); found && len(want) <= longest {
		return "a manifest takes " + want
	}
	return "a manifest does not take what it says"
}

// unsettable returns what the agent could not set if it were lost, each with the reason: the sub-keys that stand in the way where the
// others can be set, else whole keys.
func unsettable(d guest.Desired, node guest.Version) []pinProblem {
	var out []pinProblem
	for _, in := range d.Intents {
		if reason := unsettableAlone(d, in, node); reason != "" {
			out = append(out, unsettableParts(d, in, node, reason)...)
		}
	}
	return out
}

// unsettableParts returns the sub-keys of an intent that stand in its way, or the key where the others make no value of their own.
func unsettableParts(d guest.Desired, in guest.Intent, node guest.Version, reason string) []pinProblem {
	var out []pinProblem
	var others []string
	for _, sub := range slices.Sorted(maps.Keys(in.Sub)) {
		part := guest.Intent{Key: in.Key, Verb: in.Verb, Sub: map[string]string{sub: in.Sub[sub]}}
		if why := unsettableAlone(d, part, node); why != "" {
			out = append(out, pinProblem{in.Key + "." + sub, why})
		} else {
			others = append(others, sub+"="+in.Sub[sub])
		}
	}
	if len(out) == 0 || guest.Check(d.Kind, in.Key, strings.Join(others, ",")) != nil {
		return []pinProblem{{in.Key, reason}}
	}
	return out
}

// unsettableAlone returns why a guest cannot be made with one intent, or "".
func unsettableAlone(d guest.Desired, in guest.Intent, node guest.Version) string {
	alone := guest.Desired{Ref: d.Ref, Source: guest.Source{Blank: true}, Intents: []guest.Intent{in}}
	if d.Kind == guest.Container {
		alone.Source = guest.Source{Template: &guest.Template{Volume: "local:vztmpl/any"}}
		alone.Intents = withPrivilege(alone.Intents, d)
	}
	_, err := guest.CreateParamsOn(alone, node)
	if err == nil {
		return ""
	}
	return strings.TrimPrefix(err.Error(), "set "+in.Key+": ")
}

// withPrivilege adds whether the container is privileged, which decides on what else a token may set.
func withPrivilege(intents []guest.Intent, d guest.Desired) []guest.Intent {
	for _, in := range d.Intents {
		if in.Key == "unprivileged" && intents[0].Key != in.Key {
			return append(intents, in)
		}
	}
	return intents
}

var itemNumber = regexp.MustCompile(`\[[0-9]+\]$`)

// keyOf returns the native key that a field says, or one below it; the field itself where none does.
func (r *raising) keyOf(field string) string {
	field = itemNumber.ReplaceAllString(field, "")
	if key, raw := strings.CutPrefix(field, "raw."); raw {
		return key
	}
	for name, key := range r.keys {
		for _, path := range key.paths() {
			if path == field || strings.HasPrefix(path, field+".") || strings.HasPrefix(field, path+".") {
				return name
			}
		}
	}
	return field
}

// paths returns the fields that say something of the key.
func (k *liveKey) paths() []string {
	out := []string{k.field}
	for _, p := range k.parts {
		out = append(out, p.field)
	}
	return out
}
