package reconcile_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"gitops-agent/internal/pvesim"
	"gitops-agent/reconcile/gate"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/reason"
	"gitops-agent/reconcile/report"
)

// TestGuardedFirewallIsOpenedWithApprovals opens a guarded firewall: until that is approved, the old one is kept, also after a restart and against edits.
func TestGuardedFirewallIsOpenedWithApprovals(t *testing.T) {
	guarded := walledYAML("  guarded: true")
	runLab(t, nil, func(t *testing.T, l *lab) {
		l.files["web.yaml"] = guarded
		l.push("a guarded firewall", alice)
		stop := l.start()
		defer func() { stop() }()
		l.converge()
		if got := l.rules(); got != walledRules {
			t.Fatalf("got %s, want %s", got, walledRules)
		}
		keeps := func(what string) {
			t.Helper()
			l.edit("DELETE", firewallPath+"/rules/1", "")
			l.edit("PUT", firewallPath+"/options", "policy_in=ACCEPT&dhcp=1")
			time.Sleep(12 * time.Minute)
			if got, wall := l.rules(), l.wall(); got != walledRules || strings.Contains(wall, "policy_in:ACCEPT") || strings.Contains(wall, "dhcp:1") {
				t.Errorf("%s: got %s, want the firewall in force", what, wall)
			}
		}

		opened := strings.Replace(guarded, `"80,443"`, `"80,443,8080"`, 1)
		l.files["web.yaml"] = opened
		l.push("open a port", alice)
		digest := l.waitForHeldGuard(201, "firewall: guarded", "in ACCEPT tcp to port 80,443,8080", "admits what no rule admitted before")
		keeps("held")
		stop()
		stop = l.start()
		l.waitForHeldGuard(201, "firewall: guarded")
		keeps("held after a restart")
		l.approve(digest)
		eventually(t, "the open port", func() bool { return strings.Contains(l.rules(), "8080") })
		l.converge()

		l.files["web.yaml"] = strings.Replace(opened, `"80,443,8080"`, `"443"`, 1)
		l.push("close ports", alice)
		eventually(t, "the closed ports", func() bool { return strings.HasSuffix(l.rules(), "port 443") })

		l.files["web.yaml"] = vmYAML("web-1", 201, "networks: {net0: {bridge: vmbr0, firewall: false}}")
		l.push("no firewall at all", alice)
		l.waitForHeldGuard(201, "firewall: guarded", "not guarded")
		l.edit("PUT", firewallPath+"/options", "enable=0")
		time.Sleep(12 * time.Minute)
		if wall, card := l.wall(), l.sim.Value(201, "net0"); !strings.Contains(wall, "enable:1") || !strings.Contains(card, "firewall=1") {
			t.Errorf("got %s and the card %s, want both as before", wall, card)
		}
	})
}

// TestAliasOfAGuardedFirewall changes an alias that a guarded guest admits.
func TestAliasOfAGuardedFirewall(t *testing.T) {
	runLab(t, nil, func(t *testing.T, l *lab) {
		l.grant("Sys.Modify")
		l.files["web.yaml"] = vmYAML("web-1", 201, "firewall:", "  guarded: true", "  enable: true", "  rules: [{type: in, action: ACCEPT, source: dc/office}]")
		l.files["office.yaml"] = officeAlias
		l.push("a guest and its alias", alice)
		defer l.start()()
		l.converge()
		address := func(cidr string) {
			l.files["office.yaml"] = strings.Replace(officeAlias, "10.1.0.0/24", cidr, 1)
			l.push("the office is "+cidr, alice)
		}
		address("10.1.0.0/25")
		eventually(t, "the smaller network", func() bool { return l.sim.Alias("office")["cidr"] == "10.1.0.0/25" })
		l.converge()
		address("10.0.0.0/8")
		eventually(t, "the hold", func() bool {
			held := l.object("Alias/office").Held
			return len(held) > 0 && held[0].Reason == reason.Guard && strings.Contains(held[0].Message, "alias office 10.1.0.0/25 -> 10.0.0.0/8")
		})
		time.Sleep(2 * time.Minute)
		if got := l.sim.Alias("office")["cidr"]; got != "10.1.0.0/25" {
			t.Errorf("got %s, want the address as it was", got)
		}
		l.approve(l.object("Alias/office").Held[0].Digest)
		eventually(t, "the larger network", func() bool { return l.sim.Alias("office")["cidr"] == "10.0.0.0/8" })
		l.converge()
	})
}

