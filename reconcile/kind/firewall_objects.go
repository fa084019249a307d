package kind

import (
	"encoding/json"
	"slices"
	"strings"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/firewall"
	"gitops-agent/reconcile/guest"
)

// The kinds of the objects of the datacenter's firewall, and the keys of what rules see of them. Objects of one kind name objects of the others: a group names sets
// and aliases, and a set names aliases.
const (
	FirewallAliases guest.Kind = "Alias"
	FirewallSets    guest.Kind = "IPSet"
	FirewallGroups  guest.Kind = "SecurityGroup"

	KeyCIDR    = "cidr"
	KeyEntries = "entries"
	KeyRules   = "rules"
)

// IsOfFirewall reports whether the objects of a kind belong to the datacenter's firewall.
func IsOfFirewall(name guest.Kind) bool {
	return name == FirewallAliases || name == FirewallSets || name == FirewallGroups
}

// RulesText returns rules as the text of a key: a JSON list of their native keys.
func RulesText(rules []guest.FirewallRule) string {
	list := make([]map[string]string, len(rules))
	for i, r := range rules {
		list[i] = r.Params()
	}
	text, _ := json.Marshal(list) // marshalling texts cannot fail
	return string(text)
}

// RulesOf returns the rules of a text. A text that no RulesText has made has none.
func RulesOf(text string) []guest.FirewallRule {
	var list []map[string]string
	if json.Unmarshal([]byte(text), &list) != nil {
		return nil
	}
	rules := make([]guest.FirewallRule, len(list))
	for i, params := range list {
		rules[i] = guest.RuleOf(params)
	}
	return rules
}

// EntriesText returns entries as the text of a key: a JSON list, sorted by address.
func EntriesText(entries []guest.FirewallEntry) string {
	entries = slices.Clone(entries)
	slices.SortFunc(entries, func(a, b guest.FirewallEntry) int { return strings.Compare(a.CIDR, b.CIDR) })
	text, _ := json.Marshal(entries) // marshalling texts cannot fail
	return string(text)
}

// EntriesOf returns the entries of a text. A text that no EntriesText has made has none.
func EntriesOf(text string) []guest.FirewallEntry {
	var entries []guest.FirewallEntry
	if json.Unmarshal([]byte(text), &entries) != nil {
		return nil
	}
	return entries
}

// firewallNames returns what the objects of the datacenter's firewall mean in rules: as they are, or as their manifests want them.
func firewallNames(objects map[guest.Kind][]Lasting, next bool) firewall.Names {
	names := firewall.Names{
		Aliases: make(map[string]*guest.FirewallAlias), Sets: make(map[string]*guest.FirewallSet), Groups: make(map[string][]guest.FirewallRule),
	}
	for name, list := range objects {
		for _, l := range list {
			o := l.Now
			if next {
				o = l.Next
			}
			putName(&names, name, strings.ToLower(l.Next.ID), o)
		}
	}
	return names
}

// FirewallObjects are the objects of the datacenter's firewall that are known. What they mean in rules is derived once, for the first change that needs it. It is not
// safe for concurrent use.
type FirewallObjects struct {
	objects map[guest.Kind][]Lasting
	meaning []firewall.Names
}

// NewFirewallObjects returns the objects by kind. Now of an object that does not exist has no id.
func NewFirewallObjects(objects map[guest.Kind][]Lasting) *FirewallObjects {
	return &FirewallObjects{objects: objects}
}

// names returns what the objects mean in rules, as they are and as their manifests want them.
func (f *FirewallObjects) names() []firewall.Names {
	if f == nil {
		f = &FirewallObjects{}
	}
	if f.meaning == nil {
		f.meaning = []firewall.Names{firewallNames(f.objects, false), firewallNames(f.objects, true)}
	}
	return f.meaning
}

// putName adds an object to names. One without an id does not exist.
func putName(names *firewall.Names, of guest.Kind, id string, o cluster.Object) {
	exists := o.ID != ""
	switch of { //nolint:exhaustive // the kinds of the datacenter's firewall
	case FirewallAliases:
		if names.Aliases[id] = nil; exists {
			names.Aliases[id] = &guest.FirewallAlias{Name: id, CIDR: o.Keys[KeyCIDR]}
		}
	case FirewallSets:
		if names.Sets[id] = nil; exists {
			names.Sets[id] = &guest.FirewallSet{Name: id, Entries: EntriesOf(o.Keys[KeyEntries])}
		}
	case FirewallGroups:
		names.Groups[id] = RulesOf(o.Keys[KeyRules])
	}
}
