package manifest

import (
	"errors"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"gitops-agent/reconcile/guest"
)

// adoptedCluster is the Cluster beside a document that is checked: it sets nothing.
const adoptedCluster = "apiVersion: " + apiVersion + "\nkind: " + kindCluster + "\nmetadata: {name: adopted}\n"

// check reads the document as the agent would and returns the problems: what does not parse, what would be changed on the live guest, and what
// no API token may set.
func (a *adoption) check(text []byte, raised *raising) (guest.Desired, []pinProblem) {
	set, err := Parse([]File{{Path: "adopted.yaml", Data: text}, {Path: "cluster.yaml", Data: []byte(adoptedCluster)}})
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
		out = append(out, pinProblem{c.Key, "the pinned value would still be changed: " + c.Note})
	}
	if why := checkFirewall(desired.Firewall, a.firewall); why != "" {
		out = append(out, pinProblem{"firewall", why})
	}
	return desired, append(out, unsettable(desired, a.seen.Version)...)
}

// refusal returns what a manifest accepts in place of a value. It does not contain the value.
func refusal(message string) string {
	const longest = 120 // bytes; longer messages list words
	if _, want, found := strings.Cut(message, ", want "); found && len(want) <= longest {
		return "a manifest accepts " + want
	}
	return "a manifest does not accept its value"
}

// unsettable returns what the agent could not set again, with the reasons: sub-keys if the other sub-keys of the key can be set, else whole keys.
func unsettable(d guest.Desired, node guest.Version) []pinProblem {
	var out []pinProblem
	for _, in := range d.Intents {
		if reason := unsettableAlone(d, in, node); reason != "" {
			out = append(out, unsettableParts(d, in, node, reason)...)
		}
	}
	return out
}

// unsettableParts returns the sub-keys of an intent that cannot be set, or the whole key if the other sub-keys are not a valid value.
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

// unsettableAlone returns why a guest cannot be created with this one intent, or "".
func unsettableAlone(d guest.Desired, in guest.Intent, node guest.Version) string {
	alone := guest.Desired{Ref: d.Ref, Source: guest.Source{Blank: true}, Intents: []guest.Intent{in}}
	if d.Kind == guest.Container {
		alone.Source = guest.Source{Template: &guest.Template{Volume: "local:vztmpl/any"}}
		alone.Intents = withPrivilege(alone.Intents, d)
	}
	if left := guest.RootOnlyAtCreation(alone, node); len(left) > 0 {
		return left[0].Note
	}
	_, err := guest.CreateParamsOn(alone, node)
	if err == nil {
		return ""
	}
	return strings.TrimPrefix(err.Error(), "set "+in.Key+": ")
}

// withPrivilege adds the unprivileged key of a container, since it decides what else a token may set.
func withPrivilege(intents []guest.Intent, d guest.Desired) []guest.Intent {
	for _, in := range d.Intents {
		if in.Key == "unprivileged" && intents[0].Key != in.Key {
			return append(intents, in)
		}
	}
	return intents
}

var itemNumber = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\[[0-9]+\]$`) })

// keyOf returns the native key that a field, or a field below it, expresses. It returns the field itself if there is none.
func (r *raising) keyOf(field string) string {
	field = itemNumber().ReplaceAllString(field, "")
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

// paths returns the fields that express some of the key.
func (k *liveKey) paths() []string {
	out := []string{k.field}
	for _, p := range k.parts {
		out = append(out, p.field)
	}
	return out
}