// TestLostMarkerOfWhatAGuardedFirewallNames widens an alias that a guarded guest admits by an edit that drops its comment, as on the command line. The agent may not repair what may be another
// object, so the guest says it until an approval names the overwriting.
func TestLostMarkerOfWhatAGuardedFirewallNames(t *testing.T) {
	runLab(t, nil, func(t *testing.T, l *lab) {
		l.grant("Sys.Modify")
		l.files["web.yaml"] = vmYAML("web-1", 201, "firewall:", "  guarded: true", "  enable: true", "  rules: [{type: in, action: ACCEPT, source: dc/office}]")
		l.files["other.yaml"], l.files["office.yaml"] = vmYAML("other-1", 202), officeAlias
		l.push("a guest and its alias", alice)
		defer l.start()()
		l.converge()
		l.sim.SetAlias("office", "10.0.0.0/8", "")
		warned := func(label string) bool { return l.objectHasReason(objectCase{label: label}, reason.NotManaged) }
		eventually(t, "the warning", func() bool { return warned("Alias/office") && warned("VirtualMachine/web-1") })
		if warned("VirtualMachine/other-1") {
			t.Error("got a warning at a guest that does not name the alias")
		}
		l.approve(l.object("Alias/office").Held[0].Digest)
		eventually(t, "the address", func() bool { return l.sim.Alias("office")["cidr"] == "10.1.0.0/24" })
		eventually(t, "the end of the warning", func() bool { return !warned("VirtualMachine/web-1") })
		l.converge()
	})
}

// TestGroupOfAGuardedFirewall makes a guarded guest with its group, and adds a rule to the group.
func TestGroupOfAGuardedFirewall(t *testing.T) {
	group := "apiVersion: proxmox.gitops/v1alpha1\nkind: SecurityGroup\nmetadata: {name: web}\nspec:\n  rules:\n    - {type: in, action: ACCEPT, macro: SSH}\n"
	runLab(t, nil, func(t *testing.T, l *lab) {
		l.grant("Sys.Modify")
		l.files["web.yaml"] = vmYAML("web-1", 201, "firewall:", "  guarded: true", "  enable: true", "  rules: [{group: web}]")
		l.files["group.yaml"] = group
		l.push("a guest and its group", alice)
		defer l.start()()
		l.converge()
		admits := func() bool {
			_, rules, _ := l.sim.Group("web")
			return slices.ContainsFunc(rules, func(r map[string]string) bool { return r["dport"] == "80" && r["enable"] == "1" })
		}
		l.files["group.yaml"] = group + "    - {type: in, action: ACCEPT, protocol: tcp, port: 80}\n"
		l.push("another port", alice)
		eventually(t, "the hold", func() bool {
			held := l.object("SecurityGroup/web").Held
			return len(held) > 0 && held[0].Reason == reason.Guard && strings.Contains(held[0].Message, "port 80")
		})
		time.Sleep(2 * time.Minute)
		if admits() {
			t.Error("got the rule in effect, want it held")
		}
		l.approve(l.object("SecurityGroup/web").Held[0].Digest)
		eventually(t, "the rule", admits)
		l.converge()
	})
}

