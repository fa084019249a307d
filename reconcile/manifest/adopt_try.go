package manifest

import (
	"errors"
	"regexp"
	"strings"

	"gitops-agent/reconcile/guest"
)

// try reads the document as the agent would and returns what is wrong with it: what does not parse, what would be changed on the live
// guest, and what no API token may set.
func (a *adoption) try(text []byte, raised *raising) (guest.Desired, []finding) {
	cluster := "apiVersion: " + apiVersion + "\nkind: " + kindCluster + "\nmetadata: {name: adopted}\n"
	set, err := Parse([]File{{"adopted.yaml", text}, {"cluster.yaml", []byte(cluster)}})
	var problems *Problems
	if errors.As(err, &problems) {
		var out []finding
		for _, p := range problems.List {
			out = append(out, finding{raised.keyOf(p.Field), refusal(p.Message)})
		}
		return guest.Desired{}, out
	}
	if len(set.Guests) != 1 {
		return guest.Desired{}, []finding{{"", "the document does not read back as one guest"}}
	}
	desired := set.Guests[0].desired
	var out []finding
	for _, c := range guest.Diff(desired, a.seen) {
		out = append(out, finding{c.Key, "pinned as it is, it would be changed: " + c.Note})
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

// unsettable returns the keys that the agent could not set if they were lost, each with the reason.
func unsettable(d guest.Desired, node guest.Version) []finding {
	var out []finding
	for _, in := range d.Intents {
		alone := guest.Desired{Ref: d.Ref, Source: guest.Source{Blank: true}, Intents: []guest.Intent{in}}
		if d.Kind == guest.Container {
			alone.Source = guest.Source{Template: &guest.Template{Volume: "local:vztmpl/any"}}
			alone.Intents = withPrivilege(alone.Intents, d)
		}
		if _, err := guest.CreateParamsOn(alone, node); err != nil {
			out = append(out, finding{in.Key, strings.TrimPrefix(err.Error(), "set "+in.Key+": ")})
		}
	}
	return out
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
	out := []string{k.by}
	for _, p := range k.parts {
		out = append(out, p.by)
	}
	return out
}
