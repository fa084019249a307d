package proxmox

import (
	"testing"

	"gitops-agent/internal/pvesim"
	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
)

// TestCallsAboutItemsOfObjects sends calls about rules and entries, and those that Proxmox would carry out otherwise than meant.
func TestCallsAboutItemsOfObjects(t *testing.T) {
	item := func(kind guest.Kind, object, digest string, f cluster.FirewallCall, params map[string]string) cluster.Call {
		return cluster.Call{Op: cluster.OpObjectSet, Kind: kind, Object: object, Digest: digest, Firewall: f, Params: params}
	}
	rule := func(verb cluster.FirewallVerb, pos, to int) cluster.FirewallCall {
		return cluster.FirewallCall{Verb: verb, Object: cluster.FirewallRule, Pos: pos, To: to}
	}
	entry := func(verb cluster.FirewallVerb) cluster.FirewallCall {
		return cluster.FirewallCall{Verb: verb, Object: cluster.FirewallEntry, Name: "admins", CIDR: "10.0.0.0/24"}
	}
	ssh := map[string]string{"type": "in", "action": "ACCEPT", "macro": "SSH", "enable": "0"}
	tests := []struct {
		name string
		call cluster.Call
		want string // of the object afterwards; "" if the call is refused
	}{
		{"a new rule", item("SecurityGroup", "web", "", rule(cluster.FirewallAdd, 0, 0), ssh), `[{"action":"ACCEPT","enable":"0","macro":"ssh","type":"in"},{"action":"DROP","enable":"1","type":"in"}]`},
		{"a move", item("SecurityGroup", "web", "", rule(cluster.FirewallMove, 0, 2), nil), `[{"action":"DROP","enable":"1","type":"in"},{"action":"ACCEPT","enable":"0","macro":"ssh","type":"in"}]`},
		{"a change", item("SecurityGroup", "web", "", rule(cluster.FirewallSet, 1, 0), map[string]string{"enable": "1"}), `[{"action":"DROP","enable":"1","type":"in"},{"action":"ACCEPT","enable":"1","macro":"ssh","type":"in"}]`},
		{"a removal", item("SecurityGroup", "web", "", rule(cluster.FirewallDelete, 0, 0), nil), `[{"action":"ACCEPT","enable":"1","macro":"ssh","type":"in"}]`},
		{"a new entry", item("IPSet", "admins", "", entry(cluster.FirewallAdd), map[string]string{"nomatch": "1"}), `[{"CIDR":"10.0.0.0/24","NoMatch":true,"Comment":""}]`},
		{"a changed entry", item("IPSet", "admins", "", entry(cluster.FirewallSet), map[string]string{"comment": "x"}), `[{"CIDR":"10.0.0.0/24","NoMatch":false,"Comment":"x"}]`},
		{"a removed entry", item("IPSet", "admins", "", entry(cluster.FirewallDelete), nil), `[]`},
		{"another digest", item("SecurityGroup", "web", "00", rule(cluster.FirewallDelete, 0, 0), nil), ""},
		{"a rule in effect at once", item("SecurityGroup", "web", "", rule(cluster.FirewallAdd, 0, 0), map[string]string{"type": "in", "action": "ACCEPT", "enable": "1"}), ""},
		{"a line break", item("IPSet", "admins", "", entry(cluster.FirewallAdd), map[string]string{"comment": "a\n[RULES]"}), ""},
		{"options", item("SecurityGroup", "web", "", cluster.FirewallCall{Verb: cluster.FirewallSet, Object: cluster.FirewallOptions}, map[string]string{"enable": "0"}), ""},
	}
	simulate(t, func(t *testing.T, sim *pvesim.Sim, client *Client) {
		sim.SetPrivileges("gitops@pve!agent", []pvesim.ACL{{Path: "/", Privileges: []string{"Sys.Audit", "Sys.Modify"}}})
		sim.SetGroup("web", "", map[string]string{"type": "in", "action": "DROP", "enable": "1"})
		sim.SetIPSet("admins", "")
		content := func(call cluster.Call) string {
			objects, err := client.Objects(t.Context(), call.Kind, []string{call.Object})
			if err != nil {
				t.Fatal(err)
			}
			return objects[call.Object].Keys[map[guest.Kind]string{"SecurityGroup": "rules", "IPSet": "entries"}[call.Kind]]
		}
		for _, test := range tests {
			before := content(test.call)
			_, err := client.Do(t.Context(), test.call, nil)
			switch got := content(test.call); {
			case test.want == "" && (err == nil || got != before):
				t.Errorf("%s: got no error or a change to %s, want it refused", test.name, got)
			case test.want != "" && (err != nil || got != test.want):
				t.Errorf("%s: got %s (%v), want %s", test.name, got, err, test.want)
			}
		}
	})
}