// TestOneApprovalForAChangeOfASet adds five entries to a set that a guarded firewall admits, and removes one. One approval covers them, also across a restart; another
// change needs another one.
func TestOneApprovalForAChangeOfASet(t *testing.T) {
	runLab(t, nil, func(t *testing.T, l *lab) {
		l.grant("Sys.Modify")
		l.files["web.yaml"] = vmYAML("web-1", 201, "firewall:", "  guarded: true", "  enable: true", "  rules: [{type: in, action: ACCEPT, source: +dc/admins}]")
		l.files["admins.yaml"] = adminSet(1, 2)
		l.push("a guest and its set", alice)
		stop := l.start()
		defer func() { stop() }()
		l.converge()
		entries := func() string {
			return strings.ReplaceAll(strings.ReplaceAll(l.adminEntries(), "10.0.0.", ""), "|", " ")
		}
		held := func() string {
			t.Helper()
			var digest string
			eventually(t, "the hold", func() bool {
				list := l.object("IPSet/admins").Held
				if len(list) == 0 || list[0].Reason != reason.Guard {
					return false
				}
				digest = list[0].Digest
				return true
			})
			return digest
		}
		l.files["admins.yaml"] = adminSet(2, 3, 4, 5, 6, 7)
		l.push("five entries more", alice)
		first := held()
		stop()
		stop = l.start()
		if got := held(); got != first {
			t.Errorf("got the digest %s after a restart, want %s", got, first)
		}
		time.Sleep(2 * time.Minute)
		if got := entries(); got != "1 2" {
			t.Fatalf("got the entries %s before the approval, want 1 2", got)
		}
		l.files["admins.yaml"] = adminSet(2, 3, 4, 5, 6, 7, 8)
		l.push("one more", alice)
		eventually(t, "another digest", func() bool { return held() != first })
		l.approve(first)
		time.Sleep(2 * time.Minute)
		if got := entries(); got != "1 2" {
			t.Fatalf("got the entries %s with the approval of another change, want 1 2", got)
		}
		l.files["admins.yaml"] = adminSet(2, 3, 4, 5, 6, 7, 9)
		l.push("another one", alice)
		eventually(t, "a third digest", func() bool { held(); return strings.Contains(l.object("IPSet/admins").Held[0].Message, "10.0.0.9") })
		l.approve(held())
		l.converge()
		if got := entries(); got != "2 3 4 5 6 7 9" {
			t.Errorf("got the entries %s, want 2 3 4 5 6 7 9", got)
		}
		l.files["admins.yaml"] = adminSet(2, 3)
		l.push("fewer", alice)
		l.converge()
		l.files["admins.yaml"] = adminSet(2, 3, 4, 5, 6, 7, 9)
		l.push("the approved ones again", alice)
		held() // the approval is used up
		time.Sleep(2 * time.Minute)
		if got := entries(); got != "2 3" {
			t.Errorf("got the entries %s without another approval, want 2 3", got)
		}
	})
}

