package plan

import (
	"slices"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/firewall"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/kind"
)

// GuardReach is what guarded firewalls reach among the objects of the datacenter's firewall. No other group or set decides whether a change of an object opens a
// guarded firewall. An object that Objects.Reads does not name is not in it: a cycle does not know it either, so that cycle and lane come to the same verdict.
type GuardReach struct {
	Groups  []string // the security groups that the rules of guarded firewalls name, sorted
	Aliases []string // all aliases of Objects.Reads: groups and sets may name any; nil if there are none

	sets   []string // of Objects.Reads
	rules  []guest.FirewallRule
	wanted []kind.Desired
}

// ReachOfGuards returns what guarded firewalls reach, as their manifests want them and as they are. Live has the guests that were read, by vmid.
func (o Objects) ReachOfGuards(live map[int]guest.Observed) GuardReach {
	reads := o.Reads()
	r := GuardReach{Aliases: reads[kind.FirewallAliases], sets: reads[kind.FirewallSets], wanted: o.Wanted}
	for _, g := range o.Guarded {
		if !g.Has(guest.GuardFirewall) {
			continue
		}
		if g.Firewall != nil {
			r.rules = append(r.rules, g.Firewall.Rules...)
		}
		if seen := live[g.VMID].Firewall; seen != nil {
			r.rules = append(r.rules, seen.Rules...)
		}
	}
	groups, _ := firewall.NamedIn(r.rules)
	r.Groups = among(groups, reads[kind.FirewallGroups])
	return r
}

// Sets returns the sets that guarded firewalls reach, sorted: those that their rules name, and those that the groups of r name as they are or as their manifests want
// them. Read has these groups.
func (r GuardReach) Sets(read cluster.Objects) []string {
	rules := slices.Clip(r.rules)
	for _, id := range r.Groups {
		rules = append(rules, kind.RulesOf(read.ByID[id].Keys[kind.KeyRules])...)
	}
	for _, d := range r.wanted {
		if _, reached := slices.BinarySearch(r.Groups, d.ID); reached && d.Kind == kind.FirewallGroups {
			text, _ := d.Text(kind.KeyRules)
			rules = append(rules, kind.RulesOf(text)...)
		}
	}
	_, sets := firewall.NamedIn(rules)
	return among(sets, r.sets)
}

// among returns those of ids that are in a sorted list.
func among(ids, list []string) []string {
	return slices.DeleteFunc(ids, func(id string) bool {
		_, found := slices.BinarySearch(list, id)
		return !found
	})
}
