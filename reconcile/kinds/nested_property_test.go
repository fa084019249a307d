package kinds_test

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/kind"
	"gitops-agent/reconcile/kinds"
)

// datacenter is what the rules of a guest can name: addresses by alias, entries by set and rules by group.
type datacenter struct {
	aliases map[string]string
	sets    map[string][]string
	groups  map[string][]guest.FirewallRule
}

// matches reports whether an address belongs to what a rule or an entry names.
func (d datacenter) matches(text string, ip netip.Addr) bool {
	name := strings.TrimPrefix(strings.TrimPrefix(text, "+"), "dc/")
	switch {
	case text == "":
		return true
	case strings.HasPrefix(text, "+"):
		for _, entry := range d.sets[name] {
			if d.matches(entry, ip) {
				return true
			}
		}
		return false
	case strings.HasPrefix(text, "dc/"):
		text = d.aliases[name]
	}
	if p, err := netip.ParsePrefix(text); err == nil {
		return p.Contains(ip)
	}
	return text == ip.String()
}

// decides returns what rules decide about a new connection from an address, "" if no rule matches.
func (d datacenter) decides(rules []guest.FirewallRule, ip netip.Addr) string {
	for _, r := range rules {
		if r.Type == "group" {
			if action := d.decides(d.groups[r.Action], ip); action != "" {
				return action
			}
		} else if r.Enabled && d.matches(r.Source, ip) {
			return r.Action
		}
	}
	return ""
}

// object returns an object as it is read.
func (d datacenter) object(name guest.Kind, id string) cluster.Object {
	o := cluster.Object{ID: id, Keys: map[string]string{}}
	switch name { //nolint:exhaustive // the kinds of the datacenter's firewall
	case kind.FirewallAliases:
		o.Keys[kind.KeyCIDR] = d.aliases[id]
	case kind.FirewallSets:
		var entries []guest.FirewallEntry
		for _, e := range d.sets[id] {
			entries = append(entries, guest.FirewallEntry{CIDR: e})
		}
		o.Keys[kind.KeyEntries] = kind.EntriesText(entries)
	default:
		o.Keys[kind.KeyRules] = kind.RulesText(d.groups[id])
	}
	return o
}

var (
	nestedIDs  = []string{"a", "b"}
	literals   = []string{"10.0.0.1", "10.0.0.2", "10.0.0.0/30", "10.0.0.2/31"}
	ofFirewall = []guest.Kind{kind.FirewallAliases, kind.FirewallSets, kind.FirewallGroups}
)

func drawRules(t *rapid.T, label string, groups bool) []guest.FirewallRule {
	sources := append([]string{"", "dc/a", "dc/b", "+dc/a", "+dc/b"}, literals...)
	rules := make([]guest.FirewallRule, rapid.IntRange(0, 3).Draw(t, label))
	for i := range rules {
		rules[i] = guest.FirewallRule{Type: "in", Action: rapid.SampledFrom([]string{"ACCEPT", "DROP"}).Draw(t, "action"), Source: rapid.SampledFrom(sources).Draw(t, "source"), Enabled: true}
		if groups && rapid.Bool().Draw(t, "group") {
			rules[i] = guest.FirewallRule{Type: "group", Action: rapid.SampledFrom(nestedIDs).Draw(t, "name"), Enabled: true}
		}
	}
	return rules
}

func drawDatacenter(t *rapid.T) datacenter {
	d := datacenter{aliases: map[string]string{}, sets: map[string][]string{}, groups: map[string][]guest.FirewallRule{}}
	for _, id := range nestedIDs {
		d.aliases[id] = rapid.SampledFrom(literals).Draw(t, "alias")
		d.sets[id] = rapid.SliceOfNDistinct(rapid.SampledFrom(append([]string{"dc/a", "dc/b"}, literals...)), 0, 3, rapid.ID[string]).Draw(t, "set")
		d.groups[id] = drawRules(t, "rules of a group", false)
	}
	return d
}