// TestApprovalEndsWithItsChange approves that a set gets five entries, of which the agent adds some. The change is reverted, or a person makes the rest of it. The same change
// needs another approval then.
func TestApprovalEndsWithItsChange(t *testing.T) {
	t.Parallel()
	revert := func(l *lab) {
		l.files["admins.yaml"] = adminSet(1, 2)
		l.push("revert", alice)
	}
	tests := map[string]struct{ end, empty func(l *lab) }{
		"reverted": {revert, func(*lab) {}},
		"completed_by_hand": {func(l *lab) {
			for n := 3; n <= 7; n++ {
				if cidr := fmt.Sprintf("10.0.0.%d", n); !strings.Contains(l.adminEntries(), cidr) {
					l.edit("POST", "/cluster/firewall/ipset/admins", "cidr="+cidr)
				}
			}
		}, revert},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			runLab(t, nil, func(t *testing.T, l *lab) {
				l.grant("Sys.Modify")
				l.files["web.yaml"] = vmYAML("web-1", 201, "firewall:", "  guarded: true", "  enable: true", "  rules: [{type: in, action: ACCEPT, source: +dc/admins}]")
				l.files["admins.yaml"] = adminSet(1, 2)
				l.push("a guest and its set", alice)
				stop := l.start()
				defer func() { stop() }()
				l.converge()
				before := l.adminEntries()
				isHeld := func() bool {
					held := l.object("IPSet/admins").Held
					return len(held) > 0 && held[0].Reason == reason.Guard
				}
				l.files["admins.yaml"] = adminSet(1, 2, 3, 4, 5, 6, 7)
				l.push("five entries more", alice)
				eventually(t, "the hold", isHeld)
				digest := l.object("IPSet/admins").Held[0].Digest
				l.ok(l.sim.Inject(pvesim.Fault{Kind: pvesim.Latency, Method: "POST", Path: "/ipset/admins", Delay: 10 * time.Second, Times: -1}))
				l.approve(digest)
				eventually(t, "the first entry", func() bool { return l.adminEntries() != before })
				stop()
				if n := strings.Count(l.adminEntries(), "10.0.0."); n >= 7 {
					t.Fatalf("got %d entries when the agent stopped, want a part of them", n)
				}
				test.end(l)
				stop = l.start()
				l.converge()
				eventually(t, "the end of the approval", func() bool {
					for _, o := range l.journal.State().Orders {
						if o.Order == gate.ApprovePrefix+digest {
							return o.State == journal.OrderExpired
						}
					}
					return false
				})
				test.empty(l)
				l.converge()
				time.Sleep(30 * time.Minute)
				l.files["admins.yaml"] = adminSet(1, 2, 3, 4, 5, 6, 7)
				l.push("the same again", alice)
				eventually(t, "another hold", isHeld)
				time.Sleep(5 * time.Minute)
				if got := l.adminEntries(); got != before {
					t.Errorf("got the entries %s without another approval, want %s", got, before)
				}
			})
		})
	}
}

// adminSet returns the manifest of the set admins with addresses by their last number.
func adminSet(last ...int) string {
	var text strings.Builder
	text.WriteString("apiVersion: proxmox.gitops/v1alpha1\nkind: IPSet\nmetadata: {name: admins}\nspec:\n  entries:\n")
	for _, n := range last {
		fmt.Fprintf(&text, "    - {cidr: 10.0.0.%d}\n", n)
	}
	return text.String()
}

// TestNamesInAGroupOfAGuardedFirewall changes a set and an alias that a group of a guarded guest names. The group has no manifest in one case.
func TestNamesInAGroupOfAGuardedFirewall(t *testing.T) {
	t.Parallel()
	const set = "apiVersion: proxmox.gitops/v1alpha1\nkind: IPSet\nmetadata: {name: admins}\nspec: {entries: [{cidr: dc/office}, {cidr: 10.9.0.1}]}\n"
	const group = "apiVersion: proxmox.gitops/v1alpha1\nkind: SecurityGroup\nmetadata: {name: web}\nspec:\n  rules:\n    - {type: in, action: ACCEPT, source: +dc/admins}\n"
	for name, managed := range map[string]bool{"with_manifest": true, "without_manifest": false} {
		t.Run(name, func(t *testing.T) {
			runLab(t, nil, func(t *testing.T, l *lab) {
				l.grant("Sys.Modify")
				l.files["admins.yaml"], l.files["office.yaml"], l.files["keep.yaml"] = set, officeAlias, vmYAML("keep-1", 209)
				l.push("a set and an alias", alice)
				defer l.start()()
				l.converge()
				if managed {
					l.files["group.yaml"] = group
				} else {
					l.edit("POST", "/cluster/firewall/groups", "group=web")
					l.edit("POST", "/cluster/firewall/groups/web", "type=in&action=ACCEPT&source=%2Bdc/admins&enable=1")
				}
				l.files["web.yaml"] = vmYAML("web-1", 201, "firewall:", "  guarded: true", "  enable: true", "  rules: [{group: web}]")
				l.push("a guest and its group", alice)
				l.converge()
				held := func(label string) string {
					t.Helper()
					eventually(t, "the hold of "+label, func() bool {
						list := l.object(label).Held
						return len(list) > 0 && list[0].Reason == reason.Guard
					})
					return l.object(label).Held[0].Digest
				}

				l.files["admins.yaml"] = strings.Replace(set, "10.9.0.1", "10.9.0.0/16", 1)
				l.push("more admins", alice)
				digest := held("IPSet/admins")
				time.Sleep(2 * time.Minute)
				if got := l.adminEntries(); strings.Contains(got, "/16") {
					t.Fatalf("got %s before the approval", got)
				}
				l.approve(digest)
				l.converge()

				l.files["office.yaml"] = strings.Replace(officeAlias, "10.1.0.0/24", "10.1.0.0/25", 1)
				l.push("a smaller office", alice)
				l.converge()
				l.files["office.yaml"] = strings.Replace(officeAlias, "10.1.0.0/24", "10.0.0.0/8", 1)
				l.push("a larger office", alice)
				digest = held("Alias/office")
				if got := l.sim.Alias("office")["cidr"]; got != "10.1.0.0/25" {
					t.Fatalf("got %s before the approval", got)
				}
				l.approve(digest)
				l.converge()
			})
		})
	}
}

