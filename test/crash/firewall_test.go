//go:build integration

package crash

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// firewallPorts returns the ports of the rules that a manifest gets: a few of eight, in random order.
func (w *world) firewallPorts() []int {
	ports := w.rng.Perm(8)[:1+w.rng.IntN(4)]
	for i := range ports {
		ports[i] += 8000
	}
	return ports
}

// firewallText returns the firewall of a manifest with one rule for each port.
func firewallText(ports []int) string {
	var rules []string
	for _, port := range ports {
		rules = append(rules, fmt.Sprintf(`{type: in, action: ACCEPT, protocol: tcp, port: "%d"}`, port))
	}
	return "firewall: {enable: true, policyIn: DROP, rules: [" + strings.Join(rules, ", ") + "]}"
}

// editFirewall gives a guest other rules, or the same in another order.
func (w *world) editFirewall() string {
	g := w.pick(func(g *machine) bool { return !g.template })
	if g == nil {
		return ""
	}
	g.ports = w.firewallPorts()
	return fmt.Sprintf("firewall of %s: %v", g.name, g.ports)
}

// editRulesByHand inserts a rule into a firewall that a manifest describes. The agent notices it after minutes, which pass before the world is compared.
func (w *world) editRulesByHand() string {
	g := w.pick(func(g *machine) bool { return !g.template && g.ports != nil })
	if g == nil {
		return ""
	}
	for _, row := range w.state().Guests {
		if row.VMID == g.vmid {
			w.person(firewallPath(row.Node, g)+"/rules", "type=in&action=ACCEPT&enable=1&proto=tcp&dport=22")
			return "rule by hand of " + g.name
		}
	}
	return ""
}

func firewallPath(node string, g *machine) string {
	return fmt.Sprintf("/nodes/%s/%s/%d/firewall", node, map[string]string{"VirtualMachine": "qemu", "Container": "lxc"}[g.kind], g.vmid)
}

// compareFirewalls returns the differences between the rules that guests must have and those that they have.
func (w *world) compareFirewalls(state clusterState) (differences []string) {
	w.Helper()
	for _, row := range state.Guests {
		for _, g := range w.present() {
			if row.VMID != g.vmid || g.ports == nil {
				continue
			}
			var reply struct {
				Data []struct {
					Enable int
					DPort  string
				}
			}
			w.call(http.MethodGet, firewallPath(row.Node, g)+"/rules", "", &reply)
			var got, want []string
			for _, rule := range reply.Data {
				got = append(got, fmt.Sprintf("%s enable=%d", rule.DPort, rule.Enable))
			}
			for _, port := range g.ports {
				want = append(want, fmt.Sprintf("%d enable=1", port))
			}
			if !slices.Equal(got, want) {
				differences = append(differences, fmt.Sprintf("%s: got the rules %v, want %v", g.name, got, want))
			}
		}
	}
	return differences
}
