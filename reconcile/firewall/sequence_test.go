package firewall_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"gitops-agent/reconcile/firewall"
	"gitops-agent/reconcile/guest"
)

// TestEveryStateInBetweenIsSafe holds that a firewall admits no packet between two calls that both the first and the last firewall deny, and that without
// a change of names it denies none that both admit. The sequence ends with what is wanted.
func TestEveryStateInBetweenIsSafe(t *testing.T) {
	packets := allPackets()
	rapid.Check(t, func(t *rapid.T) {
		old, want := drawSeen(t), drawWanted(t)
		states := []*guest.FirewallSeen{old}
		for fw := old; ; {
			call, more := firewall.Next(want, fw)
			if shown := firewall.Changes(want, fw); more != (len(shown) > 0) {
				t.Fatalf("got the changes %v and the call %+v, want both or none", shown, call)
			}
			if !more {
				break
			}
			if fw = applied(t, fw, call); len(states) > 200 {
				t.Fatalf("it does not end: %+v\n%v\n%+v", call, fw.Rules, want)
			}
			states = append(states, fw)
		}
		last := states[len(states)-1]
		checkReached(t, want, old, last)
		blocked := slices.ContainsFunc(states, func(fw *guest.FirewallSeen) bool {
			return slices.ContainsFunc(fw.Rules, isBlock)
		})
		inForce := old.Options["enable"] == "1" && last.Options["enable"] == "1"
		for i, fw := range states {
			for _, p := range packets {
				before, between, after := admits(old, p), admits(fw, p), admits(last, p)
				if between && !before && !after {
					t.Fatalf("state %d of %d admits %+v, which the first and the last deny\nfirst   %+v\nbetween %+v\nlast    %+v", i, len(states), p, old, fw, last)
				}
				if !between && before && after && !blocked && inForce {
					t.Fatalf("state %d of %d denies %+v, which the first and the last admit\nfirst   %+v\nbetween %+v\nlast    %+v", i, len(states), p, old, fw, last)
				}
			}
		}
	})
}

func checkReached(t *rapid.T, want *guest.FirewallWanted, old, last *guest.FirewallSeen) {
	for k, v := range want.Options {
		if last.Options[k] != v {
			t.Fatalf("option %s: got %q, want %q", k, last.Options[k], v)
		}
	}
	rules := last.Rules
	if want.KeepOthers {
		rules = slices.DeleteFunc(slices.Clone(rules), func(r guest.FirewallRule) bool { return !slices.Contains(want.Rules, r) })
		rules = subsequence(want.Rules, rules)
	}
	switch {
	case want.Rules == nil && !slices.Equal(last.Rules, slices.DeleteFunc(slices.Clone(old.Rules), isBlock)):
		t.Fatalf("got rules %v, want the unmanaged ones %v", last.Rules, old.Rules)
	case want.Rules != nil && !slices.Equal(rules, want.Rules):
		t.Fatalf("got rules %v, want %v", last.Rules, want.Rules)
	}
	for _, set := range want.Sets {
		i := slices.IndexFunc(last.Sets, func(s guest.FirewallSet) bool { return s.Name == set.Name })
		if i < 0 || !sameEntries(last.Sets[i], set) {
			t.Fatalf("set %s: got %+v, want %+v", set.Name, last.Sets, set)
		}
	}
	if want.Aliases != nil && !want.KeepOthers && !slices.Equal(sortedAliases(last), want.Aliases) {
		t.Fatalf("got aliases %v, want %v", last.Aliases, want.Aliases)
	}
}

func isBlock(r guest.FirewallRule) bool { return r.Comment == firewall.BlockComment }

// subsequence returns want if its rules are among rules in order, else what was found.
func subsequence(want, rules []guest.FirewallRule) []guest.FirewallRule {
	var found []guest.FirewallRule
	for _, r := range rules {
		if len(found) < len(want) && r == want[len(found)] {
			found = append(found, r)
		}
	}
	return found
}

func sortedAliases(fw *guest.FirewallSeen) []guest.FirewallAlias {
	list := slices.Clone(fw.Aliases)
	slices.SortFunc(list, func(a, b guest.FirewallAlias) int { return strings.Compare(a.Name, b.Name) })
	return list
}

func sameEntries(a, b guest.FirewallSet) bool {
	byCIDR := func(s guest.FirewallSet) map[string]guest.FirewallEntry {
		m := map[string]guest.FirewallEntry{}
		for _, e := range s.Entries {
			m[e.CIDR] = e
		}
		return m
	}
	return maps.Equal(byCIDR(a), byCIDR(b))
}