// A guest that the agent has not read since its start may name a set: its node is offline, or one reading fails.
func TestSetOfAGuardedGuestThatWasNotRead(t *testing.T) {
	t.Parallel()
	const set = "apiVersion: proxmox.gitops/v1alpha1\nkind: IPSet\nmetadata: {name: admins}\nspec: {entries: [{cidr: 10.9.0.1}]}\n"
	for name, hide := range map[string]func(l *lab) (show func()){
		"its node is offline": func(l *lab) func() {
			l.sim.StopNode("pve2")
			time.Sleep(time.Minute)
			return func() { l.sim.StartNode("pve2") }
		},
		"its configuration cannot be read": func(l *lab) func() {
			l.ok(l.sim.Inject(pvesim.Fault{Kind: pvesim.ErrorText, Method: "GET", Path: "/qemu/201/pending", Text: "got timeout", Times: -1}))
			return l.sim.ClearFaults
		},
	} {
		t.Run(name, func(t *testing.T) {
			runLabWithTwoNodes(t, func(t *testing.T, l *lab) {
				l.grant("Sys.Modify")
				l.files["admins.yaml"] = set
				web := vmYAML("web-1", 201, "firewall:", "  guarded: true", "  enable: true", "  rules: [{type: in, action: ACCEPT, source: +dc/admins}]")
				l.files["web.yaml"] = strings.Replace(web, "node: pve1", "node: pve2", 1)
				l.files["keep.yaml"] = vmYAML("keep-1", 209)
				l.push("a guest and a set", alice)
				stop := l.start()
				l.converge()
				stop()
				show := hide(l)
				l.files["admins.yaml"] = strings.Replace(set, "10.9.0.1", "0.0.0.0/1", 1)
				l.push("half of the world", alice)
				defer l.start()()
				isHeld := func() bool {
					list := l.object("IPSet/admins").Held
					return len(list) > 0 && list[0].Reason == reason.Guard
				}
				eventually(t, "the hold", isHeld)
				show()
				time.Sleep(3 * time.Minute)
				if got := l.adminEntries(); got != "10.9.0.1" || !isHeld() {
					t.Errorf("after the guest was read: got the entries %s and %+v, want the former entry and a hold", got, l.object("IPSet/admins").Held)
				}
			})
		})
	}
}

