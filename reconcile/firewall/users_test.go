package firewall_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"gitops-agent/reconcile/firewall"
	"gitops-agent/reconcile/guest"
)

func TestNeededNames(t *testing.T) {
	want := &guest.FirewallWanted{
		Rules: []guest.FirewallRule{
			{Type: "in", Source: "+dc/Admins", Dest: "office"},
			{Type: "in", Source: "+own", Dest: "dc/own"},
			{Type: "in", Source: "+dc/own"},
			{Type: "in", Source: "+plain"},
			{Type: "group", Action: "web"},
			{Type: "group", Action: "web", Interface: "net0"},
			{Type: "in", Source: "10.0.0.1,10.0.0.2", Dest: "fd00::/8"},
		},
		Aliases: []guest.FirewallAlias{{Name: "own"}}, Sets: []guest.FirewallSet{{Name: "own", Entries: []guest.FirewallEntry{{CIDR: "dc/home"}}}},
	}
	for name, test := range map[string]struct{ got, want []string }{
		"aliases": {firewall.NeededAliases(want), []string{"home", "office", "own"}},
		"sets":    {firewall.NeededSets(want), []string{"admins", "own", "plain"}},
		"groups":  {firewall.NeededGroups(want), []string{"web"}},
	} {
		if diff := cmp.Diff(test.want, test.got); diff != "" {
			t.Errorf("%s (-want +got)\n%s", name, diff)
		}
	}
}

func TestUsers(t *testing.T) {
	seen := &guest.FirewallSeen{
		Rules: []guest.FirewallRule{{Type: "in", Source: "+dc/admins", Dest: "office"}, {Type: "group", Action: "web"}},
		Sets:  []guest.FirewallSet{{Name: "staff", Entries: []guest.FirewallEntry{{CIDR: "dc/home"}}}},
	}
	for name, test := range map[string]struct {
		user func(*guest.FirewallSeen, string) string
		name string
		want string
	}{
		"alias": {firewall.AliasUser, "Office", "rule 0"}, "alias_in_set": {firewall.AliasUser, "home", "the set staff"}, "alias_named_like_a_set": {firewall.AliasUser, "admins", ""},
		"set": {firewall.SetUser, "admins", "rule 0"}, "set_named_like_an_alias": {firewall.SetUser, "office", ""}, "other_set": {firewall.SetUser, "admin", ""},
		"group": {firewall.GroupUser, "web", "rule 1"}, "group_named_like_an_action": {firewall.GroupUser, "in", ""},
	} {
		if got := test.user(seen, test.name); got != test.want {
			t.Errorf("%s: got %q, want %q", name, got, test.want)
		}
	}
}
