package kind

import (
	"gitops-agent/reconcile/firewall"
	"gitops-agent/reconcile/guest"
)

// FirewallChange is a change of an object of the datacenter's firewall, as the rules of guests see it.
type FirewallChange struct {
	Object        string                         // "alias office"
	Adds          bool                           // the object does not exist yet
	Before, After firewall.Names                 // with the object alone
	Old, New      string                         // of the object, for people and digests
	Names         func(*guest.FirewallSeen) bool // whether a firewall as it was read names the object
}

// Weakens returns the guests whose guarded firewall may admit more packets. A rule that names an object which does not exist yet is written after the object, so
// adding it weakens only firewalls that have such a rule all the same, or that were not read.
func (c FirewallChange) Weakens(around Around) []Weakening {
	var found []Weakening
	for _, g := range around.Guests {
		if !g.Has(guest.GuardFirewall) || c.Adds && !c.isNamedBy(g, around) {
			continue
		}
		if g.Firewall == nil || len(firewall.WeakerAmong(g.Firewall, c.Before, c.After)) > 0 {
			found = append(found, Weakening{Guest: g.Ref, Field: guest.GuardFirewall, Old: c.Object + " " + c.Old, New: c.New})
		}
	}
	return found
}

// isNamedBy reports whether the live firewall of a guest may name the object.
func (c FirewallChange) isNamedBy(g Guarded, around Around) bool {
	seen, exists := around.Observed.Guests[g.VMID]
	return exists && (seen.Firewall == nil || seen.Firewall.Err != "" || c.Names(seen.Firewall))
}