// The approval of a group names the set that its rules will name, and not the entries of the set: they need an approval of their own before and after.
func TestSetThatAGroupOfAGuardedFirewallWillName(t *testing.T) {
	const set = "apiVersion: proxmox.gitops/v1alpha1\nkind: IPSet\nmetadata: {name: admins}\nspec: {entries: [{cidr: 10.9.0.1}]}\n"
	const group = "apiVersion: proxmox.gitops/v1alpha1\nkind: SecurityGroup\nmetadata: {name: web}\nspec:\n  rules:\n    - {type: in, action: ACCEPT, source: 10.1.1.1}\n"
	runLab(t, nil, func(t *testing.T, l *lab) {
		l.grant("Sys.Modify")
		l.files["admins.yaml"], l.files["group.yaml"] = set, group
		l.files["web.yaml"] = vmYAML("web-1", 201, "firewall:", "  guarded: true", "  enable: true", "  rules: [{group: web}]")
		l.push("a guest, its group and a set", alice)
		defer l.start()()
		l.converge()
		held := func(label string) []report.HeldStep { return l.object(label).Held }
		l.files["group.yaml"] = group + "    - {type: in, action: ACCEPT, source: +dc/admins}\n"
		l.push("admins too", alice)
		eventually(t, "the hold of the group", func() bool { return len(held("SecurityGroup/web")) > 0 })
		l.files["admins.yaml"] = strings.Replace(set, "10.9.0.1", "0.0.0.0/1", 1)
		l.push("half of the world", alice)
		eventually(t, "the hold of the set", func() bool { return len(held("IPSet/admins")) > 0 && held("IPSet/admins")[0].Reason == reason.Guard })
		l.approve(held("SecurityGroup/web")[0].Digest)
		eventually(t, "the rules of the group", func() bool { return len(held("SecurityGroup/web")) == 0 && strings.Contains(l.webRules(), "admins") })
		time.Sleep(3 * time.Minute)
		if got := l.adminEntries(); got != "10.9.0.1" {
			t.Errorf("after the approval of the group: got the entries %s, want the former one", got)
		}
		l.approve(held("IPSet/admins")[0].Digest)
		l.converge()
		if got := l.adminEntries(); got != "0.0.0.0/1" {
			t.Errorf("after both approvals: got the entries %s, want the new one", got)
		}
	})
}

// TestManyGuardedFirewallsAreAccepted accepts guarded firewalls that differ and are together almost as large as a source may have. All of them are in the journal.
func TestManyGuardedFirewallsAreAccepted(t *testing.T) {
	const guests = 130
	var class strings.Builder
	class.WriteString("apiVersion: proxmox.gitops/v1alpha1\nkind: GuestClass\nmetadata: {name: walled}\nspec:\n  virtualMachine:\n    firewall:\n      guarded: true\n      enable: true\n      rules:\n")
	for i := range 155 {
		fmt.Fprintf(&class, "        - {type: in, action: ACCEPT, protocol: tcp, port: \"%d\", comment: %s}\n", 1000+i, strings.Repeat("x", 120))
	}
	runLab(t, nil, func(t *testing.T, l *lab) {
		l.files["class.yaml"], l.files["cluster.yaml"] = class.String(), strings.Replace(clusterYAML, "299", "499", 1)
		for i := range guests {
			l.files[fmt.Sprintf("web-%d.yaml", i)] = vmYAML(fmt.Sprint("web-", i), 300+i, "class: walled", fmt.Sprintf("firewall: {ipSets: {own: {comment: web-%d}}}", i))
		}
		id := l.push("many guarded firewalls", alice)
		defer l.start()()
		l.waitForAcceptance(id)
		if got := len(l.journal.State().Guarded); got != guests {
			t.Errorf("got %d guarded guests, want %d", got, guests)
		}
	})
}