func drawRule(t *rapid.T) guest.FirewallRule {
	return guest.FirewallRule{
		Type:     rapid.SampledFrom([]string{"in", "in", "out"}).Draw(t, "type"),
		Action:   rapid.SampledFrom([]string{"ACCEPT", "ACCEPT", "DROP", "REJECT"}).Draw(t, "action"),
		Source:   rapid.SampledFrom([]string{"", "10.0.0.1", "10.0.0.2/31", "al1", "al2", "+s1", "+s1", "+s2"}).Draw(t, "source"),
		DestPort: rapid.SampledFrom([]string{"", "22"}).Draw(t, "port"),
		Comment:  rapid.SampledFrom([]string{"", "", "note"}).Draw(t, "comment"),
		Enabled:  rapid.IntRange(0, 4).Draw(t, "enabled") > 0,
	}
}

func drawRules(t *rapid.T) []guest.FirewallRule {
	return rapid.SliceOfN(rapid.Custom(drawRule), 0, 6).Draw(t, "rules")
}

func drawAliases(t *rapid.T) []guest.FirewallAlias {
	list := []guest.FirewallAlias{}
	for _, name := range []string{"al1", "al2"} {
		if rapid.Bool().Draw(t, name) {
			list = append(list, guest.FirewallAlias{Name: name, CIDR: rapid.SampledFrom([]string{"10.0.0.0", "10.0.0.1", "10.0.0.2"}).Draw(t, "cidr")})
		}
	}
	return list
}

func drawSets(t *rapid.T, entries []string) []guest.FirewallSet {
	list := []guest.FirewallSet{}
	for _, name := range []string{"s1", "s2"} {
		if !rapid.Bool().Draw(t, name) {
			continue
		}
		set := guest.FirewallSet{Name: name}
		for _, cidr := range entries {
			if rapid.Bool().Draw(t, cidr) {
				set.Entries = append(set.Entries, guest.FirewallEntry{CIDR: cidr, NoMatch: rapid.IntRange(0, 5).Draw(t, "nomatch") == 0})
			}
		}
		list = append(list, set)
	}
	return list
}

func drawOptions(t *rapid.T, values map[string][]string) map[string]string {
	options := map[string]string{}
	for _, k := range slices.Sorted(maps.Keys(values)) {
		if rapid.Bool().Draw(t, k) {
			options[k] = rapid.SampledFrom(values[k]).Draw(t, "value")
		}
	}
	return options
}

func drawSeen(t *rapid.T) *guest.FirewallSeen {
	options := drawOptions(t, map[string][]string{"policy_in": {"ACCEPT", "DROP"}, "policy_out": {"ACCEPT", "REJECT"}, "ipfilter": {"0", "1"}})
	options["enable"] = rapid.SampledFrom([]string{"1", "1", "1", "0"}).Draw(t, "enable")
	fw := &guest.FirewallSeen{Options: options, Rules: drawRules(t), Named: true, Aliases: drawAliases(t), Sets: drawSets(t, []string{"10.0.0.0", "10.0.0.1", "10.0.0.2/31", "al1"})}
	if rapid.IntRange(0, 3).Draw(t, "started") == 0 { // an earlier change was interrupted
		fw.Rules = append(fw.Rules, guest.FirewallRule{Type: "in", Action: "DROP", Comment: firewall.BlockComment, Enabled: rapid.Bool().Draw(t, "blocks")})
	}
	return fw
}

func drawWanted(t *rapid.T) *guest.FirewallWanted {
	w := &guest.FirewallWanted{
		Options: drawOptions(t, map[string][]string{"enable": {"1", "1", "0", ""}, "policy_in": {"ACCEPT", "DROP", ""}, "policy_out": {"ACCEPT", "DROP"}, "ipfilter": {"0", "1", ""}}),
	}
	if rapid.IntRange(0, 4).Draw(t, "manages rules") > 0 {
		w.Rules = []guest.FirewallRule{}
		for _, r := range drawRules(t) {
			if !slices.ContainsFunc(w.Rules, func(o guest.FirewallRule) bool { return o.Effect().Disabled() == r.Effect().Disabled() }) {
				w.Rules = append(w.Rules, r)
			}
		}
		w.KeepOthers = rapid.IntRange(0, 3).Draw(t, "keep others") == 0
	}
	if rapid.Bool().Draw(t, "manages aliases") {
		w.Aliases = drawAliases(t)
	}
	if rapid.Bool().Draw(t, "manages sets") {
		w.Sets = drawSets(t, []string{"10.0.0.0", "10.0.0.1", "10.0.0.2/31"})
	}
	return w
}
