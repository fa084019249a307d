package reconcile_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"gitops-agent/internal/pvesim"
	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/reason"
)

// delayed makes a node take three minutes for one call: its proxy answers 596 after thirty seconds, no task is listed, and then the call takes
// effect.
func (l *lab) delayed(method, path string) {
	l.Helper()
	l.ok(l.sim.Inject(pvesim.Fault{Kind: pvesim.SlowCall, Method: method, Path: path, Delay: 3 * time.Minute}))
}

// TestIncidentQueuedCallIsRepeated makes calls wait for minutes in the queue of a node's workers. Each call is sent once and takes effect once, and
// the approval of a restart is spent.
func TestIncidentQueuedCallIsRepeated(t *testing.T) {
	t.Parallel()
	web := func(lines ...string) string { return vmYAML("web-1", 201, lines...) }
	tests := map[string]struct {
		method, path  string
		before, after string
		op            cluster.Op
		effect        pvesim.Op
	}{
		"approved_reboot": {
			"POST", "/status/reboot$", web("state: running", "lifecycle: {rebootPolicy: approve}"),
			web("state: running", "lifecycle: {rebootPolicy: approve}", "cpu: {cores: 2}"), cluster.OpReboot, pvesim.Stopped,
		},
		"reboot": {
			"POST", "/status/reboot$", web("state: running", "lifecycle: {rebootPolicy: auto}"),
			web("state: running", "lifecycle: {rebootPolicy: auto}", "cpu: {cores: 2}"), cluster.OpReboot, pvesim.Stopped,
		},
		"start":    {"POST", "/status/start$", web("state: stopped"), web("state: running"), cluster.OpStart, pvesim.Started},
		"shutdown": {"POST", "/status/shutdown$", web("state: running"), web("state: stopped"), cluster.OpShutdown, pvesim.Stopped},
		"clone":    {"POST", "/clone$", "", web(), cluster.OpCreate, pvesim.Cloned},
		"destroy":  {"DELETE", "/qemu/201$", web("lifecycle: {destroy: allow}"), "", cluster.OpDestroy, pvesim.Destroyed},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			runLabWithWire(t, pvesim.Options{}, func(t *testing.T, l *lab, w *wire) {
				l.rareTicks()
				l.files["keep.yaml"] = vmYAML("keep-1", 209)
				l.files["web.yaml"] = test.before
				if test.before == "" {
					delete(l.files, "web.yaml")
				}
				l.push("before", alice)
				defer l.start()()
				l.converge()
				l.sim.ResetCounters()
				w.reset()
				l.delayed(test.method, test.path)
				l.files["web.yaml"] = test.after
				if test.after == "" {
					delete(l.files, "web.yaml")
				}
				l.waitForAcceptance(l.push("after", alice))
				if name == "approved_reboot" {
					l.approve(l.digestOfHold(201))
				}
				l.waitForOpenStep(201, test.op)
				l.converge()
				sent := 0
				for _, s := range w.writes(strings.TrimSuffix(test.path, "$")) {
					if s.method == test.method {
						sent++
					}
				}
				if got := l.sim.Effects(201, test.effect); got != 1 || sent != 1 {
					t.Errorf("got %d times %s of %d calls, want one of one", got, test.effect, sent)
				}
				for _, o := range l.journal.State().Orders {
					if o.State != journal.OrderRun && o.State != journal.OrderUnknown {
						t.Errorf("got order %s, want it spent", o.State)
					}
				}
				w.wantNoWrites(t)
			})
		})
	}
}

// waitForOpenStep waits until the guest has had an open step of this operation for longer than a call takes to be answered.
func (l *lab) waitForOpenStep(vmid int, op cluster.Op) {
	l.Helper()
	eventually(l, fmt.Sprintf("an open %s of %d, a minute old", op, vmid), func() bool {
		for _, o := range l.journal.State().Open {
			if o.VMID == vmid && o.Op == string(op) && time.Since(o.Time) > time.Minute {
				return true
			}
		}
		return false
	})
}

// TestQueuedCallThatNeverRuns loses a restart before it takes effect. The approval is spent, because the agent cannot exclude that the restart
// still happens; if no approval is needed, the restart is planned again.
func TestQueuedCallThatNeverRuns(t *testing.T) {
	t.Parallel()
	for policy, restarts := range map[string]int{"approve": 0, "auto": 1} {
		t.Run(policy, func(t *testing.T) {
			runLab(t, nil, func(t *testing.T, l *lab) {
				l.files["web.yaml"] = vmYAML("web-1", 201, "state: running", "lifecycle: {rebootPolicy: "+policy+"}")
				l.push("one guest", alice)
				defer l.start()()
				l.converge()
				l.ok(l.sim.Inject(pvesim.Fault{Kind: pvesim.ProxyStatus, Status: 596, Path: "/status/reboot$"}))
				l.files["web.yaml"] = vmYAML("web-1", 201, "state: running", "cpu: {cores: 2}", "lifecycle: {rebootPolicy: "+policy+"}")
				l.waitForAcceptance(l.push("two cores", alice))
				if policy == "approve" {
					l.approve(l.digestOfHold(201))
				}
				l.waitForCondition(201, "reboot", "Proxmox may still execute the call")
				time.Sleep(20 * time.Minute)
				if got := l.sim.Effects(201, pvesim.Stopped); got != restarts || !l.sim.Running(201) {
					t.Errorf("got %d restarts, running %t, want %d and a running guest", got, l.sim.Running(201), restarts)
				}
				for _, o := range l.journal.State().Orders {
					if o.State != journal.OrderUnknown {
						t.Errorf("got order %s, want it unknown", o.State)
					}
				}
			})
		})
	}
}

