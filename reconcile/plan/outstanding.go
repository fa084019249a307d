package plan

import (
	"slices"
	"strings"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/image"
	"gitops-agent/reconcile/reason"
)

// Outstanding says what of a guest or object is not as its manifest wants it, and is not written yet. Both lists are sorted. Some keys are no native keys: "exists",
// "state", "adoption" and "firewall".
type Outstanding struct {
	Pending []string // keys that a person wants otherwise
	Drifted []string // keys that were changed in the cluster
}

// KeyExists is the key of a guest or object that does not exist.
const KeyExists = "exists"

// Other keys that no native key has.
const (
	keyState    = "state"
	keyAdoption = "adoption"
	keyFirewall = "firewall"
)

// Outstanding tells what a person wants from what was changed in the cluster; nothing else decides that. Others are the keys that others changed, as package lastseen
// knows them, and the keys of Lost. What is written and waits for a restart is in neither list, and neither is what only root may write. A guest that no manifest names has nothing outstanding:
// its own condition says that it goes.
func (g Guest) Outstanding(others []string) Outstanding {
	var o Outstanding
	if !g.Managed || slices.ContainsFunc(g.Conditions, func(c Condition) bool { return c.Type == NotObserved || c.Type == IdentityConflict }) {
		return o
	}
	note := func(key string, drifted bool) {
		list := &o.Pending
		if drifted {
			list = &o.Drifted
		}
		if !slices.Contains(o.Pending, key) && !slices.Contains(o.Drifted, key) {
			*list = append(*list, key)
		}
	}
	if !g.Present && g.Ref.Kind != image.Kind {
		note(KeyExists, slices.Contains(others, KeyExists))
		return o
	}
	change := func(c guest.Change) {
		if key := keyOfChange(c); !c.RootOnly && !c.Waits {
			note(key, slices.Contains(others, key))
		}
	}
	for _, c := range g.Changes {
		change(c)
	}
	for _, s := range g.Steps {
		switch {
		case s.Former != nil:
			note(string(s.Op), false)
		case s.TakesOwnership:
			note(keyAdoption, false)
		case s.Op.IsRunState():
			note(keyState, slices.Contains(others, keyState))
		case s.Op != cluster.OpReboot:
			for _, c := range s.Changes {
				change(c)
			}
		}
	}
	slices.Sort(o.Pending)
	slices.Sort(o.Drifted)
	return o
}

// keyOfChange returns the key of Outstanding that a change concerns. The firewall of a guest is one key.
func keyOfChange(c guest.Change) string {
	if strings.HasPrefix(c.Key, keyFirewall+".") {
		return keyFirewall
	}
	return c.Key
}

// HasDrifted reports whether a change takes back what was changed in the cluster.
func (o Outstanding) HasDrifted(c guest.Change) bool {
	return slices.Contains(o.Drifted, KeyExists) || slices.Contains(o.Drifted, keyOfChange(c)) && !c.Waits && !c.RootOnly
}

// Conditions returns a condition for each list that is not empty.
func (o Outstanding) Conditions() []Condition {
	var list []Condition
	if len(o.Pending) > 0 {
		c := Condition{Type: Pending, Reason: reason.Pending, Message: "wanted, and not done yet: " + strings.Join(o.Pending, ", ")}
		if slices.Contains(o.Pending, KeyExists) {
			c.Message = "it does not exist yet"
		}
		list = append(list, c)
	}
	if len(o.Drifted) > 0 {
		c := Condition{Type: Drifted, Reason: reason.Differs, Message: "changed in the cluster: " + strings.Join(o.Drifted, ", ")}
		if slices.Contains(o.Drifted, KeyExists) {
			c.Message = "it existed, and is gone"
		}
		list = append(list, c)
	}
	return list
}
