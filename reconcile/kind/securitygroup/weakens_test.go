package securitygroup

import (
	"testing"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/kind"
)

// TestWeakens changes a group that a guarded firewall uses.
func TestWeakens(t *testing.T) {
	fw := &guest.FirewallWanted{Guarded: true, Rules: []guest.FirewallRule{{Type: "group", Action: "web", Enabled: true}}}
	world := kind.World{
		Guests:   []kind.Guarded{{Ref: guest.Ref{Kind: guest.VirtualMachine, Name: "web-1", VMID: 201}, Guards: []guest.GuardField{guest.GuardFirewall}, Firewall: fw}},
		Observed: cluster.Snapshot{Guests: map[int]guest.Observed{201: {Firewall: &guest.FirewallSeen{Rules: fw.Rules}}}},
	}
	drop := guest.FirewallRule{Type: "in", Action: "DROP", Source: "10.0.0.0/8", Enabled: true}
	ssh := guest.FirewallRule{Type: "in", Action: "ACCEPT", Protocol: "tcp", DestPort: "22", Enabled: true}
	now := live(drop, ssh)
	set := func(rules ...guest.FirewallRule) kind.Change {
		return kind.Change{Op: cluster.OpObjectSet, ID: "web", Got: now, Set: map[string]string{keyRules: kind.RulesText(rules)}}
	}
	http := ssh
	http.DestPort = "80"
	const before = "VirtualMachine/web-1 (201): firewall: group web {in DROP from 10.0.0.0/8; in ACCEPT tcp to port 22} -> "
	tests := map[string]struct {
		change kind.Change
		want   string
	}{
		"accepts_more":   {set(drop, ssh, http), before + "{in DROP from 10.0.0.0/8; in ACCEPT tcp to port 22; in ACCEPT tcp to port 80}"},
		"without_effect": {set(http.Disabled(), drop, ssh), ""},
		"accepts_less":   {set(drop), ""},
		"drops_less":     {set(ssh), before + "{in ACCEPT tcp to port 22}"},
		"drops_later":    {set(ssh, drop), before + "{in ACCEPT tcp to port 22; in DROP from 10.0.0.0/8}"},
		"comment":        {kind.Change{Op: cluster.OpObjectSet, ID: "web", Got: now, Set: map[string]string{keyComment: "x"}}, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := ""
			for _, w := range weakens(test.change, world) {
				got += w.String()
			}
			if got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
			unused := world
			unused.Observed = cluster.Snapshot{Guests: map[int]guest.Observed{201: {Firewall: &guest.FirewallSeen{}}}}
			if w := weakens(test.change, unused); len(w) > 0 {
				t.Errorf("got %v although no live rule uses the group, want nothing held", w)
			}
		})
	}
}