// TestIncidentQueuedDestroyHitsTheNextGuest makes a destroy wait for minutes, while another guest needs a vmid. The destroy removes the guest that
// it was planned for, and the new guest gets a vmid that was not in use.
func TestIncidentQueuedDestroyHitsTheNextGuest(t *testing.T) {
	runLab(t, nil, func(t *testing.T, l *lab) {
		l.files["old.yaml"] = withoutVMID(vmYAML("old-1", 299, "lifecycle: {destroy: allow}"))
		l.files["keep.yaml"] = vmYAML("keep-1", 250)
		l.push("an old guest", alice)
		defer l.start()()
		l.converge()
		l.delayed("DELETE", "/qemu/200$")
		delete(l.files, "old.yaml")
		l.waitForAcceptance(l.push("it goes", alice))
		time.Sleep(50 * time.Second)
		l.files["new.yaml"] = withoutVMID(vmYAML("new-1", 299, "lifecycle: {destroy: deny}"))
		l.push("another comes", alice)
		l.converge()
		time.Sleep(30 * time.Minute)
		if got := l.sim.Effects(200, pvesim.Destroyed); got != 1 || l.sim.Config(200) != "" || l.sim.Value(201, "name") != "new-1" {
			t.Errorf("got %d destroys of 200, now %q, and %q under 201, want one destroy, no guest and new-1", got, l.sim.Config(200), l.sim.Value(201, "name"))
		}
	})
}

// TestQueuedCloneOfARemovedManifest removes the manifest while the clone waits in the queue. The late guest is recognized as the agent's own and is
// held for a user; it is not left behind as an unknown guest.
func TestQueuedCloneOfARemovedManifest(t *testing.T) {
	runLab(t, nil, func(t *testing.T, l *lab) {
		l.files["keep.yaml"], l.files["web.yaml"] = vmYAML("keep-1", 209), vmYAML("web-1", 201)
		l.delayed("POST", "/clone$")
		l.delayed("POST", "/clone$")
		l.push("two guests", alice)
		defer l.start()()
		time.Sleep(15 * time.Second) // the claim takes 3 s, and the second clone follows the first one after 30 s
		delete(l.files, "web.yaml")
		l.waitForAcceptance(l.push("one guest", alice))
		time.Sleep(20 * time.Minute)
		if !hasCondition(l.guest(l.engine.Report(), 201), plan.Orphaned, reason.LeftOver) || l.sim.Effects(201, pvesim.Cloned) != 1 {
			t.Errorf("got %+v after %d clones, want one that is reported as removed", l.engine.Report().Unmanaged, l.sim.Effects(201, pvesim.Cloned))
		}
	})
}

// TestIncidentBootOfANodeForgetsACall boots a node that has not replied to a shutdown. The call was lost with the boot, so the guest is shut down in the next
// minutes and not after the wait for a late call. A node that only answers late gets the whole wait.
func TestIncidentBootOfANodeForgetsACall(t *testing.T) {
	t.Parallel()
	for name, boots := range map[string]bool{"boots": true, "stays_up": false} {
		t.Run(name, func(t *testing.T) {
			runLab(t, nil, func(t *testing.T, l *lab) {
				l.files["web.yaml"] = vmYAML("web-1", 201, "state: running", "startup: {onBoot: true}")
				l.push("one guest", alice)
				defer l.start()()
				l.converge()
				l.sim.ResetCounters()
				l.ok(l.sim.Inject(pvesim.Fault{Kind: pvesim.ProxyStatus, Status: 596, Path: "/status/shutdown$", Times: 1}))
				l.files["web.yaml"] = vmYAML("web-1", 201, "state: stopped", "startup: {onBoot: true}")
				l.waitForAcceptance(l.push("stop it", alice))
				l.waitForOpenStep(201, cluster.OpShutdown)
				began := time.Now()
				if boots {
					l.sim.RebootNode("pve1", 30*time.Second)
					eventually(l, "the boot", func() bool { return l.sim.Running(201) })
				}
				eventually(l, "the shutdown", func() bool { return !l.sim.Running(201) })
				took := time.Since(began)
				if early := took < 8*time.Minute; early != boots {
					t.Errorf("got the guest shut down after %s, want it %t that this is before the end of the wait", took, boots)
				}
				l.converge()
			})
		})
	}
}
