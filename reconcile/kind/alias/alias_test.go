package alias

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"strings"
	"testing"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/edge"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/kind"
	"gitops-agent/reconcile/object"

	"github.com/google/go-cmp/cmp"
)

// answers returns a Get that answers paths. A path that is not among them has an empty list, and one with the answer "" fails.
func answers(replies map[string]string) kind.Get {
	return func(_ context.Context, _, path string) (json.RawMessage, error) {
		reply, found := replies[path]
		switch {
		case !found:
			return json.RawMessage(`[]`), nil
		case reply == "":
			return nil, errors.New("no quorum")
		}
		return json.RawMessage(reply), nil
	}
}

func TestReadIsCanonical(t *testing.T) {
	got, err := read(t.Context(), answers(map[string]string{"/cluster/firewall/aliases": `[
		{"name":"Net-A","cidr":"10.1.2.3/8","ipversion":4,"digest":"d","comment":"x"}, {"name":"v6","cidr":"fd00::1","ipversion":6,"digest":"d"}]`}), nil)
	want := []cluster.Object{
		{ID: "net-a", Keys: map[string]string{"cidr": "10.0.0.0/8", "comment": "x"}},
		{ID: "v6", Keys: map[string]string{"cidr": "fd00::1"}},
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("got error %v (-want +got)\n%s", err, diff)
	}
}

// TestEveryChangeSendsAddressAndComment makes requests of changes. Proxmox refuses a change without an address, and drops a comment that is not sent.
func TestEveryChangeSendsAddressAndComment(t *testing.T) {
	got := cluster.Object{ID: "office", Keys: map[string]string{"cidr": "10.0.0.1", "comment": "x gitops-0011aabb"}}
	tests := map[string]struct {
		change kind.Change
		want   kind.Request
	}{
		"add": {
			kind.Change{Op: cluster.OpObjectAdd, ID: "office", Set: map[string]string{"cidr": "10.0.0.1", "comment": "x"}},
			kind.Request{Method: "POST", Route: "/cluster/firewall/aliases", Path: "/cluster/firewall/aliases", Params: map[string]string{"name": "office", "cidr": "10.0.0.1", "comment": "x"}},
		},
		"address": {
			kind.Change{Op: cluster.OpObjectSet, ID: "office", Got: got, Set: map[string]string{"cidr": "10.0.0.2"}},
			kind.Request{Method: "PUT", Route: "/cluster/firewall/aliases/{name}", Path: "/cluster/firewall/aliases/office", Params: map[string]string{"cidr": "10.0.0.2", "comment": "x gitops-0011aabb"}},
		},
		"comment": {
			kind.Change{Op: cluster.OpObjectSet, ID: "office", Got: got, Set: map[string]string{"comment": "y"}},
			kind.Request{Method: "PUT", Route: "/cluster/firewall/aliases/{name}", Path: "/cluster/firewall/aliases/office", Params: map[string]string{"cidr": "10.0.0.1", "comment": "y"}},
		},
		"remove": {
			kind.Change{Op: cluster.OpObjectRemove, ID: "office", Got: got},
			kind.Request{Method: "DELETE", Route: "/cluster/firewall/aliases/{name}", Path: "/cluster/firewall/aliases/office", Params: map[string]string{}},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			list := calls(test.change)
			if len(list) != 1 {
				t.Fatalf("got %d calls, want one", len(list))
			}
			request, err := encode(list[0])
			if diff := cmp.Diff(test.want, request); diff != "" || err != nil {
				t.Errorf("got error %v (-want +got)\n%s", err, diff)
			}
		})
	}
	if _, err := encode(cluster.Call{Op: cluster.OpObjectAdd, Params: map[string]string{"comment": "a\nIN ACCEPT"}}); err == nil {
		t.Error("got no error for a comment with a line break")
	}
}

