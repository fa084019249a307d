package manifest

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/manifest/tree"
)

// raise returns the firewall of the live guest. It is not a key of the configuration: it is raised as a whole, or left out.
func (f *firewall) raise(r *raising, _ func() []tree.Entry) []tree.Entry {
	if r.firewall == nil {
		return nil
	}
	e := &entries{}
	for _, o := range []struct{ name, native string }{
		{"enable", "enable"},
		{"policyIn", "policy_in"},
		{"policyOut", "policy_out"},
		{"logIn", "log_level_in"},
		{"logOut", "log_level_out"},
		{"dhcp", "dhcp"},
		{"ndp", "ndp"},
		{"radv", "radv"},
		{"ipFilter", "ipfilter"},
		{"macFilter", "macfilter"},
	} {
		switch value, set := r.firewall.Options[o.native]; {
		case !set:
		case value == "1" || value == "0":
			e.flag(o.name, value == "1")
		default:
			e.text(o.name, value)
		}
	}
	if rules := r.firewall.Rules; len(rules) > 0 {
		list := &tree.Node{Kind: tree.List}
		for _, rule := range rules {
			list.Items = append(list.Items, raisedRule(rule))
		}
		e.add("rules", list)
	}
	if aliases := r.firewall.Aliases; len(aliases) > 0 {
		names := &entries{}
		for _, a := range aliases {
			names.add(strings.ToLower(a.Name), (&entries{}).text("cidr", a.CIDR).text("comment", a.Comment).node())
		}
		e.add("aliases", names.node())
	}
	if sets := r.firewall.Sets; len(sets) > 0 {
		names := &entries{}
		for _, s := range sets {
			names.add(s.Name, raisedSet(s))
		}
		e.add("ipSets", names.node())
	}
	return e.list
}

// entries collects the fields of a mapping.
type entries struct{ list []tree.Entry }

func (e *entries) add(name string, n *tree.Node) *entries {
	e.list = append(e.list, tree.Entry{Name: name, Value: n})
	return e
}

// text adds a field unless it is empty.
func (e *entries) text(name, value string) *entries {
	if value == "" {
		return e
	}
	return e.add(name, scalarOf("!!str", value))
}

func (e *entries) flag(name string, value bool) {
	e.add(name, scalarOf("!!bool", strconv.FormatBool(value)))
}

func (e *entries) node() *tree.Node { return &tree.Node{Kind: tree.Mapping, Entries: e.list} }

func raisedRule(r guest.FirewallRule) *tree.Node {
	e := &entries{}
	if r.Type == "group" {
		e.text("group", r.Action)
	} else {
		e.text("type", r.Type).text("action", r.Action)
	}
	e.text("macro", r.Macro).text("protocol", r.Protocol).text("port", r.DestPort).text("sourcePort", r.SourcePort).text("source", r.Source).text("dest", r.Dest).
		text("icmpType", r.ICMPType).text("interface", r.Interface).text("log", r.Log).text("comment", r.Comment)
	if !r.Enabled {
		e.flag("enable", false)
	}
	return e.node()
}

func raisedSet(s guest.FirewallSet) *tree.Node {
	list := &tree.Node{Kind: tree.List}
	for _, entry := range s.Entries {
		e := (&entries{}).text("cidr", entry.CIDR)
		if entry.NoMatch {
			e.flag("noMatch", true)
		}
		list.Items = append(list.Items, e.text("comment", entry.Comment).node())
	}
	return (&entries{}).text("comment", s.Comment).add("entries", list).node()
}

// adoptFirewall takes the firewall of the live guest, or notes why not.
func (a *adoption) adoptFirewall() {
	switch fw := a.seen.Firewall; {
	case fw == nil || fw.Err == "" && fw.Empty():
	case fw.Err != "":
		a.left["firewall"] = "it could not be read"
	default:
		a.firewall = fw
	}
}

// checkFirewall returns why the manifest would change the firewall, or "".
func checkFirewall(want *guest.FirewallWanted, seen *guest.FirewallSeen) string {
	sameSets := func(a, b guest.FirewallSet) bool {
		return a.Name == b.Name && a.Comment == b.Comment && slices.Equal(a.Entries, b.Entries)
	}
	sameAliases := func(a, b guest.FirewallAlias) bool {
		return strings.EqualFold(a.Name, b.Name) && a.CIDR == b.CIDR && a.Comment == b.Comment
	}
	switch {
	case seen == nil:
	case want == nil, !maps.Equal(want.Options, seen.Options), !slices.Equal(want.Rules, seen.Rules), !slices.EqualFunc(want.Sets, seen.Sets, sameSets),
		!slices.EqualFunc(want.Aliases, sortedAliases(seen), sameAliases):
		return "no manifest describes all of it"
	}
	return ""
}

func sortedAliases(seen *guest.FirewallSeen) []guest.FirewallAlias {
	return slices.SortedFunc(slices.Values(seen.Aliases), func(a, b guest.FirewallAlias) int {
		return strings.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name))
	})
}
