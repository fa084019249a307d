package securitygroup

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/kind"
)

// answers returns a Get that answers paths, and fails for others.
func answers(replies map[string]string) kind.Get {
	return func(_ context.Context, _, path string) (json.RawMessage, error) {
		reply, found := replies[path]
		if !found {
			return nil, fmt.Errorf("unexpected path %s", path)
		}
		return json.RawMessage(reply), nil
	}
}

const listed = `[{"group":"web","comment":"x gitops-0011aabb","digest":"d"},{"group":"other","digest":"d"}]`

var webRules = `[{"pos":0,"type":"in","action":"ACCEPT","macro":"SSH","enable":1,"ipversion":4,"source":"10.0.0.1","digest":"r"},{"pos":1,"type":"out","action":"DROP","enable":0,"comment":"c","digest":"r"}]`

var webRulesText = `[{"action":"ACCEPT","enable":"1","macro":"ssh","source":"10.0.0.1","type":"in"},{"action":"DROP","comment":"c","enable":"0","type":"out"}]`

func TestReadIsCanonical(t *testing.T) {
	web := cluster.Object{ID: "web", Keys: map[string]string{keyComment: "x gitops-0011aabb", keyRules: webRulesText}, Digest: "r"}
	other := cluster.Object{ID: "other", Keys: map[string]string{keyRules: "[]"}}
	tests := map[string]struct {
		ids     []string
		replies map[string]string
		want    []cluster.Object // nil is an error
	}{
		"one":            {[]string{"web"}, map[string]string{"/cluster/firewall/groups/web": webRules}, []cluster.Object{web}},
		"missing":        {[]string{"gone"}, nil, []cluster.Object{}},
		"all":            {nil, map[string]string{"/cluster/firewall/groups/web": webRules, "/cluster/firewall/groups/other": "[]"}, []cluster.Object{web, other}},
		"unreadable":     {[]string{"web"}, nil, nil},
		"wrong_position": {[]string{"web"}, map[string]string{"/cluster/firewall/groups/web": `[{"pos":1,"type":"in","action":"DROP"}]`}, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			replies := map[string]string{"/cluster/firewall/groups": listed}
			maps.Copy(replies, test.replies)
			got, err := read(t.Context(), answers(replies), test.ids)
			switch diff := cmp.Diff(test.want, got); {
			case test.want == nil && err == nil:
				t.Errorf("got %v, want an error", got)
			case test.want != nil && (err != nil || len(got)+len(test.want) > 0 && diff != ""):
				t.Errorf("got error %v (-want +got)\n%s", err, diff)
			}
		})
	}
}

func desired(rules ...guest.FirewallRule) kind.Desired {
	d := kind.Desired{Kind: Name, Name: "web", ID: "web"}
	d.Put(kind.Intent{Key: keyRules, Text: kind.RulesText(rules)})
	return d
}

func live(rules ...guest.FirewallRule) cluster.Object {
	return cluster.Object{ID: "web", Keys: map[string]string{keyRules: kind.RulesText(rules)}, Digest: "r"}
}

var (
	ssh  = guest.FirewallRule{Type: "in", Action: "ACCEPT", Macro: "ssh", Enabled: true}
	http = guest.FirewallRule{Type: "in", Action: "ACCEPT", Protocol: "tcp", DestPort: "80", Enabled: true}
	drop = guest.FirewallRule{Type: "in", Action: "DROP", Enabled: true}
)

