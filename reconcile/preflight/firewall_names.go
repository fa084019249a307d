package preflight

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/kind"
	"gitops-agent/reconcile/kinds"
	"gitops-agent/reconcile/manifest"
)

// Macros is the list of the macros of firewall rules. It stands beside the kinds of objects of the datacenter's firewall, to which rules refer too.
const Macros guest.Kind = "macro"

// FirewallNames are the names to which rules of firewalls can refer.
type FirewallNames struct {
	Lists map[guest.Kind][]string    // of the datacenter: Macros, and the ids of objects by kind; a list that is missing was not read
	Own   map[int]guest.FirewallSeen // aliases and sets of guests that exist, by vmid
}

// firewallReference is the name of a macro or an object in a rule or a set.
type firewallReference struct {
	list  guest.Kind
	name  string
	guest *guest.Desired // whose firewall it is, nil for an object
	cause Cause
}

// firewallReferences returns the names in firewalls of guests and in objects that no manifest describes. Proxmox refuses a rule or an entry with a name that does not exist.
func firewallReferences(guests []guest.Desired, around ClusterContext) []firewallReference {
	var list []firewallReference
	add := func(of *guest.Desired, part *guest.FirewallWanted, cause Cause) {
		for _, need := range kinds.FirewallNeeds(part) {
			if !around.describes(need) {
				list = append(list, firewallReference{need.Kind, need.ID, of, cause})
			}
		}
		for _, r := range part.Rules {
			if r.Macro != "" {
				list = append(list, firewallReference{Macros, r.Macro, of, cause})
			}
		}
	}
	for i := range guests {
		d := &guests[i]
		if d.Firewall == nil {
			continue
		}
		add(d, &guest.FirewallWanted{Sets: d.Firewall.Sets, Aliases: d.Firewall.Aliases}, Cause{d.Ref, "firewall", d.Firewall.Origin})
		for j, r := range d.Firewall.Rules {
			part := &guest.FirewallWanted{Rules: []guest.FirewallRule{r}, Aliases: d.Firewall.Aliases}
			for _, set := range d.Firewall.Sets { // without entries, which were added above
				part.Sets = append(part.Sets, guest.FirewallSet{Name: set.Name})
			}
			add(d, part, Cause{d.Ref, fmt.Sprintf("firewall.rules[%d]", j), d.Firewall.RuleOrigins[j]})
		}
	}
	for _, d := range around.Changing {
		if d.Observe {
			continue
		}
		rules, _ := d.Text(kind.KeyRules)
		for j, r := range kind.RulesOf(rules) {
			add(nil, &guest.FirewallWanted{Rules: []guest.FirewallRule{r}}, Cause{d.Ref(), fmt.Sprintf("%s[%d]", kind.KeyRules, j), d.Items[j]})
		}
		if entries, _ := d.Text(kind.KeyEntries); d.Kind == kind.FirewallSets {
			add(nil, &guest.FirewallWanted{Sets: []guest.FirewallSet{{Name: d.ID, Entries: kind.EntriesOf(entries)}}}, Cause{d.Ref(), kind.KeyEntries, d.Origin})
		}
	}
	return list
}

// describes reports whether the agent makes an object, so that what names it waits. The agent does not make an object that it only observes.
func (c ClusterContext) describes(need kind.Need) bool {
	return slices.ContainsFunc(c.Objects, func(d kind.Desired) bool { return d.Kind == need.Kind && d.ID == need.ID && !d.Observe })
}

// FirewallLists returns the lists of the datacenter to which firewalls refer, and the vmids of the guests whose own aliases and sets may be meant.
func FirewallLists(guests []guest.Desired, around ClusterContext) (lists []guest.Kind, own []int) {
	named := make(map[guest.Kind]bool)
	vmids := make(map[int]bool)
	for _, r := range firewallReferences(guests, around) {
		named[r.list] = true
		if r.guest == nil || r.list != kind.FirewallAliases && r.list != kind.FirewallSets {
			continue
		}
		if _, exists := around.Inventory.Row(r.guest.VMID); exists {
			vmids[r.guest.VMID] = true
		}
	}
	return slices.Sorted(maps.Keys(named)), slices.Sorted(maps.Keys(vmids))
}

// unresolvedOfFirewalls returns the names in firewalls that neither the cluster, nor a guest itself, nor a manifest has.
func unresolvedOfFirewalls(guests []guest.Desired, around ClusterContext, note func(Unresolved, Cause)) {
	for _, r := range firewallReferences(guests, around) {
		names, isRead := around.Firewall.Lists[r.list]
		is := func(name string) bool { return strings.EqualFold(name, r.name) }
		if !isRead || !r.ownIsKnown(around) || slices.ContainsFunc(names, is) || slices.ContainsFunc(r.own(around), is) {
			continue
		}
		u := Unresolved{What: string(r.list), Name: r.name, Problem: "does not exist, and Proxmox refuses the rule or entry that names it", Hint: manifest.Suggestion(r.name, names)}
		if k, known := kinds.Of(r.list); known {
			u.What = k.Noun
			if u.Hint == "" {
				u.Hint = "add a manifest of the kind " + string(r.list)
			}
		}
		if r.list == kind.FirewallGroups {
			u.Problem = "does not exist: Proxmox accepts the rule that names it, which has no effect"
		}
		note(u, r.cause)
	}
}

// ownIsKnown reports whether the guest has no aliases and sets of its own that were not read.
func (r firewallReference) ownIsKnown(around ClusterContext) bool {
	if r.guest == nil || r.list == Macros || r.list == kind.FirewallGroups {
		return true
	}
	_, exists := around.Inventory.Row(r.guest.VMID)
	_, isRead := around.Firewall.Own[r.guest.VMID]
	return isRead || !exists
}

// own returns the aliases or sets that the guest itself has, and keeps.
func (r firewallReference) own(around ClusterContext) []string {
	if r.guest == nil {
		return nil
	}
	var names []string
	want, seen := r.guest.Firewall, around.Firewall.Own[r.guest.VMID]
	switch {
	case r.list == kind.FirewallAliases && (want.Aliases == nil || want.KeepOthers):
		for _, a := range seen.Aliases {
			names = append(names, a.Name)
		}
	case r.list == kind.FirewallSets && (want.Sets == nil || want.KeepOthers):
		for _, s := range seen.Sets {
			names = append(names, s.Name)
		}
	}
	return names
}