// TestEditOfWhatAGuardedFirewallNamesIsRepaired narrows by hand what a guarded firewall names, while the manifests stay as they are. A manifest that narrows it and one that
// widens it again need an approval for the second.
func TestEditOfWhatAGuardedFirewallNamesIsRepaired(t *testing.T) {
	t.Parallel()
	group := func(ports ...int) string {
		var text strings.Builder
		text.WriteString("apiVersion: proxmox.gitops/v1alpha1\nkind: SecurityGroup\nmetadata: {name: web}\nspec:\n  rules:\n")
		for _, port := range ports {
			fmt.Fprintf(&text, "    - {type: in, action: ACCEPT, protocol: tcp, port: %d}\n", port)
		}
		return text.String()
	}
	alias := func(cidr string) string { return strings.Replace(officeAlias, "10.1.0.0/24", cidr, 1) }
	tests := map[string]struct {
		label, rule     string
		wide, narrow    string // manifests
		edit            func(l *lab)
		isWide, isSmall func(l *lab) bool
	}{
		"alias": {
			"Alias/office", "{type: in, action: ACCEPT, source: dc/office}", alias("10.1.0.0/24"), alias("10.1.0.7"),
			func(l *lab) { l.sim.SetAlias("office", "10.1.0.7", l.sim.Alias("office")["comment"]) },
			func(l *lab) bool { return l.sim.Alias("office")["cidr"] == "10.1.0.0/24" },
			func(l *lab) bool { return l.sim.Alias("office")["cidr"] == "10.1.0.7" },
		},
		"removed_alias": {
			"Alias/office", "{type: in, action: ACCEPT, source: dc/office}", alias("10.1.0.0/24"), alias("10.1.0.7"),
			func(l *lab) { l.sim.RemoveAlias("office") },
			func(l *lab) bool { return l.sim.Alias("office")["cidr"] == "10.1.0.0/24" },
			func(l *lab) bool { return l.sim.Alias("office")["cidr"] == "10.1.0.7" },
		},
		"set": {
			"IPSet/admins", "{type: in, action: ACCEPT, source: +dc/admins}", adminSet(1, 2, 3, 4), adminSet(1),
			func(l *lab) {
				for n := 2; n <= 4; n++ {
					l.edit("DELETE", fmt.Sprintf("/cluster/firewall/ipset/admins/10.0.0.%d", n), "")
				}
			},
			func(l *lab) bool { return strings.Count(l.adminEntries(), "10.0.0.") == 4 },
			func(l *lab) bool { return strings.Count(l.adminEntries(), "10.0.0.") == 1 },
		},
		"group": {
			"SecurityGroup/web", "{group: web}", group(22, 80, 443), group(22),
			func(l *lab) {
				l.edit("DELETE", "/cluster/firewall/groups/web/2", "")
				l.edit("DELETE", "/cluster/firewall/groups/web/1", "")
			},
			func(l *lab) bool { _, rules, _ := l.sim.Group("web"); return len(rules) == 3 },
			func(l *lab) bool { _, rules, _ := l.sim.Group("web"); return len(rules) == 1 },
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			runLab(t, nil, func(t *testing.T, l *lab) {
				l.grant("Sys.Modify")
				l.files["web.yaml"] = vmYAML("web-1", 201, "firewall:", "  guarded: true", "  enable: true", "  rules: ["+test.rule+"]")
				l.files["object.yaml"] = test.wide
				l.push("a guest and what it names", alice)
				defer l.start()()
				l.converge()
				kind, id, _ := strings.Cut(test.label, "/")
				eventually(t, "the record of the object", func() bool {
					return len(l.journal.State().Objects[journal.ObjectID{Kind: kind, ID: id}].Agreed) == 1
				})
				test.edit(l)
				eventually(t, "the repair", func() bool { return test.isWide(l) })
				l.converge()

				l.files["object.yaml"] = test.narrow
				l.push("less", alice)
				eventually(t, "the change", func() bool { return test.isSmall(l) })
				l.converge()
				l.files["object.yaml"] = test.wide
				l.push("as before", alice)
				eventually(t, "the hold", func() bool {
					held := l.object(test.label).Held
					return len(held) > 0 && held[0].Reason == reason.Guard
				})
				time.Sleep(5 * time.Minute)
				if !test.isSmall(l) {
					t.Error("got it changed without an approval")
				}
				l.approve(l.object(test.label).Held[0].Digest)
				eventually(t, "the approved change", func() bool { return test.isWide(l) })
				l.converge()
			})
		})
	}
}
