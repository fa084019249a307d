package reconcile_test

import (
	"strings"
	"testing"

	"gitops-agent/internal/pvesim"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/reason"
	"gitops-agent/reconcile/report"
)

// TestIncidentMissingPrivilegeIsRetriedForever removes a privilege from the token that the change of one guest needs. The condition contains key,
// privilege and manifest line, the agent does not repeat the call soon, and it continues with the other guests.
func TestIncidentMissingPrivilegeIsRetriedForever(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		vmid          int
		before, after string
		privilege     string
		words         []string
	}{
		"memory": {
			202, vmYAML("db-1", 202, "memory: {size: 1Gi}"), vmYAML("db-1", 202, "memory: {size: 2Gi}"),
			"VM.Config.Memory",
			[]string{"memory", "guest.yaml:8", "VM.Config.Memory", "/vms/202"},
		},
		"disk": {
			202, vmYAML("db-1", 202), vmYAML("db-1", 202, "disks: {scsi0: {size: 8Gi}}"),
			"VM.Config.Disk",
			[]string{"scsi0", "guest.yaml:8", "VM.Config.Disk", "/vms/202"},
		},
		"container_network": {
			210, dnsYAML(), dnsYAML("networks: {net0: {name: eth0, bridge: vmbr0, ip4: dhcp}}"),
			"VM.Config.Network",
			[]string{"net0", "guest.yaml:9", "VM.Config.Network", "/vms/210"},
		},
		"power": {202, vmYAML("db-1", 202), vmYAML("db-1", 202, "state: running"), "VM.PowerMgmt", []string{"start", "VM.PowerMgmt", "/vms/202"}},
		"clone": {202, "", vmYAML("db-1", 202), "VM.Clone", []string{"create", "VM.Clone", "/vms/9000"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			runLabWithWire(t, pvesim.Options{}, func(t *testing.T, l *lab, w *wire) {
				l.files["web.yaml"] = vmYAML("web-1", 201, "startup: {onBoot: true}")
				if l.files["guest.yaml"] = test.before; test.before == "" {
					delete(l.files, "guest.yaml")
				}
				l.push("guests", alice)
				defer l.start()()
				l.converge()
				l.sim.SetPrivileges("gitops@pve!agent", tokenWithout(test.privilege))
				l.files["guest.yaml"] = test.after
				w.reset()
				l.waitForAcceptance(l.push("what the token may not do", alice))
				l.waitForCondition(test.vmid, test.words...)
				for range 3 {
					l.ok(l.sim.Edit(201, "onboot", "0"))
					eventually(l, "the repair of the other guest", func() bool { return l.sim.Value(201, "onboot") == "1" })
				}
				attempts := 0
				for _, s := range w.writes("") {
					if !strings.HasSuffix(s.path, "/201/config") {
						attempts++
					}
				}
				if r := l.engine.Report(); attempts != 1 || r.Converged || !r.Writes.Allowed {
					t.Errorf("got %d attempts, converged %t, writes %+v, want one attempt, and the other work continued", attempts, r.Converged, r.Writes)
				}
				l.sim.SetPrivileges("gitops@pve!agent", tokenWithout())
				l.files["web.yaml"] = vmYAML("web-1", 201, "startup: {onBoot: true}", "description: the token may do it now")
				l.push("granted", alice)
				l.converge()
			})
		})
	}
}

