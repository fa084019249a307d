package reconcile_test

import (
	"regexp"
	"strings"
	"testing"

	"gitops-agent/internal/pvesim"
)

var macAddress = regexp.MustCompile(`[0-9A-F]{2}(:[0-9A-F]{2}){5}`)

// TestIncidentNICUpdateChangesTheMAC changes everything about a network interface that a manifest can change without an address. Proxmox generates
// a new address for every write without one, which costs a guest its lease; each write of the agent contains the present address.
func TestIncidentNICUpdateChangesTheMAC(t *testing.T) {
	t.Parallel()
	web := func(state, net string) string {
		return vmYAML("web-1", 201, "networks: {net0: "+net+"}", "state: "+state)
	}
	dns := func(state, net string) string { return dnsYAML("networks: {net0: "+net+"}", "state: "+state) }
	tests := map[string]struct {
		vmid          int
		before, after string
		approved      bool // the change interrupts the guest and needs an approval
	}{
		"vm_stopped":   {201, web("stopped", "{bridge: vmbr0}"), web("stopped", "{bridge: vmbr1, vlan: 20, firewall: true}"), false},
		"vm_running":   {201, web("running", "{bridge: vmbr0}"), web("running", "{bridge: vmbr1, vlan: 20, firewall: true}"), true},
		"vm_model":     {201, web("running", "{bridge: vmbr0}"), web("running", "{bridge: vmbr1, model: e1000}"), true},
		"vm_mac_auto":  {201, web("stopped", "{bridge: vmbr0}"), web("stopped", "{bridge: vmbr1, mac: auto, rate: 10}"), false},
		"vm_raw":       {201, vmYAML("web-1", 201), vmYAML("web-1", 201, `raw: {net0: "virtio,bridge=vmbr1"}`), false},
		"ct_stopped":   {210, dns("stopped", "{bridge: vmbr0, ip4: dhcp}"), dns("stopped", "{bridge: vmbr1, ip4: dhcp, vlan: 20}"), false},
		"ct_running":   {210, dns("running", "{bridge: vmbr0, ip4: dhcp}"), dns("running", "{bridge: vmbr1, ip4: dhcp, vlan: 20}"), true},
		"ct_addresses": {210, dns("running", "{bridge: vmbr0, ip4: dhcp}"), dns("running", "{bridge: vmbr1, ip4: 10.0.0.5/24, gw4: 10.0.0.1}"), true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			runLabWithWire(t, pvesim.Options{}, func(t *testing.T, l *lab, w *wire) {
				l.files["guest.yaml"] = test.before
				l.push("a guest", alice)
				defer l.start()()
				l.converge()
				mac := macAddress.FindString(l.sim.Value(test.vmid, "net0"))
				if mac == "" {
					t.Fatalf("got net0 %q, want one with an address", l.sim.Value(test.vmid, "net0"))
				}
				w.reset()
				l.files["guest.yaml"] = test.after
				l.push("another network", alice)
				if test.approved {
					l.approve(l.digestOfHold(test.vmid))
				}
				l.converge()
				if net := l.sim.Value(test.vmid, "net0"); !strings.Contains(net, mac) || !strings.Contains(net, "bridge=vmbr1") {
					t.Errorf("got net0 %q, want it on vmbr1 with %s", net, mac)
				}
				for _, s := range w.writes("/config") {
					if text, ok := s.params["net0"]; ok && !strings.Contains(text, mac) {
						t.Errorf("got net0 %q sent, want %s in it", text, mac)
					}
				}
			})
		})
	}
}
