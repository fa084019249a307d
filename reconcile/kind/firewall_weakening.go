package kind

import (
	"reflect"
	"slices"
	"strings"

	"gitops-agent/reconcile/edge"
	"gitops-agent/reconcile/firewall"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/object"
)

// FirewallChange is a change of an object of the datacenter's firewall, as the rules of guests see it.
type FirewallChange struct {
	ID            string
	Object        string         // "alias office"
	OnlyIfNamed   bool           // rules that name the object are written after it, so the change weakens nothing if no live rule reaches it
	Before, After firewall.Names // with the object alone
	Old, New      string         // of the object, for people and digests
	Use           FirewallUse    // of the kind
}

// Weakens returns the guests whose guarded firewall may admit more packets, as it is wanted or as it is: a step that takes the name of the object out of it may wait. The groups and sets that
// name the object count as they are and as their manifests want them, since they change at the same time.
func (c FirewallChange) Weakens(world World) []Weakening {
	if reflect.DeepEqual(c.Before, c.After) {
		return nil
	}
	among := world.Firewall.names()
	var found []Weakening
	for _, g := range world.Guests {
		if !g.Has(guest.GuardFirewall) || c.OnlyIfNamed && !c.Use.mayReach(c.ID, g, world, among) {
			continue
		}
		if g.Firewall == nil || c.weakens(g.Firewall, among) || c.weakensSeen(world.Observed.Guests[g.VMID].Firewall, among) {
			found = append(found, Weakening{Guest: g.Ref, Field: guest.GuardFirewall, Old: c.Object + " " + short(c.Old), New: short(c.New)})
		}
	}
	return found
}

// weakens reports whether a firewall may admit more packets, with one of the meanings of the other names. What is not known may name the object.
func (c FirewallChange) weakens(f *guest.FirewallWanted, among []firewall.Names) bool {
	for _, others := range among {
		before, after := others.With(c.Before), others.With(c.After)
		if c.Use.Kind != FirewallGroups {
			before.UnknownGroups, after.UnknownGroups = " before", " after"
		}
		if c.Use.Kind == FirewallAliases {
			before.UnknownSets, after.UnknownSets = " before", " after"
		}
		if len(firewall.WeakerAmong(f, before, after)) > 0 {
			return true
		}
	}
	return false
}

// weakensSeen reports whether a firewall, as it was read, may admit more packets.
func (c FirewallChange) weakensSeen(seen *guest.FirewallSeen, among []firewall.Names) bool {
	return seen != nil && seen.Err == "" && c.weakens(&guest.FirewallWanted{Options: seen.Options, Rules: seen.Rules, Aliases: seen.Aliases, Sets: seen.Sets}, among)
}

// maxText bounds what a message says of an object. The digest of the step covers the calls too.
const maxText = 200

func short(text string) string {
	if len(text) > maxText {
		return strings.ToValidUTF8(text[:maxText], "") + "..."
	}
	return text
}

// guards returns the edges from guests with guarded firewalls that may name an object, or something that names it. A world without guests has none.
func (use FirewallUse) guards(id string, world World) []edge.Edge {
	if len(world.Guests) == 0 {
		return nil
	}
	var list []edge.Edge
	among := world.Firewall.names()
	for _, g := range world.Guests {
		if g.Has(guest.GuardFirewall) && use.mayReach(id, g, world, among) {
			list = append(list, edge.Edge{From: object.Guest(g.VMID), To: edge.Object(string(use.Kind), id), Why: edge.Guards, Field: string(guest.GuardFirewall)})
		}
	}
	return list
}

// mayReach reports whether the live firewall of a guest names an object, or a group or a set that names it as it is or as its manifest says: an approval of a group does
// not cover what the sets contain that it will name. A firewall that was not read may, also of a guest that was not read, and so may one with a group or a set that is
// not known.
func (use FirewallUse) mayReach(id string, g Guarded, world World, among []firewall.Names) bool {
	seen, wasRead := world.Observed.Guests[g.VMID]
	if !wasRead {
		_, exists := world.Observed.Inventory.Row(g.VMID)
		return exists
	}
	if seen.Firewall == nil || seen.Firewall.Err != "" {
		return true
	}
	return slices.ContainsFunc(among, func(names firewall.Names) bool {
		all, unknownGroups, unknownSets := firewall.Reached(seen.Firewall, names)
		return use.Names(all, id) != "" || unknownGroups && use.Kind != FirewallGroups || unknownSets && use.Kind == FirewallAliases
	})
}
