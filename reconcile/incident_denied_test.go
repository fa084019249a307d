package reconcile_test

import (
	"strings"
	"testing"

	"gitops-agent/internal/pvesim"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/report"
)

// TestIncidentMissingPrivilegeIsRetriedForever takes a privilege from the token that one guest's change needs. The condition names key,
// privilege and manifest line, the call is not repeated as if it might work the next time, and the other guests are looked after.
func TestIncidentMissingPrivilegeIsRetriedForever(t *testing.T) {
	tests := map[string]struct {
		vmid          int
		before, after string
		privilege     string
		says          []string
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
				l.waitForCondition(test.vmid, test.says...)
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
					t.Errorf("got %d attempts, converged %t, writes %+v, want one attempt that stops nothing else", attempts, r.Converged, r.Writes)
				}
				l.sim.SetPrivileges("gitops@pve!agent", tokenWithout())
				l.files["web.yaml"] = vmYAML("web-1", 201, "startup: {onBoot: true}", "description: the token may do it now")
				l.push("granted", alice)
				l.converge()
			})
		})
	}
}

// TestIncidentRootOnlyKeyBlocksTheRest wants what Proxmox lets root@pam alone do. The key is named with that reason, no attempt is made again
// and again, and everything else of the guest and of others is carried out.
func TestIncidentRootOnlyKeyBlocksTheRest(t *testing.T) {
	tests := map[string]struct {
		vmid          int
		before, after string
		says          []string
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
				l.waitForCondition(test.vmid, test.says...)
				eventually(l, "the change beside it", func() bool { return l.sim.Value(test.vmid, "memory") == "2048" })
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
