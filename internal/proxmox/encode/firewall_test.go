package encode

import (
	"path"
	"strings"
	"testing"

	"gitops-agent/internal/proxmox/route"
	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/image"
	"gitops-agent/reconcile/kinds"
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

// TestNoCallWritesTheDatacenterFirewall encodes every operation with every kind, object of a firewall and verb, also with ids that look like other paths. The agent reads the
// options of the datacenter's firewall, and never writes them: they can switch off the firewalls of all guests.
func TestNoCallWritesTheDatacenterFirewall(t *testing.T) {
	t.Parallel()
	kindNames := []guest.Kind{guest.VirtualMachine, guest.Container, image.Kind}
	for _, k := range kinds.All() {
		kindNames = append(kindNames, k.Name)
	}
	objects := []cluster.FirewallObject{"", cluster.FirewallOptions, cluster.FirewallRule, cluster.FirewallAlias, cluster.FirewallIPSet, cluster.FirewallEntry}
	verbs := []cluster.FirewallVerb{cluster.FirewallAdd, cluster.FirewallSet, cluster.FirewallMove, cluster.FirewallDelete}
	ids := []string{"web", "options", "../options", "../../firewall/options", "9000-0"}
	encoded := make(map[guest.Kind]int)
	check := func(call cluster.Call) {
		exchange, _, err := Call(call)
		if err != nil {
			return
		}
		encoded[call.Kind]++
		plain, _, _ := strings.Cut(exchange.Path, "?")
		if clean := path.Clean(plain); exchange.Route == route.DatacenterFirewall || clean == route.DatacenterFirewall {
			t.Errorf("%+v: got %s %s, want no call about the options of the datacenter", call, exchange.Method, exchange.Path)
		}
	}
	for _, op := range cluster.Ops() {
		for _, name := range kindNames {
			for _, object := range objects {
				for _, verb := range verbs {
					for _, id := range ids {
						firewall := cluster.FirewallCall{Verb: verb, Object: object, Name: id, CIDR: "10.0.0.0/8"}
						for _, params := range []map[string]string{nil, {"enable": "0"}} {
							check(cluster.Call{Op: op, Kind: name, Node: "pve1", VMID: 201, Object: id, Params: params, Firewall: firewall})
							check(cluster.Call{Op: op, Kind: name, Object: id, Params: params, Firewall: firewall})
						}
					}
				}
			}
		}
	}
	for _, name := range kindNames {
		if encoded[name] == 0 && name != image.Kind { // a download needs an address
			t.Errorf("%s: got no call that can be encoded, want some", name)
		}
	}
}
