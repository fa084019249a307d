package encode

import (
	"strings"
	"testing"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
)

func TestFirewallCallsThatAreRefused(t *testing.T) {
	rule := func(verb cluster.FirewallVerb, params map[string]string) cluster.Call {
		return cluster.Call{
			Op: cluster.OpFirewall, Kind: guest.VirtualMachine, Node: "pve1", VMID: 201, Params: params,
			Firewall: cluster.FirewallCall{Verb: verb, Object: cluster.FirewallRule},
		}
	}
	tests := map[string]struct {
		call cluster.Call
		want string
	}{
		"line break":      {rule(cluster.FirewallSet, map[string]string{"comment": "x\nIN ACCEPT"}), "line break"},
		"new in effect":   {rule(cluster.FirewallAdd, map[string]string{"type": "in", "action": "ACCEPT", "enable": "1"}), "without effect"},
		"move and change": {rule(cluster.FirewallMove, map[string]string{"comment": "x"}), "changes nothing else"},
		"other parameter": {rule(cluster.FirewallSet, map[string]string{"moveto": "3"}), "moveto is not allowed"},
		"force":           {rule(cluster.FirewallDelete, map[string]string{"force": "1"}), "force is not allowed"},
		"no object":       {cluster.Call{Op: cluster.OpFirewall, Kind: guest.VirtualMachine, Node: "pve1", VMID: 201}, "no object"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if _, _, err := Call(test.call); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want an error with %q", err, test.want)
			}
		})
	}
}
