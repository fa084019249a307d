package guest_test

import (
	"slices"
	"testing"

	"gitops-agent/reconcile/guest"

	"github.com/google/go-cmp/cmp"
)

// TestFirewallGuardComesBack records a guarded firewall and gives it to a guest that wants another one.
func TestFirewallGuardComesBack(t *testing.T) {
	fw := &guest.FirewallWanted{
		Guarded: true, Options: map[string]string{"enable": "1", "dhcp": ""},
		Rules: []guest.FirewallRule{
			{Type: "in", Action: "ACCEPT", Macro: "ssh", Source: "+admins", Comment: "from the office", Enabled: true},
			{Type: "group", Action: "web", Interface: "net1"},
		},
		Aliases: []guest.FirewallAlias{{Name: "office", CIDR: "10.1.0.0/16", Comment: "x"}},
		Sets:    []guest.FirewallSet{{Name: "admins", Comment: "y", Entries: []guest.FirewallEntry{{CIDR: "10.0.0.1", NoMatch: true, Comment: "z"}}}},
	}
	cards := []guest.Intent{
		{Key: "net0", Verb: guest.Want, Sub: map[string]string{"bridge": "vmbr0", "firewall": "1"}},
		{Key: "net1", Verb: guest.Want, Text: "virtio,bridge=vmbr1,firewall=1"},
		{Key: "net2", Verb: guest.Want, Sub: map[string]string{"bridge": "vmbr2"}},
		{Key: "net3", Verb: guest.Absent},
		{Key: "net4", Verb: guest.Want, Sub: map[string]string{"firewall": "1"}},
		{Key: "usb0", Verb: guest.Want, Text: "host=1234:5678,usb3=1"},
		{Key: "usb1", Verb: guest.Want, Text: "spice"},
		{Key: "hostpci0", Verb: guest.Want, Sub: map[string]string{"mapping": "gpu", "pcie": "1"}},
		{Key: "hostpci1", Verb: guest.Absent},
	}
	d := guest.Desired{Firewall: fw, Intents: cards, Ignore: []string{"net4.firewall"}}
	g, err := guest.DecodeFirewallGuard(d.FirewallGuard())
	want := guest.FirewallGuard{Firewall: fw, Cards: []string{"net0", "net1"}, OtherCards: []string{"net2", "net4"}, Removed: []string{"net3"}, Devices: []string{"hostpci gpu", "usb 1234:5678"}}
	if diff := cmp.Diff(want, g); diff != "" || err != nil {
		t.Fatalf("got error %v (-want +got)\n%s", err, diff)
	}

	other := guest.Desired{
		Ignore: []string{"net0", "net1.firewall", "net4.firewall", "memory"},
		Intents: []guest.Intent{
			{Key: "memory", Verb: guest.Want, Text: "512"},
			{Key: "net0", Verb: guest.Want, Sub: map[string]string{"bridge": "vmbr9"}},
			{Key: "net1", Verb: guest.Want, Text: "virtio,firewall=0,bridge=vmbr1"},
			{Key: "net2", Verb: guest.Want, Sub: map[string]string{"bridge": "vmbr2"}},
			{Key: "net5", Verb: guest.Want, Sub: map[string]string{"bridge": "vmbr5"}},
			{Key: "hostpci3", Verb: guest.Want, Text: "mapping=gpu"},
			{Key: "hostpci0", Verb: guest.Want, Text: "0000:01:00.0,pcie=1"},
			{Key: "hostpci2", Verb: guest.Want, Sub: map[string]string{"mapping": "nic"}},
			{Key: "hostpci4", Verb: guest.Absent},
		},
	}
	before := slices.Clone(other.Intents)
	held := other.WithFirewall(g)
	wantIntents := []guest.Intent{
		before[0],
		{Key: "net0", Verb: guest.Want, Sub: map[string]string{"bridge": "vmbr9", "firewall": "1"}},
		{Key: "net1", Verb: guest.Want, Text: "virtio,bridge=vmbr1,firewall=1"},
		before[3],
		{Key: "net5", Verb: guest.Want, Sub: map[string]string{"bridge": "vmbr5", "firewall": "1"}},
		before[5], before[8],
	}
	if diff := cmp.Diff(wantIntents, held.Intents); diff != "" {
		t.Errorf("intents (-want +got)\n%s", diff)
	}
	if diff := cmp.Diff([]string{"net4.firewall", "memory"}, held.Ignore); diff != "" {
		t.Errorf("ignored keys (-want +got)\n%s", diff)
	}
	if diff := cmp.Diff(fw, held.Firewall); diff != "" {
		t.Errorf("firewall (-want +got)\n%s", diff)
	}
	if diff := cmp.Diff(before, other.Intents); diff != "" {
		t.Errorf("the guest itself was changed (-want +got)\n%s", diff)
	}
}
