package report

import (
	"maps"
	"slices"
	"strings"

	"gitops-agent/reconcile/guest"
)

// Value is one native key of a guest: what the manifest wants of it, and what was read.
type Value struct {
	Key     string `json:"key"`
	Desired string `json:"desired,omitempty"` // "" if the manifest does not manage the key; a key with sub-keys has the managed ones
	Absent  bool   `json:"absent,omitempty"`  // the manifest wants the key to be unset
	Live    string `json:"live,omitempty"`    // "" if it is unset
	Next    string `json:"next,omitempty"`    // after the next start, if that differs; "" also if the key is unset then
	Waits   bool   `json:"waits,omitempty"`   // a change takes effect at the next start
	Differs bool   `json:"differs,omitempty"`
	Origin  string `json:"origin,omitempty"` // the manifest line that manages the key: "web.yaml:12:5"
}

// NewValues returns the keys that the manifest of a guest manages, and those that the guest has, sorted. Values of secrets are hidden. Without a manifest
// d is nil. Differs are the keys of the guest's changes.
func NewValues(d *guest.Desired, live guest.Observed, changes []Change) []Value {
	values := make(map[string]*Value)
	at := func(key string) *Value {
		if values[key] == nil {
			values[key] = &Value{Key: key}
		}
		return values[key]
	}
	for key, v := range live.Keys {
		value := at(key)
		value.Live, value.Waits = v.Text, v.Delete || v.Pending != nil
		if value.Waits {
			value.Next, _ = v.Next()
		}
	}
	if d != nil {
		for _, in := range d.Intents {
			value := at(in.Key)
			value.Desired, value.Absent, value.Origin = intentText(in), in.Verb == guest.Absent, in.Origin.String()
		}
		for _, s := range d.Secrets {
			value := at(s.Key)
			value.Desired, value.Origin = Concealed, s.Origin.String()
		}
	}
	for _, c := range changes {
		at(c.Key).Differs = true
	}
	list := make([]Value, 0, len(values))
	for _, key := range slices.Sorted(maps.Keys(values)) {
		v := *values[key]
		if isSecretKey(key) {
			v.Desired, v.Live, v.Next = conceal(v.Desired), conceal(v.Live), conceal(v.Next)
		}
		list = append(list, v)
	}
	return list
}

// intentText returns the value that an intent names, or its sub-keys as "a=1,b=2".
func intentText(in guest.Intent) string {
	if in.Sub == nil {
		return in.Text
	}
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(in.Sub)) {
		parts = append(parts, name+"="+in.Sub[name])
	}
	return strings.Join(parts, ",")
}
