package affinity

import (
	"fmt"
	"maps"
	"slices"

	"gitops-agent/reconcile/kind"
	"gitops-agent/reconcile/reason"
)

// native returns a rule as the cluster's release has it, with guests that are in no other rule about nodes: Proxmox refuses a second one for a guest, and a guest has
// one group on Proxmox VE 8.
func native(d kind.Desired, found kind.Found) (kind.Desired, *kind.Unresolved) {
	guests, noun := keyResources, "rule"
	if usesGroups(found) {
		var why *kind.Unresolved
		if d, why = asGroup(d); why != nil {
			return d, why
		}
		guests, noun = keyMembers, "group"
	}
	if of, _ := d.Text(keyType); of == typeResource || isDisabled(d, found) {
		return d, nil
	}
	text, _ := d.Text(guests)
	want, own := split(text), split(found.Live.Keys[guests])
	id, other := inAnother(d.ID, guests, want, own, found)
	if other == "" {
		return d, nil
	}
	// Two rules that exchange guests would wait for each other. So the rule first gives away what it no longer wants. A rule without guests is no rule.
	keep := slices.DeleteFunc(slices.Clone(own), func(id string) bool { return !slices.Contains(want, id) })
	if len(keep) < len(own) && (len(keep) > 0 || guests == keyMembers) {
		for _, in := range d.Keys {
			if in.Key == guests {
				in.Text = listText(keep)
				d.Put(in)
			}
		}
		return d, nil
	}
	return d, &kind.Unresolved{
		Cause: kind.Impossible, Message: fmt.Sprintf("%s is in the %s %s, and Proxmox accepts a guest in one rule about nodes only", id, noun, other),
		Hint: reason.LeaveRule.With(noun),
	}
}

// isDisabled reports whether the rule has no effect, as its manifest wants it or as a person has left it.
func isDisabled(d kind.Desired, found kind.Found) bool {
	if off, managed := d.Text(keyDisable); managed {
		return off != ""
	}
	return found.Live.Keys[keyDisable] != ""
}

// inAnother returns the first wanted guest that the rule does not have and another enabled rule about nodes has, and this rule. Guests is the key with the guests.
func inAnother(rule, guests string, want, own []string, found kind.Found) (id, other string) {
	for _, id := range want {
		if slices.Contains(own, id) {
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(found.Others)) {
			keys := found.Others[name].Keys
			if name != rule && keys[keyType] != typeResource && keys[keyDisable] == "" && slices.Contains(split(keys[guests]), id) {
				return id, name
			}
		}
	}
	return "", ""
}
