package proxmox

import (
	"context"
	"errors"
	"strings"
	"testing"

	"gitops-agent/internal/pvesim"
	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/firewall"
	"gitops-agent/reconcile/guest"
)

// TestFirewallBecomesAsWanted lets a firewall become one wanted state after the other, as a lane does: a reading, a call, a reading.
func TestFirewallBecomesAsWanted(t *testing.T) {
	ssh := guest.FirewallRule{Type: "in", Action: "ACCEPT", Macro: "ssh", Source: "+admins", Enabled: true, Comment: "from the office"}
	web := guest.FirewallRule{Type: "in", Action: "ACCEPT", Protocol: "tcp", DestPort: "80,443", Enabled: true, Log: "info"}
	out := guest.FirewallRule{Type: "out", Action: "REJECT", Dest: "printer", Interface: "net0", Enabled: true}
	later := guest.FirewallRule{Type: "in", Action: "DROP", Protocol: "udp", DestPort: "53", Enabled: false}
	printer := guest.FirewallAlias{Name: "printer", CIDR: "10.0.0.9", Comment: "second floor"}
	admins := func(entries ...guest.FirewallEntry) guest.FirewallSet {
		return guest.FirewallSet{Name: "admins", Comment: "people", Entries: entries}
	}
	one, two := guest.FirewallEntry{CIDR: "10.1.0.1"}, guest.FirewallEntry{CIDR: "10.2.0.0/16", NoMatch: true, Comment: "not these"}
	on := map[string]string{"enable": "1", "policy_in": "DROP"}
	wants := []struct {
		name  string
		want  guest.FirewallWanted
		calls int
	}{
		{"first", guest.FirewallWanted{Options: on, Rules: []guest.FirewallRule{ssh, web, out}, Aliases: []guest.FirewallAlias{printer}, Sets: []guest.FirewallSet{admins(one)}}, 10},
		{"the same", guest.FirewallWanted{Options: on, Rules: []guest.FirewallRule{ssh, web, out}, Aliases: []guest.FirewallAlias{printer}, Sets: []guest.FirewallSet{admins(one)}}, 0},
		{"another order, and a rule without effect", guest.FirewallWanted{Rules: []guest.FirewallRule{web, later, ssh, out}}, 4},
		{"one set", guest.FirewallWanted{Sets: []guest.FirewallSet{admins(guest.FirewallEntry{CIDR: "10.1.0.2"})}}, 2},
		{"names", guest.FirewallWanted{Sets: []guest.FirewallSet{admins(one, two)}, Aliases: []guest.FirewallAlias{{Name: "printer", CIDR: "10.0.0.10"}}}, 10},
		{"a description", guest.FirewallWanted{Rules: []guest.FirewallRule{{Type: "in", Action: "ACCEPT", Protocol: "tcp", DestPort: "80,443", Enabled: true}, later, ssh, out}}, 1},
		{"nothing", guest.FirewallWanted{
			Options: map[string]string{"enable": "", "policy_in": ""}, Rules: []guest.FirewallRule{}, Aliases: []guest.FirewallAlias{}, Sets: []guest.FirewallSet{},
		}, 9},
	}
	simulate(t, func(t *testing.T, sim *pvesim.Sim, client *Client) {
		if _, err := sim.AddVM(pvesim.Guest{VMID: 201}); err != nil {
			t.Fatal(err)
		}
		row := cluster.Row{Kind: guest.VirtualMachine, Node: "pve1", VMID: 201}
		for _, test := range wants {
			calls := 0
			for ; calls < 50; calls++ {
				seen, err := client.Firewall(t.Context(), row, true)
				if err != nil {
					t.Fatal(err)
				}
				call, more := firewall.Next(&test.want, &seen)
				if !more {
					break
				}
				call.Kind, call.Node, call.VMID = row.Kind, row.Node, row.VMID
				if _, err := client.Do(t.Context(), call, nil); err != nil {
					t.Fatalf("%s: %+v: %v", test.name, call, err)
				}
			}
			if calls != test.calls {
				t.Errorf("%s: got %d calls, want %d", test.name, calls, test.calls)
			}
		}
		seen, err := client.Firewall(t.Context(), row, true)
		if err != nil || !seen.Empty() {
			t.Errorf("got %+v, %v, want nothing left", seen, err)
		}
	})
}

func TestFirewallCallUnderAnEdit(t *testing.T) {
	simulate(t, func(t *testing.T, sim *pvesim.Sim, client *Client) {
		if _, err := sim.AddVM(pvesim.Guest{VMID: 201}); err != nil {
			t.Fatal(err)
		}
		row := cluster.Row{Kind: guest.VirtualMachine, Node: "pve1", VMID: 201}
		want := guest.FirewallWanted{Rules: []guest.FirewallRule{{Type: "in", Action: "ACCEPT", Enabled: true}}}
		do := func(digest string) error {
			seen, err := client.Firewall(t.Context(), row, false)
			if err != nil {
				t.Fatal(err)
			}
			call, _ := firewall.Next(&want, &seen)
			call.Kind, call.Node, call.VMID = row.Kind, row.Node, row.VMID
			if digest != "" {
				call.Digest = digest
			}
			_, err = client.Do(context.WithoutCancel(t.Context()), call, nil)
			return err
		}
		if err := do(""); err != nil {
			t.Fatal(err)
		}
		if err := do(strings.Repeat("0", 40)); !errors.Is(err, cluster.ErrConflict) {
			t.Errorf("got %v for rules that somebody changed, want ErrConflict", err)
		}
	})
}
