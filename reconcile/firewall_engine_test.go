package reconcile_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"gitops-agent/internal/pvesim"
	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/reason"
)

const firewallPath = "/nodes/pve1/qemu/201/firewall"

// walledYAML is a machine with a firewall of two rules, a set and an alias.
func walledYAML(more ...string) string {
	return vmYAML("web-1", 201, append([]string{
		"networks: {net0: {bridge: vmbr0, firewall: true}}",
		"firewall:",
		"  enable: true",
		"  policyIn: DROP",
		"  rules:",
		"    - {type: in, action: ACCEPT, macro: SSH, source: +admins, comment: from the office}",
		"    - {type: in, action: ACCEPT, protocol: tcp, port: \"80,443\"}",
		"  ipSets: {admins: {entries: [{cidr: 10.0.0.0/24}, {cidr: 10.1.0.5}]}}",
		"  aliases: {office: {cidr: 10.0.0.0/24}}",
	}, more...)...)
}

const walledRules = "in ACCEPT ssh from +admins # from the office|in ACCEPT tcp to port 80,443"

// rules returns the rules of the guest as one text.
func (l *lab) rules() string {
	l.Helper()
	seen, err := l.cluster.Firewall(l.Context(), cluster.Row{Kind: guest.VirtualMachine, Node: "pve1", VMID: 201}, true)
	l.ok(err)
	var words []string
	for _, r := range seen.Rules {
		words = append(words, r.String())
	}
	return strings.Join(words, "|")
}

// wall returns the whole firewall of the guest as one text.
func (l *lab) wall() string {
	l.Helper()
	seen, err := l.cluster.Firewall(l.Context(), cluster.Row{Kind: guest.VirtualMachine, Node: "pve1", VMID: 201}, true)
	l.ok(err)
	return fmt.Sprint(seen.Options, seen.Rules, seen.Aliases, seen.Sets)
}

// edit changes a firewall as a person does.
func (l *lab) edit(method, path, form string) {
	l.Helper()
	if method == http.MethodDelete {
		path += "?" + form
		form = ""
	}
	l.callAs("root@pam!full", method, path, form)
}

func TestEngineKeepsAFirewall(t *testing.T) {
	edits := map[string]func(l *lab){
		"rule added":   func(l *lab) { l.edit("POST", firewallPath+"/rules", "type=in&action=ACCEPT&enable=1") },
		"rule removed": func(l *lab) { l.edit("DELETE", firewallPath+"/rules/1", "") },
		"rule moved":   func(l *lab) { l.edit("PUT", firewallPath+"/rules/1", "moveto=0") },
		"rule off":     func(l *lab) { l.edit("PUT", firewallPath+"/rules/0", "enable=0") },
		"policy":       func(l *lab) { l.edit("PUT", firewallPath+"/options", "policy_in=ACCEPT") },
		"set":          func(l *lab) { l.edit("POST", firewallPath+"/ipset/admins", "cidr=10.9.9.9") },
		"alias":        func(l *lab) { l.edit("PUT", firewallPath+"/aliases/office", "cidr=10.7.0.0/16") },
	}
	runLab(t, nil, func(t *testing.T, l *lab) {
		l.files["web.yaml"] = walledYAML()
		l.push("a guest with a firewall", alice)
		defer l.start()()
		l.converge()
		if got := l.rules(); got != walledRules {
			t.Fatalf("got %s, want %s", got, walledRules)
		}
		whole := l.wall()
		l.sim.ResetCounters()
		time.Sleep(30 * time.Minute)
		c := l.sim.Counters()
		if c.Writes != 0 {
			t.Errorf("got %d writes to a converged guest, want none", c.Writes)
		}
		if reads := c.Routes["GET /nodes/{node}/qemu/{vmid}/firewall/rules"]; reads < 2 || reads > 4 {
			t.Errorf("got %d readings of the firewall in 30 minutes, want one in ten", reads)
		}
		for name, edit := range edits {
			edit(l)
			if l.wall() == whole {
				t.Fatalf("%s: got the firewall as before, want an edit", name)
			}
			time.Sleep(12 * time.Minute)
			l.converge()
			if got := l.wall(); got != whole {
				t.Errorf("%s: got %s, want %s", name, got, whole)
			}
		}
		if got := l.sim.Effects(201, pvesim.Started); got != 0 {
			t.Errorf("got %d starts, want none", got)
		}
	})
}

// TestFirewallOfACloneIsTheManifests clones a template with a firewall of its own.
func TestFirewallOfACloneIsTheManifests(t *testing.T) {
	runLab(t, nil, func(t *testing.T, l *lab) {
		l.edit("POST", "/nodes/pve1/qemu/9000/firewall/rules", "type=in&action=ACCEPT&enable=1&comment=of+the+template")
		l.edit("PUT", "/nodes/pve1/qemu/9000/firewall/options", "enable=1&policy_in=ACCEPT")
		l.files["web.yaml"] = walledYAML("state: running")
		l.push("a clone with a firewall", alice)
		defer l.start()()
		l.converge()
		if got := l.rules(); got != walledRules || !l.sim.Running(201) {
			t.Errorf("got %s, running %v, want %s and running", got, l.sim.Running(201), walledRules)
		}
	})
}