// TestNestedChangesAreHeld changes one object of the datacenter's firewall, which rules of a guarded guest name directly, through a group, or through a set in a group. If the
// guest then admits a connection that it denied, the change weakens its guard, also if some objects in between could not be read.
func TestNestedChangesAreHeld(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		before := drawDatacenter(t)
		rules := drawRules(t, "rules", true)
		name, id := rapid.SampledFrom(ofFirewall).Draw(t, "kind"), rapid.SampledFrom(nestedIDs).Draw(t, "id")
		drawn, after := drawDatacenter(t), before
		switch name { //nolint:exhaustive // the kinds of the datacenter's firewall
		case kind.FirewallAliases:
			after.aliases = map[string]string{"a": before.aliases["a"], "b": before.aliases["b"], id: drawn.aliases[id]}
		case kind.FirewallSets:
			after.sets = map[string][]string{"a": before.sets["a"], "b": before.sets["b"], id: drawn.sets[id]}
		default:
			after.groups = map[string][]guest.FirewallRule{"a": before.groups["a"], "b": before.groups["b"], id: drawn.groups[id]}
		}
		opened := ""
		for ip := netip.MustParseAddr("10.0.0.0"); ip != netip.MustParseAddr("10.0.0.5"); ip = ip.Next() {
			if before.decides(rules, ip) != "ACCEPT" && after.decides(rules, ip) == "ACCEPT" {
				opened = ip.String()
			}
		}

		world := kind.World{
			Guests: []kind.Guarded{{
				Ref: guest.Ref{Kind: guest.VirtualMachine, Name: "web-1", VMID: 201}, Guards: []guest.GuardField{guest.GuardFirewall},
				Firewall: &guest.FirewallWanted{Guarded: true, Options: map[string]string{"enable": "1"}, Rules: rules},
			}},
			Observed: cluster.Snapshot{Guests: map[int]guest.Observed{201: {Firewall: &guest.FirewallSeen{Rules: rules}}}},
		}
		objects := map[guest.Kind][]kind.Lasting{}
		for _, of := range ofFirewall {
			for _, other := range nestedIDs {
				if rapid.IntRange(0, 4).Draw(t, fmt.Sprintf("%s %s is known", of, other)) > 0 {
					o := before.object(of, other)
					objects[of] = append(objects[of], kind.Lasting{Now: o, Next: o})
				}
			}
		}
		world.Firewall = kind.NewFirewallObjects(objects)
		k, _ := kinds.Of(name)
		change := kind.Change{Op: cluster.OpObjectSet, ID: id, Got: before.object(name, id), Set: after.object(name, id).Keys}
		if held := len(k.Weakens(change, world)) > 0; opened != "" && !held {
			t.Errorf("%s %s: %v -> %v admits %s, and is not held", name, id, change.Got.Keys, change.Set, opened)
		}
	})
}

// TestNestedChangesThatCloseAreNotHeld changes an alias that a set in a group of a guarded guest names: a smaller network is not held, a larger one is.
func TestNestedChangesThatCloseAreNotHeld(t *testing.T) {
	d := datacenter{
		aliases: map[string]string{"a": "10.0.0.0/30"}, sets: map[string][]string{"a": {"dc/a"}},
		groups: map[string][]guest.FirewallRule{"a": {{Type: "in", Action: "ACCEPT", Source: "+dc/a", Enabled: true}}},
	}
	rules := []guest.FirewallRule{{Type: "group", Action: "a", Enabled: true}}
	world := kind.World{
		Guests: []kind.Guarded{{
			Ref: guest.Ref{Kind: guest.VirtualMachine, Name: "web-1", VMID: 201}, Guards: []guest.GuardField{guest.GuardFirewall},
			Firewall: &guest.FirewallWanted{Guarded: true, Rules: rules},
		}},
		Observed: cluster.Snapshot{Guests: map[int]guest.Observed{201: {Firewall: &guest.FirewallSeen{Rules: rules}}}},
	}
	objects := map[guest.Kind][]kind.Lasting{}
	for _, of := range ofFirewall {
		o := d.object(of, "a")
		objects[of] = []kind.Lasting{{Now: o, Next: o}}
	}
	world.Firewall = kind.NewFirewallObjects(objects)
	for _, test := range []struct {
		of   guest.Kind
		keys map[string]string
		held bool
	}{
		{kind.FirewallAliases, map[string]string{kind.KeyCIDR: "10.0.0.1"}, false},
		{kind.FirewallAliases, map[string]string{kind.KeyCIDR: "10.0.0.0/8"}, true},
		{kind.FirewallSets, map[string]string{kind.KeyEntries: kind.EntriesText([]guest.FirewallEntry{{CIDR: "10.0.0.1"}})}, false},
		{kind.FirewallSets, map[string]string{kind.KeyEntries: kind.EntriesText([]guest.FirewallEntry{{CIDR: "10.9.0.1"}, {CIDR: "dc/a"}})}, true},
	} {
		k, _ := kinds.Of(test.of)
		weakened := k.Weakens(kind.Change{Op: cluster.OpObjectSet, ID: "a", Got: d.object(test.of, "a"), Set: test.keys}, world)
		if got := len(weakened) > 0; got != test.held {
			t.Errorf("%s -> %v: got %v, want it held %t", test.of, test.keys, weakened, test.held)
		}
	}
}
