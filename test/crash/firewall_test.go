//go:build integration

package crash

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
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

// firewallText returns the firewall of the manifest with one rule for each port.
func (g *machine) firewallText() string {
	ports, guarded := g.ports, ""
	if g.asked != nil {
		ports = g.asked
	}
	if g.guarded {
		guarded = "guarded: true, "
	}
	var rules []string
	for _, port := range ports {
		rules = append(rules, fmt.Sprintf(`{type: in, action: ACCEPT, protocol: tcp, port: "%d"}`, port))
	}
	return "firewall: {" + guarded + "enable: true, policyIn: DROP, rules: [" + strings.Join(rules, ", ") + "]}"
}

// editFirewall gives a guest other rules, or the same in another order.
func (w *world) editFirewall() string {
	g := w.pick(func(g *machine) bool { return !g.template && g.asked == nil })
	if g == nil {
		return ""
	}
	ports := w.firewallPorts()
	if g.guarded && !containsAll(g.ports, ports) {
		g.asked = ports
		return fmt.Sprintf("guarded firewall of %s: %v instead of %v, without an approval", g.name, ports, g.ports)
	}
	g.ports = ports
	return fmt.Sprintf("firewall of %s: %v", g.name, g.ports)
}

// openGuardedFirewalls asks for one port more in a guarded firewall, without an approval, or lets people approve what was asked for in an earlier round.
func (w *world) openGuardedFirewalls() (done []string) {
	for _, g := range w.present() {
		switch {
		case g.asked != nil && !g.changed:
			w.approveFirewall(g)
			done = append(done, fmt.Sprintf("approve the firewall of %s: %v", g.name, g.ports))
		case g.guarded && g.asked == nil && !g.changed:
			g.asked, g.changed = append(slices.Clone(g.ports), 9000+len(g.ports)), true
			w.total.changed("open a guarded firewall")
			done = append(done, fmt.Sprintf("open the guarded firewall of %s: %v instead of %v, without an approval", g.name, g.asked, g.ports))
		}
	}
	return done
}

// approveFirewall lets people approve that a guarded firewall is opened.
func (w *world) approveFirewall(g *machine) {
	g.ports, g.asked, g.approve, g.changed = g.asked, nil, true, true
	w.total.changed("approve a firewall")
}

// approveFirewalls lets people approve that each guarded firewall is opened as its manifest asks for.
func (w *world) approveFirewalls() {
	for _, g := range w.present() {
		if g.asked != nil {
			w.approveFirewall(g)
			w.did("approve the firewall of %s: %v", g.name, g.ports)
		}
	}
}

func containsAll(list, elements []int) bool {
	return !slices.ContainsFunc(elements, func(e int) bool { return !slices.Contains(list, e) })
}

// byHand is the port of the rules that people insert.
const byHand = 22

// checkGuardedFirewalls requires that no guarded firewall admits what was not approved: each port in effect was admitted when the round began, or is admitted
// at its end. What a person inserts by hand does not count; the comparison at the end of the round finds it. A node that does not answer is left out.
func (w *world) checkGuardedFirewalls() {
	w.Helper()
	for _, row := range w.state().Guests {
		for _, g := range w.present() {
			if row.VMID != g.vmid || !g.guarded {
				continue
			}
			for _, rule := range w.rulesOf(firewallPath(row.Node, g)) {
				port, err := strconv.Atoi(rule.DPort)
				if rule.Enable == 1 && (err != nil || port != byHand && !slices.Contains(g.ports, port) && !slices.Contains(g.formerPorts, port)) {
					w.Fatalf("%s: the guarded firewall admits port %s without an approval, want at most %v and %v", g.name, rule.DPort, g.formerPorts, g.ports)
				}
			}
			w.total.guarded.Add(1)
		}
	}
}

// firewallRule is a rule of a firewall as Proxmox shows it.
type firewallRule struct {
	Enable int
	DPort  string
}

// rulesOf reads the rules of a firewall, none if Proxmox does not answer.
func (w *world) rulesOf(path string) []firewallRule {
	w.Helper()
	resp, err := w.exchange(http.MethodGet, path+"/rules", "")
	if err != nil {
		return nil
	}
	defer func() { _ = resp.Body.Close() }()
	var reply struct{ Data []firewallRule }
	if resp.StatusCode != http.StatusOK || json.NewDecoder(resp.Body).Decode(&reply) != nil {
		return nil
	}
	return reply.Data
}

// editRulesByHand inserts a rule into a firewall that a manifest describes. The agent notices it after minutes, which pass before the world is compared.
func (w *world) editRulesByHand() string {
	g := w.pick(func(g *machine) bool { return !g.template && g.ports != nil })
	if g == nil {
		return ""
	}
	for _, row := range w.state().Guests {
		if row.VMID == g.vmid {
			w.person(firewallPath(row.Node, g)+"/rules", fmt.Sprintf("type=in&action=ACCEPT&enable=1&proto=tcp&dport=%d", byHand))
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
			var reply struct{ Data []firewallRule }
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