// TestUsersAreFoundEverywhere puts the name into each place that may have it. A place that cannot be read may have it too.
func TestUsersAreFoundEverywhere(t *testing.T) {
	rule := `[{"pos":0,"source":"10.0.0.1,10.0.0.2","dest":"+office"},{"pos":1,"dest":"dc/Office"}]`
	set, entries := `[{"name":"admins"}]`, `[{"cidr":"10.0.0.1"},{"cidr":"dc/office"}]`
	around := map[string]string{
		"/nodes": `[{"node":"pve1"}]`, "/cluster/resources?type=vm": `[{"type":"qemu","vmid":201,"node":"pve1"}]`, "/cluster/firewall/groups": `[{"group":"web"}]`,
	}
	tests := map[string]struct {
		replies map[string]string
		want    string
	}{
		"nothing":         {nil, ""},
		"datacenter":      {map[string]string{"/cluster/firewall/rules": rule}, "rule 1 of the datacenter"},
		"datacenter_set":  {map[string]string{"/cluster/firewall/ipset": set, "/cluster/firewall/ipset/admins": entries}, "the set admins of the datacenter"},
		"group":           {map[string]string{"/cluster/firewall/groups/web": rule}, "rule 1 of the security group web"},
		"node":            {map[string]string{"/nodes/pve1/firewall/rules": rule}, "rule 1 of the node pve1"},
		"guest":           {map[string]string{"/nodes/pve1/qemu/201/firewall/rules": rule}, "rule 1 of guest 201"},
		"guest_set":       {map[string]string{"/nodes/pve1/qemu/201/firewall/ipset": set, "/nodes/pve1/qemu/201/firewall/ipset/admins": entries}, "the set admins of guest 201"},
		"other_names":     {map[string]string{"/cluster/firewall/rules": `[{"source":"office2"},{"source":"+office"}]`}, ""},
		"unreadable":      {map[string]string{"/nodes/pve1/firewall/rules": ""}, "error"},
		"unreadable_set":  {map[string]string{"/cluster/firewall/ipset": set, "/cluster/firewall/ipset/admins": ""}, "error"},
		"unreadable_list": {map[string]string{"/cluster/resources?type=vm": ""}, "error"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			replies := map[string]string{}
			for _, list := range []map[string]string{around, test.replies} {
				maps.Copy(replies, list)
			}
			removal := kind.Change{Op: cluster.OpObjectRemove, ID: "office"}
			err := Kind().Check(t.Context(), kind.Reader{Get: answers(replies)}, removal)
			got := ""
			var used *cluster.UsedError
			switch {
			case errors.As(err, &used):
				got = strings.TrimSuffix(used.By.Text, " names it")
			case err != nil:
				got = "error"
			}
			if got != test.want {
				t.Errorf("got %q (%v), want %q", got, err, test.want)
			}
			if used != nil && used.By.To != edge.Object("Alias", "office") {
				t.Errorf("got an edge to %s, want the alias", used.By.To)
			}
		})
	}
}

func TestAliasIsKeptByAReadFirewall(t *testing.T) {
	got := cluster.Snapshot{
		Inventory: cluster.Inventory{Rows: []cluster.Row{{VMID: 201}, {VMID: 202}}},
		Guests:    map[int]guest.Observed{202: {Firewall: &guest.FirewallSeen{Rules: []guest.FirewallRule{{Source: "dc/office"}}}}},
	}
	if by, isKept := Kind().KeptBy("office", kind.World{Observed: got}); !isKept || by.From != object.Guest(202) || by.Text != "rule 0 of guest 202 names it" {
		t.Errorf("got %+v, want guest 202 named", by)
	}
	if by, isKept := Kind().KeptBy("offices", kind.World{Observed: got}); isKept {
		t.Errorf("got %+v, want nothing", by)
	}
}

// TestAliasIsKeptByReadObjects names the group or the set that uses the alias, so that nobody is asked to approve its removal.
func TestAliasIsKeptByReadObjects(t *testing.T) {
	got := cluster.Snapshot{Objects: map[guest.Kind]cluster.Objects{
		kind.FirewallGroups: {ByID: map[string]cluster.Object{"web": {Keys: map[string]string{kind.KeyRules: kind.RulesText([]guest.FirewallRule{{}, {Source: "dc/office", Dest: "+dc/admins"}})}}}},
		kind.FirewallSets:   {ByID: map[string]cluster.Object{"admins": {Keys: map[string]string{kind.KeyEntries: kind.EntriesText([]guest.FirewallEntry{{CIDR: "dc/vpn"}})}}}},
	}}
	for id, want := range map[string]string{"office": "rule 1 of the security group web names it", "vpn": "the set admins of the datacenter names it", "admins": "", "other": ""} {
		if by, _ := Kind().KeptBy(id, kind.World{Observed: got}); by.Text != want {
			t.Errorf("%s: got %q, want %q", id, by.Text, want)
		}
	}
}

func TestFirewallNeedsAliasesThatItDoesNotHave(t *testing.T) {
	f := &guest.FirewallWanted{
		Rules:   []guest.FirewallRule{{Source: "dc/Office", Dest: "+dc/admins"}, {Source: "fd00::1", Dest: "own"}, {Source: "plain"}, {Source: "dc/own"}},
		Aliases: []guest.FirewallAlias{{Name: "own", CIDR: "10.0.0.1"}},
		Sets:    []guest.FirewallSet{{Name: "s", Entries: []guest.FirewallEntry{{CIDR: "10.0.0.0/24"}, {CIDR: "dc/home"}}}},
	}
	want := []kind.Need{{Kind: Name, ID: "home"}, {Kind: Name, ID: "office"}, {Kind: Name, ID: "own"}, {Kind: Name, ID: "plain"}}
	if diff := cmp.Diff(want, NeededBy(f)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
