package reconcile_test

import (
	"slices"
	"testing"
	"time"

	"gitops-agent/internal/pvesim"
	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/reason"
	"gitops-agent/reconcile/report"
)

// TestIncidentDependentIsInterruptedTooEarly changes a guest and the guest that depends on it. The first change waits for an approval, so the second guest
// is not restarted before. What does not interrupt it is written.
func TestIncidentDependentIsInterruptedTooEarly(t *testing.T) {
	runLab(t, nil, func(t *testing.T, l *lab) {
		db := func(bridge string) string {
			return vmYAML("db-1", 202, "state: running", "networks: {net0: {bridge: "+bridge+"}}")
		}
		web := func(size string) string {
			return vmYAML("web-1", 201, "state: running", "memory: {size: "+size+"}", "lifecycle: {rebootPolicy: auto}", "dependsOn: [VirtualMachine/db-1]")
		}
		l.files["db.yaml"], l.files["web.yaml"] = db("vmbr0"), web("1Gi")
		l.push("two guests", alice)
		defer l.start()()
		l.converge()
		restarts := l.sim.Effects(201, pvesim.Started)
		l.files["db.yaml"], l.files["web.yaml"] = db("vmbr1"), web("2Gi")
		l.push("both change", alice)
		eventually(l, "the restart that waits", func() bool { return hasHeld(l.guest(l.engine.Report(), 201), cluster.OpReboot, reason.WaitsFor) })
		time.Sleep(5 * time.Minute)
		if got := l.sim.Effects(201, pvesim.Started); got != restarts || !hasHeld(l.guest(l.engine.Report(), 202), cluster.OpConfig, reason.Approval) {
			t.Errorf("got %d starts, want %d while the other guest has a step left", got, restarts)
		}
		l.files["db.yaml"] = db("vmbr0")
		l.push("the first change is taken back", alice)
		l.converge()
		if got := l.sim.Effects(201, pvesim.Started); got != restarts+1 {
			t.Errorf("got %d starts, want %d after the other guest has converged", got, restarts+1)
		}
	})
}

// hasHeld reports whether a step of a guest is held for a reason.
func hasHeld(g report.Guest, op cluster.Op, reason reason.Name) bool {
	return slices.ContainsFunc(g.Held, func(h report.HeldStep) bool { return h.Op == op && h.Reason == reason })
}

// TestIncidentDependencyIsStoppedFirst stops a database and the application that depends on it in one revision. The application does not react to its first
// shutdown, and the database waits for it with that reason. Then both are removed, also with a restart of the agent in between: the application
// is destroyed first, and not while its destroy waits for an approval.
func TestIncidentDependencyIsStoppedFirst(t *testing.T) {
	runLab(t, nil, func(t *testing.T, l *lab) {
		db := func(state string) string {
			return vmYAML("db-1", 201, "state: "+state, "lifecycle: {destroy: allow, shutdownTimeout: 30s}")
		}
		app := func(state string) string {
			return vmYAML("app-1", 202, "state: "+state, "lifecycle: {destroy: approve, shutdownTimeout: 30s}", "dependsOn: [VirtualMachine/db-1]")
		}
		l.files["cluster.yaml"] = clusterYAML + "  guards: {maxDestroysPerDay: 5}\n"
		l.files["keep.yaml"] = vmYAML("keep-1", 209)
		l.files["db.yaml"], l.files["app.yaml"] = db("running"), app("running")
		l.push("two guests", alice)
		stop := l.start()
		defer func() { stop() }()
		l.converge()

		l.ok(l.sim.Inject(pvesim.Fault{Kind: pvesim.TaskFails, Method: "POST", Path: "/202/status/shutdown$", Text: "VM quit/powerdown failed - got timeout", Times: 2}))
		l.files["db.yaml"], l.files["app.yaml"] = db("stopped"), app("stopped")
		l.push("both stop", alice)
		l.waitForCondition(201, "WaitsFor", "VirtualMachine/app-1 depends on it, and has to stop first")
		eventually(l, "the shutdown of the application", func() bool {
			if !l.sim.Running(201) && l.sim.Running(202) {
				t.Fatal("got the database down before the application")
			}
			return !l.sim.Running(202)
		})
		l.converge()
		if l.sim.Running(201) {
			t.Error("got the database running at the end, want it stopped")
		}

		delete(l.files, "db.yaml")
		delete(l.files, "app.yaml")
		l.push("both go", alice)
		eventually(l, "the destroy that waits for an approval", func() bool { return hasHeld(l.guest(l.engine.Report(), 202), cluster.OpDestroy, reason.Approval) })
		stop()
		stop = l.start()
		l.waitForCondition(201, "WaitsFor", "VirtualMachine/app-1 depends on it, and has to be destroyed first")
		time.Sleep(10 * time.Minute)
		if !l.exists(201) {
			t.Fatal("got the database destroyed before the application")
		}
		l.approve(l.digestOfHold(202))
		l.converge()
		if l.exists(201) || l.exists(202) {
			t.Error("got a guest left, want both destroyed")
		}
	})
}

// TestDestroyThatIsDeniedDelaysNobody removes a guest that must not be destroyed, and the guest on which it depends.
func TestDestroyThatIsDeniedDelaysNobody(t *testing.T) {
	runLab(t, nil, func(t *testing.T, l *lab) {
		l.files["keep.yaml"] = vmYAML("keep-1", 209)
		l.files["db.yaml"] = vmYAML("db-1", 201, "lifecycle: {destroy: allow}")
		l.files["app.yaml"] = vmYAML("app-1", 202, "lifecycle: {destroy: deny}", "dependsOn: [VirtualMachine/db-1]")
		l.push("two guests", alice)
		defer l.start()()
		l.converge()
		delete(l.files, "db.yaml")
		delete(l.files, "app.yaml")
		l.push("both go", alice)
		eventually(l, "the destroy", func() bool { return !l.exists(201) })
		if !l.exists(202) {
			t.Error("got the other guest destroyed, want it left")
		}
	})
}

// exists reports whether Proxmox has a guest.
func (l *lab) exists(vmid int) bool {
	return slices.ContainsFunc(l.sim.Guests(), func(g pvesim.GuestInfo) bool { return g.VMID == vmid })
}
