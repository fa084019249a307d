package guest

import "strings"

// fieldsOutsideConfig are the fields of ChangedFields that are no native keys and that change a guest of the cluster, with whether a change may interrupt
// the guest.
var fieldsOutsideConfig = map[string]bool{"spec.node": true, "spec.template": true, "spec.ha": true, "spec.pool": false, "spec.firewall": false}

// MayInterrupt reports whether a guest that changes from one desired state to another may be restarted, disrupted or destroyed by it. What a change does
// depends on the guest as it is, so it counts if there is a guest that it would interrupt. With live, every change of the guest in the cluster counts.
func MayInterrupt(from, to Desired, live bool) bool {
	if from.WantedState() != to.WantedState() && to.WantedState() != Ignored && to.WantedState() != "" {
		return true
	}
	for _, field := range ChangedFields(from, to) {
		interrupts, outside := fieldsOutsideConfig[field]
		switch {
		case outside && (interrupts || live):
			return true
		case outside || field == "spec" || strings.HasPrefix(field, "spec.") || strings.HasPrefix(field, "metadata."):
		case live || KeyMayInterrupt(to.Kind, field):
			return true
		}
	}
	return false
}

// KeyMayInterrupt reports whether there is a guest that a change of a native key, or of one of its sub-keys, would interrupt. An unknown key can.
func KeyMayInterrupt(kind Kind, key string) bool {
	key, _, _ = strings.Cut(key, ".")
	r, known := find(kind, key)
	return !known || r.effect != atOnce || r.cost != nil
}
