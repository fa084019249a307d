package alias

import (
	"testing"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/kind"
)

// TestWeakens changes an alias that guarded and other firewalls name.
func TestWeakens(t *testing.T) {
	rule := guest.FirewallRule{Type: "in", Action: "ACCEPT", Source: "dc/office", Enabled: true}
	fw := &guest.FirewallWanted{Guarded: true, Rules: []guest.FirewallRule{rule}}
	guards := []guest.GuardField{guest.GuardFirewall}
	guarded := kind.Guarded{Ref: guest.Ref{Kind: guest.VirtualMachine, Name: "web-1", VMID: 201}, Guards: guards, Firewall: fw}
	unread := kind.Guarded{Ref: guarded.Ref, Guards: guards}
	noRules := kind.Guarded{Ref: guarded.Ref, Guards: guards, Firewall: &guest.FirewallWanted{Guarded: true}} // a step that takes the rule away may wait
	other := kind.Guarded{Ref: guarded.Ref, Guards: []guest.GuardField{guest.GuardBackup}, Firewall: fw}
	office := cluster.Object{ID: "office", Keys: map[string]string{"cidr": "10.0.0.0/24"}}
	set := func(cidr string) kind.Change {
		return kind.Change{Op: cluster.OpObjectSet, ID: "office", Got: office, Set: map[string]string{"cidr": cidr}}
	}
	add := kind.Change{Op: cluster.OpObjectAdd, ID: "office", Set: map[string]string{"cidr": "10.0.0.0/24"}}
	seen := func(f *guest.FirewallSeen) cluster.Snapshot {
		return cluster.Snapshot{Guests: map[int]guest.Observed{201: {Firewall: f}}}
	}
	tests := map[string]struct {
		change kind.Change
		guest  kind.Guarded
		seen   cluster.Snapshot
		want   string
	}{
		"wider":          {set("10.0.0.0/8"), guarded, cluster.Snapshot{}, "VirtualMachine/web-1 (201): firewall: alias office 10.0.0.0/24 -> 10.0.0.0/8"},
		"narrower":       {set("10.0.0.1"), guarded, cluster.Snapshot{}, ""},
		"not_guarded":    {set("10.0.0.0/8"), other, cluster.Snapshot{}, ""},
		"unreadable":     {set("10.0.0.1"), unread, cluster.Snapshot{}, "VirtualMachine/web-1 (201): firewall: alias office 10.0.0.0/24 -> 10.0.0.1"},
		"comment":        {kind.Change{Op: cluster.OpObjectSet, ID: "office", Got: office, Set: map[string]string{"comment": "x"}}, guarded, cluster.Snapshot{}, ""},
		"removed":        {kind.Change{Op: cluster.OpObjectRemove, ID: "office", Got: office}, guarded, cluster.Snapshot{}, "VirtualMachine/web-1 (201): firewall: alias office 10.0.0.0/24 -> missing"},
		"added_first":    {add, guarded, cluster.Snapshot{}, ""},
		"added_no_rule":  {add, guarded, seen(&guest.FirewallSeen{}), ""},
		"added_for_rule": {add, guarded, seen(&guest.FirewallSeen{Rules: fw.Rules}), "VirtualMachine/web-1 (201): firewall: alias office missing -> 10.0.0.0/24"},
		"wider_for_rule": {set("10.0.0.0/8"), noRules, seen(&guest.FirewallSeen{Rules: fw.Rules}), "VirtualMachine/web-1 (201): firewall: alias office 10.0.0.0/24 -> 10.0.0.0/8"},
		"wider_no_rule":  {set("10.0.0.0/8"), noRules, seen(&guest.FirewallSeen{}), ""},
		"added_unread":   {add, guarded, seen(nil), "VirtualMachine/web-1 (201): firewall: alias office missing -> 10.0.0.0/24"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := ""
			for _, w := range weakens(test.change, kind.World{Guests: []kind.Guarded{test.guest}, Observed: test.seen}) {
				got += w.String()
			}
			if got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
