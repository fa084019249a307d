package reconcile_test

import (
	"strings"
	"testing"

	"gitops-agent/internal/pvesim"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/report"
)

// TestIncidentMissingPrivilegeIsRetriedForever removes a privilege from the token that the change of one guest needs. The condition contains key,
// privilege and manifest line, the agent does not repeat the call soon, and it continues with the other guests.
func TestIncidentMissingPrivilegeIsRetriedForever(t *testing.T) {
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
	tests := map[string]struct {
		vmid          int
		before, after string
		words         []string
	}{
		"arguments":     {202, vmYAML("db-1", 202), vmYAML("db-1", 202, "memory: {size: 2Gi}", `raw: {args: "-no-hpet"}`), []string{"args", "root@pam"}},
		"hookscript":    {202, vmYAML("db-1", 202), vmYAML("db-1", 202, "memory: {size: 2Gi}", `raw: {hookscript: "local:snippets/h.pl"}`), []string{"hookscript", "root@pam"}},
		"features":      {210, dnsYAML(), dnsYAML("memory: {size: 2Gi}", "features: {keyctl: true}"), []string{"features", "root@pam"}},
		"host_folder":   {210, dnsYAML(), dnsYAML("memory: {size: 2Gi}", "mounts: {mp0: {volume: /srv/data, path: /data}}"), []string{"mp0", "root@pam"}},
		"serial_device": {202, vmYAML("db-1", 202), vmYAML("db-1", 202, "memory: {size: 2Gi}", "serial: {serial0: {port: /dev/ttyS0}}"), []string{"serial0", "root@pam"}},
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
				w.wantNoWrites(t)
				r := l.engine.Report()
				if g := l.guest(r, test.vmid); r.Converged || !hasCondition(g, plan.Blocked, "") || g.Health != report.Degraded {
					t.Errorf("got converged %t and %+v, want the guest blocked", r.Converged, g.Conditions)
				}
			})
		})
	}
}