// TestIncidentRootOnlyKeyBlocksTheRest sets keys that only root@pam may set in Proxmox. The report contains the key with this reason, the agent
// makes no attempt, and it applies every other change of this guest and of others.
func TestIncidentRootOnlyKeyBlocksTheRest(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		vmid          int
		before, after string
		words         []string
		command, text string // that the report prints for root, and the value in it
	}{
		"arguments": {
			202, vmYAML("db-1", 202), vmYAML("db-1", 202, "memory: {size: 2Gi}", `raw: {args: "-no-hpet"}`), []string{"args", "root@pam"}, "qm set 202 --args -no-hpet", "-no-hpet",
		},
		"hookscript": {
			202, vmYAML("db-1", 202), vmYAML("db-1", 202, "memory: {size: 2Gi}", `raw: {hookscript: "local:snippets/h.pl"}`),
			[]string{"hookscript", "root@pam"},
			"qm set 202 --hookscript local:snippets/h.pl", "local:snippets/h.pl",
		},
		"features": {
			210, dnsYAML(), dnsYAML("memory: {size: 2Gi}", "features: {keyctl: true}"), []string{"features", "root@pam"}, "pct set 210 --features keyctl=1", "keyctl=1",
		},
		"host_folder": {
			210, dnsYAML(), dnsYAML("memory: {size: 2Gi}", "mounts: {mp0: {volume: /srv/data, path: /data}}"),
			[]string{"mp0", "root@pam"},
			"pct set 210 --mp0 /srv/data,mp=/data", "/srv/data,mp=/data",
		},
		"serial_device": {
			202, vmYAML("db-1", 202), vmYAML("db-1", 202, "memory: {size: 2Gi}", "serial: {serial0: {port: /dev/ttyS0}}"),
			[]string{"serial0", "root@pam"},
			"qm set 202 --serial0 /dev/ttyS0", "/dev/ttyS0",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			runLabWithWire(t, pvesim.Options{}, func(t *testing.T, l *lab, w *wire) {
				l.files["web.yaml"] = vmYAML("web-1", 201, "startup: {onBoot: true}")
				l.files["guest.yaml"] = test.before
				l.push("guests", alice)
				defer l.start()()
				l.converge()
				l.files["guest.yaml"] = test.after
				l.waitForAcceptance(l.push("what root alone may do", alice))
				l.waitForCondition(test.vmid, test.words...)
				eventually(l, "the other change", func() bool { return l.sim.Value(test.vmid, "memory") == "2048" })
				l.ok(l.sim.Edit(201, "onboot", "0"))
				eventually(l, "the repair of the other guest", func() bool { return l.sim.Value(201, "onboot") == "1" })
				l.converge() // the setting of root@pam does not keep the guest out of sync
				w.wantNoWrites(t)
				if g := l.guest(l.engine.Report(), test.vmid); !hasCondition(g, plan.Warned, reason.NeedsRoot) || g.Health != report.Healthy {
					t.Errorf("got %s and %+v, want a healthy guest with a warning", g.Health, g.Conditions)
				}
				if got := hintOf(l.guest(l.engine.Report(), test.vmid), reason.NeedsRoot); got != "as root on pve1: "+test.command {
					t.Errorf("got the hint %q, want the command %q", got, test.command)
				}
				_, line, _ := strings.Cut(test.command, " set ")
				l.ok(l.sim.Edit(test.vmid, strings.Fields(line)[1][len("--"):], test.text))
				eventually(l, "the end of the warning", func() bool {
					return !hasCondition(l.guest(l.engine.Report(), test.vmid), plan.Warned, reason.NeedsRoot)
				})
			})
		})
	}
}

// TestIncidentRootOnlyKeyPreventsTheCreation declares guests with settings that only root@pam may make. They are created without these, and the report
// contains the command for root.
func TestIncidentRootOnlyKeyPreventsTheCreation(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		vmid              int
		manifest, command string
	}{
		"blank": {
			203, strings.Replace(vmYAML("db-3", 203, `raw: {args: "-no-hpet -name 'x'"}`), "clone: {name: tmpl-debian-12}", "blank: {}", 1),
			`as root on pve1: qm set 203 --args '-no-hpet -name '\''x'\'''`,
		},
		"clone":       {204, vmYAML("db-4", 204, "raw: {args: -no-hpet}"), "as root on pve1: qm set 204 --args -no-hpet"},
		"host_folder": {210, dnsYAML("mounts: {mp0: {volume: /srv/data, path: /data}}"), "as root on pve1: pct set 210 --mp0 /srv/data,mp=/data"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			runLab(t, nil, func(t *testing.T, l *lab) {
				l.files["guest.yaml"] = test.manifest
				l.push("a guest with a setting of root", alice)
				defer l.start()()
				l.converge()
				if got := hintOf(l.guest(l.engine.Report(), test.vmid), reason.NeedsRoot); got != test.command {
					t.Errorf("got the hint %q, want %q", got, test.command)
				}
			})
		})
	}
}

// hintOf returns the hint of a guest's condition, "" if the guest has no condition with the reason.
func hintOf(g report.Guest, reason reason.Name) string {
	for _, c := range g.Conditions {
		if c.Reason == reason {
			return c.Hint
		}
	}
	return ""
}
