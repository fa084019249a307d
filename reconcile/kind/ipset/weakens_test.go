package ipset

import (
	"testing"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/kind"
)

// TestWeakens changes a set that a guarded firewall admits, and one that it drops.
func TestWeakens(t *testing.T) {
	const one, two = `[{"CIDR":"10.0.0.1"}]`, `[{"CIDR":"10.0.0.1"},{"CIDR":"10.0.0.2"}]`
	tests := map[string]struct {
		action, from, to string
		op               cluster.Op
		want             string
	}{
		"admits_more": {"ACCEPT", one, two, cluster.OpObjectSet, "VirtualMachine/web-1 (201): firewall: set admins {10.0.0.1} -> {10.0.0.1, 10.0.0.2}"},
		"admits_less": {"ACCEPT", two, one, cluster.OpObjectSet, ""},
		"drops_more":  {"DROP", one, two, cluster.OpObjectSet, ""},
		"drops_less":  {"DROP", two, one, cluster.OpObjectSet, "VirtualMachine/web-1 (201): firewall: set admins {10.0.0.1, 10.0.0.2} -> {10.0.0.1}"},
		"removed":     {"ACCEPT", one, one, cluster.OpObjectRemove, ""},
		"drops_none":  {"DROP", one, one, cluster.OpObjectRemove, "VirtualMachine/web-1 (201): firewall: set admins {10.0.0.1} -> {}"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			fw := &guest.FirewallWanted{Guarded: true, Rules: []guest.FirewallRule{
				{Type: "in", Action: test.action, Source: "+dc/admins", Enabled: true}, {Type: "in", Action: "ACCEPT", Protocol: "tcp", Enabled: test.action == "DROP"},
			}}
			world := kind.World{
				Guests:   []kind.Guarded{{Ref: guest.Ref{Kind: guest.VirtualMachine, Name: "web-1", VMID: 201}, Guards: []guest.GuardField{guest.GuardFirewall}, Firewall: fw}},
				Observed: cluster.Snapshot{Guests: map[int]guest.Observed{201: {Firewall: &guest.FirewallSeen{Rules: fw.Rules}}}},
			}
			change := kind.Change{Op: test.op, ID: "admins", Got: cluster.Object{ID: "admins", Keys: map[string]string{keyEntries: test.from}}}
			if test.op == cluster.OpObjectSet {
				change.Set = map[string]string{keyEntries: test.to}
			}
			got := ""
			for _, w := range weakens(change, world) {
				got += w.String()
			}
			if got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
