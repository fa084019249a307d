package plan_test

import (
	"testing"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/kind"
	"gitops-agent/reconcile/plan"
)

// TestHasListChangeEnded checks when the approvals of a change of a set end: not while it goes on, and not without a reading of the set.
func TestHasListChangeEnded(t *testing.T) {
	text := func(addresses ...string) string {
		var entries []guest.FirewallEntry
		for _, a := range addresses {
			entries = append(entries, guest.FirewallEntry{CIDR: a})
		}
		return kind.EntriesText(entries)
	}
	wants := func(intents ...kind.Intent) []kind.Desired {
		return []kind.Desired{{Kind: kind.FirewallSets, Name: "admins", ID: "admins", Keys: intents}}
	}
	list := func(addresses ...string) kind.Intent {
		return kind.Intent{Key: kind.KeyEntries, Text: text(addresses...)}
	}
	read := func(addresses ...string) cluster.Objects {
		return cluster.Objects{ByID: map[string]cluster.Object{"admins": {ID: "admins", Keys: map[string]string{kind.KeyEntries: text(addresses...)}}}}
	}
	change := plan.NewListChange(kind.FirewallSets, "admins", text("10.0.0.1", "10.0.0.2", "10.0.0.3"))
	full := list("10.0.0.1", "10.0.0.2", "10.0.0.3")
	tests := map[string]struct {
		wanted []kind.Desired
		read   cluster.Objects
		want   bool
	}{
		"before_the_first_call":  {wants(full), read("10.0.0.1"), false},
		"half_way":               {wants(full), read("10.0.0.1", "10.0.0.2"), false},
		"complete":               {wants(full), read("10.0.0.1", "10.0.0.2", "10.0.0.3"), true},
		"reverted":               {wants(list("10.0.0.1")), read("10.0.0.1", "10.0.0.2"), true},
		"another_list":           {wants(list("10.0.0.1", "10.0.0.4")), read("10.0.0.1"), true},
		"list_not_managed":       {wants(), read("10.0.0.1", "10.0.0.2"), true},
		"manifest_removed":       {nil, read("10.0.0.1", "10.0.0.2"), true},
		"not_read":               {wants(full), cluster.Objects{}, false},
		"manifest_gone_not_read": {nil, cluster.Objects{}, true},
		"set_removed_by_hand":    {wants(full), cluster.Objects{ByID: map[string]cluster.Object{}, Asked: []string{"admins"}}, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := plan.HasListChangeEnded(change, test.wanted, test.read); got != test.want {
				t.Errorf("got ended %t, want %t", got, test.want)
			}
		})
	}
}
