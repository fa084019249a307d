package reconcile_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"gitops-agent/internal/pvesim"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/reason"
)

// hintOf returns the hint of a guest's condition with the reason not-managed.
func (l *lab) hintOf(vmid int, kind plan.ConditionType) string {
	l.Helper()
	for _, c := range l.guest(l.engine.Report(), vmid).Conditions {
		if c.Type == kind && c.Reason == reason.NotManaged {
			return c.Hint
		}
	}
	l.Fatalf("got %+v for %d, want %s for %s", l.guest(l.engine.Report(), vmid).Conditions, vmid, kind, reason.NotManaged)
	return ""
}

// TestIncidentLostStateCreatesGuestsTwice deletes the state directory of an agent that made two guests, one without a vmid in its manifest. The
// agent neither makes nor changes either guest, and owns both again after a user followed the hints.
func TestIncidentLostStateCreatesGuestsTwice(t *testing.T) {
	runLabWithWire(t, pvesim.Options{}, func(t *testing.T, l *lab, w *wire) {
		auto, web := withoutVMID(vmYAML("auto", 299, "state: running")), vmYAML("web-1", 201, "state: running")
		l.files["auto.yaml"], l.files["web.yaml"] = auto, web
		l.push("two guests", alice)
		stop := l.start()
		l.converge()
		stop()
		l.ok(os.RemoveAll(l.state))
		l.ok(os.MkdirAll(l.state, 0o700))
		defer l.start()()
		markers := map[int]string{}
		for _, vmid := range []int{200, 201} {
			markers[vmid] = guest.Markers(l.sim.Value(vmid, "tags"))[0]
		}
		l.waitForCondition(0, string(plan.Blocked), string(reason.NotManaged), "200", markers[200])
		l.waitForCondition(201, string(plan.IdentityConflict), "not-managed", markers[201])
		w.wantNoWrites(t)
		if r := l.engine.Report(); r.Converged || len(l.sim.Guests()) != 3 {
			t.Errorf("got converged %t with guests %+v, want the two and the template, held", r.Converged, l.sim.Guests())
		}
		hints := map[int]string{200: l.hintOf(0, plan.Blocked), 201: l.hintOf(201, plan.IdentityConflict)}
		for vmid, hint := range hints {
			if !strings.Contains(hint, markers[vmid]) || !strings.Contains(hint, "adopt: ifUnmanaged") {
				t.Errorf("got hint %q, want the way to adopt %d", hint, vmid)
			}
			l.ok(l.sim.Edit(vmid, "tags", "template"))
		}
		l.files["auto.yaml"] = vmYAML("auto", 200, "state: running", "adopt: ifUnmanaged")
		l.files["web.yaml"] = vmYAML("web-1", 201, "state: running", "adopt: ifUnmanaged")
		l.push("they are ours", alice)
		l.converge()
		l.files["auto.yaml"], l.files["web.yaml"] = auto, web
		l.push("as before", alice)
		l.converge()
		time.Sleep(time.Hour)
		for _, vmid := range []int{200, 201} {
			if l.sim.Effects(vmid, pvesim.Cloned) != 1 || l.sim.Effects(vmid, pvesim.Stopped) != 0 || !l.sim.Running(vmid) {
				t.Errorf("got %d made %d times, stopped %d times, running %t, want the same guest as before", vmid,
					l.sim.Effects(vmid, pvesim.Cloned), l.sim.Effects(vmid, pvesim.Stopped), l.sim.Running(vmid))
			}
		}
		if got := len(l.sim.Guests()); got != 3 {
			t.Errorf("got %d guests, want the two and the template", got)
		}
	})
}
