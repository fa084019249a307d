package reconcile_test

import (
	"strings"
	"testing"
	"time"

	"gitops-agent/internal/pvesim"
	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/reason"
	"gitops-agent/verify"
)

// TestSuspendedGuestIsNotForced makes objects with which Proxmox would move, stop or pause a guest that is suspended, or that its manifest only observes, by a signer who may change nothing
// of it. They wait until the guest may be changed.
func TestSuspendedGuestIsNotForced(t *testing.T) {
	t.Parallel()
	rule := objectYAML("AffinityRule", "away", "type: node, nodes: [pve2], strict: true, guests: [VirtualMachine/web-1]")
	job := func(guests, mode string) string {
		return objectYAML("BackupJob", "away", "schedule: hourly, storage: local, guests: {"+guests+"}, backupMode: "+mode)
	}
	for name, test := range map[string]struct {
		guest, object string
		held          reason.Name // "" if the object is made
		removed       bool        // the manifest of the guest is removed before
	}{
		"rule":            {"suspend: {reason: forensics}", rule, reason.Suspended, false},
		"rule_observed":   {"mode: observe", rule, reason.ManifestForbids, false},
		"rule_removed":    {"suspend: {reason: forensics}", strings.Replace(rule, "strict: true, guests: [VirtualMachine/web-1]", "strict: true, guests: [VirtualMachine/web-2]", 1), "", true},
		"stops":           {"suspend: {reason: forensics}", job("vmids: [201]", "stop"), reason.Suspended, false},
		"stops_all":       {"suspend: {reason: forensics}", job("all: true", "suspend"), reason.Suspended, false},
		"stops_a_pool":    {"suspend: {reason: forensics}", job("pool: lab", "stop"), reason.Suspended, false},
		"stops_removed":   {"suspend: {reason: forensics}", job("all: true", "stop"), reason.Suspended, true},
		"stops_others":    {"suspend: {reason: forensics}", job("vmids: [202]", "stop"), "", false},
		"does_not_stop":   {"suspend: {reason: forensics}", job("all: true", "snapshot"), "", false},
		"end_has_passed":  {"suspend: {reason: forensics, until: 2000-01-01T00:00:00Z}", rule, "", false},
		"nothing_of_that": {"memory: {size: 1Gi}", rule, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			runLabOn(t, pvesim.Options{Nodes: []string{"pve1", "pve2"}}, func(t *testing.T, l *lab) {
				l.grant("Sys.Console", "Sys.Modify", "Datastore.Allocate", "VM.Backup", "Pool.Allocate", "VM.Allocate")
				l.trustSigners(aliceMay(), verify.Signer{Name: "wanda", Issuer: wanda.Issuer, Subject: wanda.Subject, May: []verify.Role{verify.RoleChange}, Paths: []string{"web"}})
				l.sim.AddPool("lab", "")
				managed := "ha: {state: started}"
				l.files["web.yaml"], l.files["other.yaml"] = vmYAML("web-1", 201, managed, "pool: lab"), vmYAML("web-2", 202, managed)
				l.push("two guests", alice)
				defer l.start()()
				l.converge()
				l.files["web.yaml"] = vmYAML("web-1", 201, managed, "pool: lab", test.guest)
				l.waitForAcceptance(l.push("nobody touches it", alice))
				if test.removed {
					delete(l.files, "web.yaml")
					l.waitForAcceptance(l.push("its manifest is not needed", alice))
				}
				l.files["web/away.yaml"] = test.object
				l.waitForAcceptance(l.push("an object", wanda))
				if test.held == "" {
					eventually(t, "the object", func() bool { return l.sim.HARule("away") != nil || l.sim.BackupJob("away") != nil })
					return
				}
				eventually(t, "the hold", func() bool {
					held := l.object(strings.Fields(strings.Split(test.object, "kind: ")[1])[0] + "/away").Held
					return len(held) == 1 && held[0].Reason == test.held
				})
				time.Sleep(time.Hour)
				if l.sim.HARule("away") != nil || l.sim.BackupJob("away") != nil || l.sim.Effects(201, pvesim.Migrated) > 0 {
					t.Error("got the object made, want it to wait")
				}
			})
		})
	}
}

// TestMovedByHandToAJobThatKeepsLess moves a guest by hand to a node whose job keeps less on the same storage. No commit did it, so the guest has a condition, until it is back.
func TestMovedByHandToAJobThatKeepsLess(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		keeps string
		less  bool
	}{"less": {"keep-last=1", true}, "as_much": {"keep-last=30", false}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			runWithJob(t, map[string]string{"all": "1", "node": "pve1", "prune-backups": "keep-last=30"}, func(t *testing.T, l *lab) {
				l.sim.SetBackupJob("second", map[string]string{"schedule": "daily", "enabled": "1", "storage": "local", "all": "1", "node": "pve2", "prune-backups": test.keeps})
				move := func(from, to string) {
					l.callAs("root@pam!full", "POST", "/nodes/"+from+"/qemu/201/migrate", "target="+to+"&online=1&with-local-disks=1")
					eventually(t, "the move", func() bool { return l.guest(l.engine.Report(), 201).Node == to })
					time.Sleep(10 * time.Minute)
				}
				warned := func() bool {
					return l.objectHasReason(objectCase{label: "VirtualMachine/web-1"}, reason.NoBackup)
				}
				time.Sleep(10 * time.Minute)
				if move("pve1", "pve2"); warned() != test.less {
					t.Errorf("got %+v, want a warning: %t", l.guest(l.engine.Report(), 201).Conditions, test.less)
				}
				if move("pve2", "pve1"); warned() {
					t.Errorf("got %+v, want no warning after it is back", l.guest(l.engine.Report(), 201).Conditions)
				}
			})
		})
	}
}

