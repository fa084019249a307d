package firewall

import (
	"fmt"
	"slices"
	"strings"

	"gitops-agent/reconcile/guest"
)

// AliasUser returns what in a firewall names an alias, "" if nothing does: a rule, also one without effect, or an entry of a set. The name counts in every
// scope, because Proxmox looks it up in both.
func AliasUser(seen *guest.FirewallSeen, name string) string {
	isAlias := func(text string) bool { return !isSetName(text) && strings.EqualFold(bareName(text), name) }
	if user := ruleUser(seen, func(r guest.FirewallRule) bool { return isAlias(r.Source) || isAlias(r.Dest) }); user != "" {
		return user
	}
	for _, set := range seen.Sets {
		if slices.ContainsFunc(set.Entries, func(e guest.FirewallEntry) bool { return isAlias(e.CIDR) }) {
			return "the set " + set.Name
		}
	}
	return ""
}

// SetUser returns what in a firewall names a set, like AliasUser.
func SetUser(seen *guest.FirewallSeen, name string) string {
	isSet := func(text string) bool { return isSetName(text) && strings.EqualFold(bareName(text), name) }
	return ruleUser(seen, func(r guest.FirewallRule) bool { return isSet(r.Source) || isSet(r.Dest) })
}

// GroupUser returns what in a firewall names a security group, like AliasUser.
func GroupUser(seen *guest.FirewallSeen, name string) string {
	return ruleUser(seen, func(r guest.FirewallRule) bool { return r.Type == "group" && strings.EqualFold(r.Action, name) })
}

func ruleUser(seen *guest.FirewallSeen, names func(guest.FirewallRule) bool) string {
	if i := slices.IndexFunc(seen.Rules, names); i >= 0 {
		return fmt.Sprintf("rule %d", i)
	}
	return ""
}

// Reached returns a firewall together with what it reaches: the rules of the groups that its rules name, and the sets that these and its own rules name. The latter are
// read from names, and the result says whether groups or sets are not known.
func Reached(seen *guest.FirewallSeen, among Names) (all *guest.FirewallSeen, unknownGroups, unknownSets bool) {
	all = &guest.FirewallSeen{Rules: slices.Clone(seen.Rules), Sets: slices.Clone(seen.Sets)}
	for _, r := range seen.Rules {
		if r.Type != ruleGroup {
			continue
		}
		rules, known := among.Groups[strings.ToLower(r.Action)]
		unknownGroups = unknownGroups || !known
		all.Rules = append(all.Rules, rules...)
	}
	for _, r := range all.Rules {
		for _, text := range []string{r.Source, r.Dest} {
			if !isSetName(text) {
				continue
			}
			name := strings.ToLower(bareName(text))
			set, known := among.Sets[name]
			_, isOwn := findSet(seen.Sets, name)
			unknownSets = unknownSets || !known && !isOwn
			if set != nil {
				all.Sets = append(all.Sets, *set)
			}
		}
	}
	return all, unknownGroups, unknownSets
}

func isSetName(text string) bool { return strings.HasPrefix(text, "+") }

// NeededAliases returns the aliases that a firewall needs and does not contain, in lower case and sorted.
func NeededAliases(want *guest.FirewallWanted) []string {
	texts := ruleAddresses(want)
	for _, set := range want.Sets {
		for _, e := range set.Entries {
			texts = append(texts, e.CIDR)
		}
	}
	return needed(texts, func(text, name string) bool {
		_, isOwn := findAlias(want.Aliases, name)
		return !isSetName(text) && !strings.ContainsAny(name, ".:/,") && (!isOwn || strings.HasPrefix(text, "dc/"))
	})
}

// NeededSets returns the sets that a firewall needs and does not contain, in lower case and sorted.
func NeededSets(want *guest.FirewallWanted) []string {
	return needed(ruleAddresses(want), func(text, name string) bool {
		_, isOwn := findSet(want.Sets, strings.ToLower(name))
		return isSetName(text) && (!isOwn || strings.HasPrefix(text, "+dc/"))
	})
}

// NeededGroups returns the security groups that a firewall needs, in lower case and sorted.
func NeededGroups(want *guest.FirewallWanted) []string {
	var names []string
	for _, r := range want.Rules {
		if r.Type == "group" {
			names = append(names, r.Action)
		}
	}
	return needed(names, func(string, string) bool { return true })
}

// NamedIn returns the security groups and the sets that rules name, also those that a guest has itself, in lower case, sorted and each once.
func NamedIn(rules []guest.FirewallRule) (groups, sets []string) {
	f := &guest.FirewallWanted{Rules: rules}
	return NeededGroups(f), NeededSets(f)
}

// ruleAddresses returns the sources and destinations of the rules of a firewall.
func ruleAddresses(want *guest.FirewallWanted) []string {
	var texts []string
	for _, r := range want.Rules {
		texts = append(texts, r.Source, r.Dest)
	}
	return texts
}

// needed returns the names in texts for which is holds, in lower case, sorted and each once.
func needed(texts []string, is func(text, name string) bool) []string {
	var names []string
	for _, text := range texts {
		if name := bareName(text); name != "" && is(text, name) {
			names = append(names, strings.ToLower(name))
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