// TestNextCall takes the first call from some rules to others. Package firewall tests the whole order.
func TestNextCall(t *testing.T) {
	item := func(verb cluster.FirewallVerb, pos, to int) cluster.FirewallCall {
		return cluster.FirewallCall{Verb: verb, Object: cluster.FirewallRule, Pos: pos, To: to}
	}
	tests := map[string]struct {
		want   kind.Desired
		live   cluster.Object
		call   cluster.FirewallCall // the zero value is none
		digest string
		after  []guest.FirewallRule
	}{
		"the_same":       {desired(ssh, http), live(ssh, http), cluster.FirewallCall{}, "", nil},
		"add_the_last":   {desired(ssh, http), live(), item(cluster.FirewallAdd, 0, 0), "", []guest.FirewallRule{http.Disabled()}},
		"set_in_effect":  {desired(ssh, http), live(ssh.Disabled(), http.Disabled()), item(cluster.FirewallSet, 0, 0), "r", []guest.FirewallRule{ssh, http.Disabled()}},
		"move":           {desired(drop, ssh), live(ssh.Disabled(), drop), item(cluster.FirewallMove, 0, 2), "r", []guest.FirewallRule{drop, ssh.Disabled()}},
		"remove_another": {desired(ssh), live(ssh, drop), item(cluster.FirewallDelete, 1, 0), "r", []guest.FirewallRule{ssh}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, more := next(test.want, test.live)
			if changed := len(changes(test.want, test.live)) > 0; more != changed || more != (test.call != cluster.FirewallCall{}) {
				t.Fatalf("got a call %t and changes %t, want both or none", more, changed)
			}
			if !more {
				return
			}
			if got.Call.Op != cluster.OpObjectSet || got.Call.Kind != Name || got.Call.Object != "web" || got.Call.Firewall != test.call || got.Call.Digest != test.digest {
				t.Errorf("got %+v, want %+v with the digest %q", got.Call, test.call, test.digest)
			}
			if diff := cmp.Diff(test.after, kind.RulesOf(got.After)); diff != "" {
				t.Errorf("after the call (-want +got)\n%s", diff)
			}
		})
	}
}

func TestOthersAreKept(t *testing.T) {
	d := desired(ssh)
	d.Keeps = true
	if call, more := next(d, live(ssh, drop)); more {
		t.Errorf("got %+v, want nothing", call)
	}
}

// TestGroupIsEmptiedFromItsEnd takes the calls before a removal. Only the first one can have a digest.
func TestGroupIsEmptiedFromItsEnd(t *testing.T) {
	var got []string
	for _, item := range empty(live(ssh, http)) {
		got = append(got, fmt.Sprintf("%s %d %q %d", item.Call.Firewall.Verb, item.Call.Firewall.Pos, item.Call.Digest, len(kind.RulesOf(item.After))))
	}
	if diff := cmp.Diff([]string{`delete 1 "r" 1`, `delete 0 "" 0`}, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestEncode(t *testing.T) {
	change := kind.Change{Op: cluster.OpObjectSet, ID: "web", Got: live(ssh), Set: map[string]string{keyComment: "y"}}
	if call := Kind().Calls(change); len(call) != 1 || call[0].Digest != "" {
		t.Errorf("got %+v, want one call without the digest of the rules", call)
	}
	tests := map[string]struct {
		call cluster.Call
		want kind.Request
	}{
		"add": {
			cluster.Call{Op: cluster.OpObjectAdd, Kind: Name, Object: "web", Params: map[string]string{keyComment: "x"}},
			kind.Request{Method: "POST", Route: "/cluster/firewall/groups", Path: "/cluster/firewall/groups", Params: map[string]string{"group": "web", "comment": "x"}},
		},
		"comment": {
			Kind().Calls(change)[0],
			kind.Request{Method: "POST", Route: "/cluster/firewall/groups", Path: "/cluster/firewall/groups", Params: map[string]string{"group": "web", "rename": "web", "comment": "y"}},
		},
		"rule": {
			cluster.Call{Op: cluster.OpObjectSet, Kind: Name, Object: "web", Firewall: cluster.FirewallCall{Verb: cluster.FirewallAdd, Object: cluster.FirewallRule}},
			kind.Request{Route: "/cluster/firewall/groups/{group}", Path: "/cluster/firewall/groups/web"},
		},
		"remove": {
			cluster.Call{Op: cluster.OpObjectRemove, Kind: Name, Object: "web"},
			kind.Request{Method: "DELETE", Route: "/cluster/firewall/groups/{group}", Path: "/cluster/firewall/groups/web", Params: map[string]string{}},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := encode(test.call)
			if diff := cmp.Diff(test.want, got); diff != "" || err != nil {
				t.Errorf("got error %v (-want +got)\n%s", err, diff)
			}
		})
	}
	if _, err := encode(cluster.Call{Op: cluster.OpObjectAdd, Params: map[string]string{keyComment: "a\n[RULES]"}}); err == nil {
		t.Error("got no error for a comment with a line break")
	}
}