// TestFirewallOfAFreeVMIDIsClearedFirst holds that a new guest never has rules that somebody wrote for its vmid before.
func TestFirewallOfAFreeVMIDIsClearedFirst(t *testing.T) {
	runLab(t, nil, func(t *testing.T, l *lab) {
		l.edit("POST", firewallPath+"/rules", "type=in&action=ACCEPT&enable=1&comment=of+somebody")
		l.edit("PUT", firewallPath+"/options", "enable=0")
		blank := strings.Replace(walledYAML("  keepOthers: true", "state: running"), "source: {clone: {name: tmpl-debian-12}}", "source: {blank: {}}", 1)
		l.files["web.yaml"] = blank
		l.push("a new guest with a firewall", alice)
		defer l.start()()
		l.converge()
		if got := l.rules(); got != walledRules {
			t.Errorf("got %s, want %s", got, walledRules)
		}
		steps := l.executed()
		if created := strings.Index(steps, "create"); created < 0 || strings.Index(steps, "firewall") > created || strings.LastIndex(steps, "firewall") > strings.Index(steps, "start") {
			t.Errorf("got steps %s, want the firewall cleared before the create, and complete before the start", steps)
		}
	})
}

// executed returns the operations of the executed steps in order.
func (l *lab) executed() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var words []string
	for _, o := range l.steps {
		words = append(words, string(o.Step.Op))
	}
	return strings.Join(words, " ")
}

// TestFirewallAfterFaults gives calls no reply, and edits the rules in between.
func TestFirewallAfterFaults(t *testing.T) {
	t.Parallel()
	tests := map[string]pvesim.Fault{
		"lost reply to a new rule":    {Kind: pvesim.DropAfter, Method: "POST", Path: "/firewall/rules$"},
		"lost new rule":               {Kind: pvesim.DropBefore, Method: "POST", Path: "/firewall/rules$"},
		"lost reply to a change":      {Kind: pvesim.DropAfter, Method: "PUT", Path: "/firewall/rules/"},
		"lost reply to the options":   {Kind: pvesim.DropAfter, Method: "PUT", Path: "/firewall/options$"},
		"lost reply to an entry":      {Kind: pvesim.DropAfter, Method: "POST", Path: "/firewall/ipset/admins$"},
		"unreadable rules":            {Kind: pvesim.InvalidJSON, Method: "GET", Path: "/firewall/rules$"},
		"lost reply, then no reading": {Kind: pvesim.ProxyStatus, Status: 596, AfterActing: true, Method: "PUT", Path: "/firewall/"},
	}
	for name, fault := range tests {
		t.Run(name, func(t *testing.T) {
			runLab(t, nil, func(t *testing.T, l *lab) {
				l.rareTicks()
				l.ok(l.sim.Inject(fault))
				l.files["web.yaml"] = walledYAML()
				l.push("a guest with a firewall", alice)
				defer l.start()()
				time.Sleep(time.Hour)
				l.converge()
				if got := l.rules(); got != walledRules {
					t.Errorf("got %s, want %s", got, walledRules)
				}
			})
		})
	}
}

// TestFirewallAfterACrash kills the agent around a call to the firewall.
func TestFirewallAfterACrash(t *testing.T) {
	t.Parallel()
	for _, at := range []string{"before-call", "after-call"} {
		t.Run(at, func(t *testing.T) {
			runLab(t, nil, func(t *testing.T, l *lab) {
				l.files["web.yaml"] = vmYAML("web-1", 201, "networks: {net0: {bridge: vmbr0, firewall: true}}")
				l.crashAndRecover(cluster.OpFirewall, at, func(l *lab) {
					l.files["web.yaml"] = walledYAML()
					l.push("a firewall", alice)
				})
				if got := l.rules(); got != walledRules {
					t.Errorf("got %s, want %s", got, walledRules)
				}
			})
		})
	}
}

// TestFirewallWithoutEffectIsReported lets the datacenter's firewall be off, and the network card have no firewall.
func TestFirewallWithoutEffectIsReported(t *testing.T) {
	runLab(t, nil, func(t *testing.T, l *lab) {
		l.files["web.yaml"] = strings.Replace(walledYAML(), ", firewall: true", ", firewall: false", 1)
		l.push("a guest with a firewall", alice)
		defer l.start()()
		l.converge()
		l.waitForCondition(201, "the firewall of the datacenter is off", "net0 has no firewall=1")
		l.edit("PUT", "/cluster/firewall/options", "enable=1")
		l.edit("PUT", "/nodes/pve1/qemu/201/config", "net0=virtio=BC:24:11:00:00:01,bridge=vmbr0,firewall=1")
		l.files["web.yaml"] = walledYAML()
		l.push("the card has a firewall", alice)
		eventually(t, "the end of the warning", func() bool {
			for _, c := range l.guest(l.engine.Report(), 201).Conditions {
				if c.Reason == reason.FirewallIneffective {
					return false
				}
			}
			return l.engine.Report().Converged
		})
	})
}

// TestFirewallsCostNothingUnused holds that guests without a firewall in their manifest cause no call to a firewall.
func TestFirewallsCostNothingUnused(t *testing.T) {
	runLab(t, nil, func(t *testing.T, l *lab) {
		l.files["web.yaml"] = vmYAML("web-1", 201)
		l.push("a guest", alice)
		defer l.start()()
		l.converge()
		time.Sleep(20 * time.Minute)
		for route, calls := range l.sim.Counters().Routes {
			if strings.Contains(route, "firewall") {
				t.Errorf("got %d calls of %s, want none", calls, route)
			}
		}
	})
}
