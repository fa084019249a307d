package reconcile_test

import (
	"strings"
	"testing"
	"time"

	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/hostguest"
	"gitops-agent/reconcile/reason"
)

// TestIncidentAgentStopsItself runs the agent in one of two guests, which it knows by its uuid or by the config of the host. Then the manifests want both
// guests stopped, and removed. The other guest is stopped and destroyed, and the agent's own one keeps running.
func TestIncidentAgentStopsItself(t *testing.T) {
	t.Parallel()
	tests := map[string]func(uuid string) hostguest.Facts{
		"uuid":   func(uuid string) hostguest.Facts { return hostguest.Facts{Kind: guest.VirtualMachine, UUID: uuid} },
		"config": func(string) hostguest.Facts { return hostguest.Facts{VMID: 201} },
	}
	for name, facts := range tests {
		t.Run(name, func(t *testing.T) {
			runLab(t, nil, func(t *testing.T, l *lab) {
				l.files["web.yaml"] = vmYAML("web-1", 201, "state: running", "lifecycle: {destroy: allow}")
				l.files["db.yaml"] = vmYAML("db-1", 202, "state: running", "lifecycle: {destroy: allow}")
				l.push("two guests", alice)
				stop := l.start()
				l.converge()
				stop()
				l.opts.Self = facts(strings.TrimPrefix(l.sim.Value(201, "smbios1"), "uuid="))
				defer l.start()()
				l.files["web.yaml"] = vmYAML("web-1", 201, "state: stopped", "lifecycle: {destroy: allow}")
				l.files["db.yaml"] = vmYAML("db-1", 202, "state: stopped", "lifecycle: {destroy: allow}")
				l.push("both are stopped", alice)
				eventually(l, "the stop of the other guest", func() bool { return !l.sim.Running(202) })
				wantHeldAsOwn := func() {
					t.Helper()
					eventually(l, "the hold", func() bool {
						g := l.guest(l.engine.Report(), 201)
						return len(g.Held) == 1 && g.Held[0].Reason == reason.OwnGuest
					})
				}
				wantHeldAsOwn()
				delete(l.files, "web.yaml")
				delete(l.files, "db.yaml")
				l.files["other.yaml"] = vmYAML("other-1", 203)
				l.push("both are removed", alice)
				eventually(l, "the end of the other guest", func() bool { return l.sim.Config(202) == "" })
				wantHeldAsOwn()
				time.Sleep(time.Minute)
				if !l.sim.Running(201) {
					t.Error("the agent stopped the guest in which it runs")
				}
			})
		})
	}
}
