package firewall_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"gitops-agent/reconcile/firewall"
	"gitops-agent/reconcile/guest"
)

func drawEntries(t *rapid.T, label string, cidrs []string) guest.FirewallSet {
	set := guest.FirewallSet{Name: "s1"}
	for _, cidr := range cidrs {
		if rapid.Bool().Draw(t, label+cidr) {
			set.Entries = append(set.Entries, guest.FirewallEntry{
				CIDR: cidr, NoMatch: rapid.Bool().Draw(t, "nomatch"), Comment: rapid.SampledFrom([]string{"", "note"}).Draw(t, "comment"),
			})
		}
	}
	return set
}

// TestEveryStateOfASetIsSafe holds that between two calls, every address belongs to the set as before the first call or as after the last one. Only a set with an
// alias may have no such order.
func TestEveryStateOfASetIsSafe(t *testing.T) {
	addresses := []string{"10.0.0.0", "10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.4"}
	rapid.Check(t, func(t *rapid.T) {
		cidrs := []string{"10.0.0.0/29", "10.0.0.0/30", "10.0.0.0/31", "10.0.0.1", "10.0.0.2"}
		alias := guest.FirewallAlias{Name: "al1", CIDR: rapid.SampledFrom([]string{"10.0.0.0/28", "10.0.0.2/31", "10.0.0.3"}).Draw(t, "alias")}
		hasAlias := rapid.Bool().Draw(t, "has alias")
		if hasAlias {
			cidrs = append(cidrs, alias.Name)
		}
		live, want := drawEntries(t, "live", cidrs), drawEntries(t, "want", cidrs)
		keepOthers := rapid.Bool().Draw(t, "keep others")
		fw := &guest.FirewallSeen{Aliases: []guest.FirewallAlias{alias}, Sets: []guest.FirewallSet{live}}
		if !firewall.HasSafeOrder(want, live, keepOthers) {
			if !hasAlias {
				t.Fatal("got no safe order of addresses, want one")
			}
			return
		}
		states := []*guest.FirewallSeen{fw}
		for {
			call, more := firewall.NextEntry(want, fw.Sets[0], keepOthers)
			if shown := firewall.EntryChanges(want, fw.Sets[0], keepOthers); more != (len(shown) > 0) {
				t.Fatalf("got the changes %v and the call %+v, want both or none", shown, call)
			}
			if !more {
				break
			}
			if fw = applied(t, fw, call); len(states) > 20 {
				t.Fatalf("it does not end: %+v", call)
			}
			if !firewall.HasSafeOrder(want, fw.Sets[0], keepOthers) {
				t.Fatalf("got no safe order from %+v on", fw.Sets[0])
			}
			states = append(states, fw)
		}
		if reached := fw.Sets[0]; !keepOthers && !sameEntries(reached, want) || slices.ContainsFunc(want.Entries, func(e guest.FirewallEntry) bool { return !slices.Contains(reached.Entries, e) }) {
			t.Fatalf("got %+v, want %+v", reached, want)
		}
		for i, between := range states {
			for _, address := range addresses {
				got := contains(between, between.Sets[0], address)
				if before, after := contains(states[0], live, address), contains(fw, fw.Sets[0], address); got != before && got != after {
					t.Fatalf("state %d of %d has %s: %t, before and after %t\nfirst   %+v\nbetween %+v\nlast    %+v", i, len(states), address, got, before, live, between.Sets[0], fw.Sets[0])
				}
			}
		}
	})
}
