package status_test

import (
	"encoding/json"
	"net/http"
	"net/netip"
	"slices"
	"testing"

	"gitops-agent/internal/status"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/report"
)

// estate is a report of guests whose names are awkward for other tools.
func estate() status.Options {
	r := steady()
	add := func(kind guest.Kind, name string, vmid int, node string, state guest.Status, tags ...string) report.Guest {
		return report.Guest{GuestName: report.GuestName{Kind: kind, Name: name, VMID: vmid, Node: node}, Sync: report.Synced, Health: report.Healthy, Status: state, Tags: tags}
	}
	r.Guests = []report.Guest{
		add(guest.VirtualMachine, "web-1", 201, "pve-1", guest.StatusRunning, "blue-green", "blue_green", "db"),
		add(guest.Container, "web-1", 301, "pve-2", guest.StatusRunning),
		add(guest.Container, "db", 302, "pve-2", guest.StatusStopped, "db"),
		add(guest.VirtualMachine, "all", 203, "pve-1", guest.StatusRunning),
		add(guest.VirtualMachine, "new", 0, "", ""),
		add("Image", "debian", 0, "pve-1", ""),
	}
	opts := optionsFor(r)
	addresses := map[int][]netip.Addr{201: {netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("2001:db8::1")}, 302: {netip.MustParseAddr("2001:db8::2")}}
	opts.Addresses = func() func(report.Guest) []netip.Addr {
		return func(g report.Guest) []netip.Addr { return addresses[g.VMID] }
	}
	return opts
}

func TestInventory(t *testing.T) {
	t.Parallel()
	_, body := ask(t, estate(), "GET", "/inventory.json")
	golden(t, "inventory.golden.json", []byte(body))
}

func TestTargets(t *testing.T) {
	t.Parallel()
	_, body := ask(t, estate(), "GET", "/targets.json?port=9256")
	golden(t, "targets.golden.json", []byte(body))
}

// No host has the name of another host or of a group, since Ansible mixes them up.
func TestNamesInTheInventoryAreUnique(t *testing.T) {
	t.Parallel()
	opts := estate()
	r := opts.Report()
	for _, name := range []string{"web-1-vm", "kind-container", "web-1-ct", "ungrouped", "all-vm"} {
		for vmid, kind := range map[int]guest.Kind{400: guest.VirtualMachine, 500: guest.Container} {
			r.Guests = append(r.Guests, report.Guest{GuestName: report.GuestName{Kind: kind, Name: name, VMID: vmid + len(r.Guests), Node: "pve-1"}, Tags: []string{"vm"}})
		}
	}
	opts.Report = func() report.Report { return r }
	_, body := ask(t, opts, "GET", "/inventory.json")
	var got map[string]struct {
		Hosts    []string
		HostVars map[string]map[string]any
	}
	if err := json.Unmarshal([]byte(body), &got); err != nil {
		t.Fatal(err)
	}
	if hosts := got["_meta"].HostVars; len(hosts) != len(r.Guests)-1 {
		t.Errorf("got %d hosts, want one for each of %d guests", len(hosts), len(r.Guests)-1)
	}
	for name, group := range got {
		if got["_meta"].HostVars[name] != nil || slices.Contains([]string{"all", "ungrouped"}, name) && group.Hosts != nil {
			t.Errorf("a host has the name of the group %s", name)
		}
	}
}

// An empty list would tell other tools that all guests are gone.
func TestGuestsThatAreNotKnownAreNoEmptyInventory(t *testing.T) {
	t.Parallel()
	standby := steady()
	standby.Guests, standby.Replica = nil, &report.Replica{Role: report.RoleStandby, Leader: "agent-2"}
	tests := map[string]struct {
		report report.Report
		want   string
	}{
		"started": {report.Report{}, "the guests are not known: the remote has not been read yet\n"},
		"standby": {standby, "this agent is a standby, and only the leader knows the guests: ask agent-2\n"},
	}
	for name, test := range tests {
		for _, path := range []string{"/inventory.json", "/targets.json"} {
			t.Run(name+path, func(t *testing.T) {
				t.Parallel()
				res, body := ask(t, optionsFor(test.report), "GET", path)
				if res.Code != http.StatusServiceUnavailable || body != test.want {
					t.Errorf("got %d %q, want 503 %q", res.Code, body, test.want)
				}
			})
		}
	}
}
