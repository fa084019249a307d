package kind

import (
	"strings"

	"gitops-agent/reconcile/firewall"
	"gitops-agent/reconcile/guest"
)

// FirewallChange is a change of an object of the datacenter's firewall, as the rules of guests see it.
type FirewallChange struct {
	Object        string                           // "alias office"
	OnlyIfNamed   bool                             // rules that name the object are written after it, so the change weakens nothing if no live rule names it
	Before, After firewall.Names                   // with the object alone
	Old, New      string                           // of the object, for people and digests
	User          func(*guest.FirewallSeen) string // what in a firewall as it was read names the object
}

// Weakens returns the guests whose guarded firewall may admit more packets.
func (c FirewallChange) Weakens(around Around) []Weakening {
	var found []Weakening
	for _, g := range around.Guests {
		if !g.Has(guest.GuardFirewall) || c.OnlyIfNamed && !c.isNamedBy(g, around) {
			continue
		}
		if g.Firewall == nil || len(firewall.WeakerAmong(g.Firewall, c.Before, c.After)) > 0 {
			found = append(found, Weakening{Guest: g.Ref, Field: guest.GuardFirewall, Old: c.Object + " " + short(c.Old), New: short(c.New)})
		}
	}
	return found
}

// maxText bounds what a message says of an object. The digest of the step covers the calls too.
const maxText = 200

func short(text string) string {
	if len(text) > maxText {
		return strings.ToValidUTF8(text[:maxText], "") + "..."
	}
	return text
}

// isNamedBy reports whether the live firewall of a guest may name the object.
func (c FirewallChange) isNamedBy(g Guarded, around Around) bool { return mayName(c.User, g, around) }

// Concerns returns the guests with guarded firewalls that may name an object.
func (use FirewallUse) Concerns(id string, around Around) []guest.Ref {
	var refs []guest.Ref
	user := func(seen *guest.FirewallSeen) string { return use(seen, id) }
	for _, g := range around.Guests {
		if g.Has(guest.GuardFirewall) && mayName(user, g, around) {
			refs = append(refs, g.Ref)
		}
	}
	return refs
}

// mayName reports whether the live firewall of a guest names an object. One that was not read may.
func mayName(user func(*guest.FirewallSeen) string, g Guarded, around Around) bool {
	seen, exists := around.Observed.Guests[g.VMID]
	return exists && (seen.Firewall == nil || seen.Firewall.Err != "" || user(seen.Firewall) != "")
}
