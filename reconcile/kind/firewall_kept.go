package kind

import (
	"maps"
	"slices"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
)

// KeptByObjects returns what names an object, "" if nothing does, among what was read: guests as in KeptBy, then security groups and sets of the datacenter. Without it, a
// person is asked to approve a removal that UsedBy refuses.
func (use FirewallUse) KeptByObjects(id string, got cluster.Snapshot) string {
	if why := use.KeptBy(id, got); why != "" {
		return why
	}
	groups, sets := got.Objects[FirewallGroups].ByID, got.Objects[FirewallSets].ByID
	for _, name := range slices.Sorted(maps.Keys(groups)) {
		if user := use(&guest.FirewallSeen{Rules: RulesOf(groups[name].Keys[KeyRules])}, id); user != "" {
			return user + " of the security group " + name + " names it"
		}
	}
	for _, name := range slices.Sorted(maps.Keys(sets)) {
		if user := use(&guest.FirewallSeen{Sets: []guest.FirewallSet{{Name: name, Entries: EntriesOf(sets[name].Keys[KeyEntries])}}}, id); user != "" {
			return user + " of the datacenter names it"
		}
	}
	return ""
}