// TestCardOfAGuardedFirewall changes the network card of a guest with a guarded firewall. Another bridge, VLAN or model keeps the filter; a card without it is held, as is a second one.
func TestCardOfAGuardedFirewall(t *testing.T) {
	t.Parallel()
	const wall = "firewall: {guarded: true, enable: true, rules: [{type: in, action: ACCEPT, source: 10.9.0.1}]}"
	for name, test := range map[string]struct {
		cards string
		held  bool
	}{
		"bridge":         {"net0: {bridge: vmbr1, firewall: true}", false},
		"vlan":           {"net0: {bridge: vmbr0, vlan: 7, firewall: true}", false},
		"not_said":       {"net0: {bridge: vmbr1, vlan: 7}", false},
		"off":            {"net0: {bridge: vmbr0, firewall: false}", true},
		"off_and_bridge": {"net0: {bridge: vmbr1, firewall: false}", true},
		"second":         {"net0: {bridge: vmbr0, firewall: true}, net1: {bridge: vmbr1}", true},
		"second_with":    {"net0: {bridge: vmbr0, firewall: true}, net1: {bridge: vmbr1, firewall: true}", false},
	} {
		t.Run(name, func(t *testing.T) {
			runLab(t, nil, func(t *testing.T, l *lab) {
				l.files["web.yaml"] = vmYAML("web-1", 201, "networks: {net0: {bridge: vmbr0, firewall: true}}", wall)
				l.push("a guarded firewall", alice)
				defer l.start()()
				l.converge()
				l.files["web.yaml"] = vmYAML("web-1", 201, "networks: {"+test.cards+"}", wall)
				l.waitForAcceptance(l.push("its cards", alice))
				if test.held {
					l.waitForHeldGuard(201, "firewall: guarded")
				}
				time.Sleep(10 * time.Minute)
				for _, card := range []string{"net0", "net1"} {
					if text := l.sim.Value(201, card); text != "" && !strings.Contains(text, "firewall=1") {
						t.Errorf("got the card %s, want it filtered", text)
					}
				}
				if !test.held {
					l.converge()
				}
			})
		})
	}
}

// TestTemplateOfAGuestThatRequiresBackups converts a guest to a template, which cannot be undone: it waits for an approval, also where nothing else does.
func TestTemplateOfAGuestThatRequiresBackups(t *testing.T) {
	t.Parallel()
	runWithJob(t, map[string]string{"all": "1"}, func(t *testing.T, l *lab) {
		lines := []string{"backup: required", "state: stopped", "lifecycle: {rebootPolicy: auto, destroy: allow, recreate: allow}"}
		l.files["web.yaml"] = vmYAML("web-1", 201, lines...)
		l.push("it may be stopped", alice)
		time.Sleep(10 * time.Minute)
		l.files["web.yaml"] = vmYAML("web-1", 201, append(lines, "template: true")...)
		l.push("a template", alice)
		template := func() string {
			for _, h := range l.object("VirtualMachine/web-1").Held {
				if h.Op == cluster.OpTemplate {
					return h.Digest
				}
			}
			return ""
		}
		eventually(t, "the hold", func() bool { return template() != "" })
		time.Sleep(time.Hour)
		if l.sim.Effects(201, pvesim.Templated) != 0 {
			t.Fatal("got a template, want it to wait")
		}
		l.approve(template())
		eventually(t, "the template", func() bool { return l.sim.Effects(201, pvesim.Templated) == 1 })
	})
}

// TestWindowIsWidenedByItsSigner lets a signer of the guest widen, move and remove its window.
func TestWindowIsWidenedByItsSigner(t *testing.T) {
	t.Parallel()
	for name, lifecycle := range map[string]string{
		"wider": `rebootPolicy: window, window: "Sat 03:00-09:00 UTC"`, "moved": `rebootPolicy: window, window: "Sun 03:00-04:00 UTC"`, "zone": `rebootPolicy: window, window: "Sat 03:00-04:00 Europe/Berlin"`, "removed": "rebootPolicy: auto",
	} {
		t.Run(name, func(t *testing.T) {
			runLab(t, nil, func(t *testing.T, l *lab) {
				l.trustSigners(aliceMay(), verify.Signer{Name: "wanda", Issuer: wanda.Issuer, Subject: wanda.Subject, May: []verify.Role{verify.RoleChange}, Guests: []string{"VirtualMachine/web-*"}})
				l.files["web.yaml"] = vmYAML("web-1", 201, `lifecycle: {rebootPolicy: window, window: "Sat 03:00-04:00 UTC"}`)
				l.push("a window", alice)
				defer l.start()()
				l.converge()
				l.files["web.yaml"] = vmYAML("web-1", 201, "lifecycle: {"+lifecycle+"}")
				l.waitForAcceptance(l.push("another window", wanda))
				l.waitForHeldGuard(201, "lifecycle.")
				time.Sleep(time.Hour)
				if got := l.journal.State().Guarded[201].Rules; got.RebootPolicy != "window" || !strings.Contains(got.Window, "Sat 03:00-04:00 UTC") {
					t.Errorf("got %+v in force, want the former window", got)
				}
			})
		})
	}
}
