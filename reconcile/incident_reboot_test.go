package reconcile_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"gitops-agent/internal/pvesim"
	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/reason"
	"gitops-agent/reconcile/report"
)

// runningWeb returns web-1, which runs and may be restarted.
func runningWeb(cores int) string {
	return vmYAML("web-1", 201, fmt.Sprintf("cpu: {cores: %d, sockets: 1}", cores), "state: running", "lifecycle: {rebootPolicy: auto}")
}

// TestIncidentRebootThatLeavesTheGuestDown makes Proxmox fail to start the guest after a reboot, or not try. The task of the reboot is OK
// nevertheless, and the agent starts the guest.
func TestIncidentRebootThatLeavesTheGuestDown(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{"start_fails": "start failed: out of memory", "no_start": ""} {
		t.Run(name, func(t *testing.T) {
			runLab(t, nil, func(t *testing.T, l *lab) {
				l.files["web.yaml"] = runningWeb(1)
				l.push("one guest", alice)
				defer l.start()()
				l.converge()
				starts := l.sim.Effects(201, pvesim.Started)
				l.ok(l.sim.Inject(pvesim.Fault{Kind: pvesim.StaysDown, Path: "/status/reboot$", Text: text}))
				l.files["web.yaml"] = runningWeb(2)
				l.push("two cores", alice)
				l.converge()
				if got := l.sim.Effects(201, pvesim.Started) - starts; got != 1 {
					t.Errorf("got %d starts after the reboot, want 1", got)
				}
				if config := l.sim.Config(201); !strings.Contains(config, "cores: 2") || strings.Contains(config, "PENDING") {
					t.Errorf("got config %q, want two cores in effect", config)
				}
			})
		})
	}
}

// TestIncidentInterruptedRebootLeavesTheGuestDown stops the agent after its reboot stopped the guest, which Proxmox does not start again: the agent
// starts it after its own next start, also if the manifest has no state.
func TestIncidentInterruptedRebootLeavesTheGuestDown(t *testing.T) {
	runLab(t, nil, func(t *testing.T, l *lab) {
		web := func(cores int) string {
			return vmYAML("web-1", 201, fmt.Sprintf("cpu: {cores: %d}", cores), "lifecycle: {rebootPolicy: auto}")
		}
		l.files["web.yaml"] = web(1)
		l.push("one guest", alice)
		stop := l.start()
		l.converge()
		l.ok(l.sim.SetRunning(201, true))
		l.ok(l.sim.Inject(pvesim.Fault{Kind: pvesim.StaysDown, Path: "/status/reboot$"}))
		l.files["web.yaml"] = web(2)
		l.push("two cores", alice)
		eventually(t, "the guest down", func() bool { return !l.sim.Running(201) })
		stop()
		if l.sim.Running(201) {
			t.Fatal("got a guest that runs, want it stopped while no agent runs")
		}
		defer l.start()()
		l.converge()
		if !l.sim.Running(201) || l.sim.Effects(201, pvesim.Stopped) != 1 {
			t.Errorf("got running %v after %d stops, want it running after one", l.sim.Running(201), l.sim.Effects(201, pvesim.Stopped))
		}
	})
}

// TestWindowThatCannotBeRead keeps a window that another release or host has recorded, as with a time zone that this one does not know. It never opens, and the approved
// window of the manifest replaces it.
func TestWindowThatCannotBeRead(t *testing.T) {
	runLab(t, nil, func(t *testing.T, l *lab) {
		web := func(cores int) string {
			return vmYAML("web-1", 201, fmt.Sprintf("cpu: {cores: %d}", cores), "state: running", `lifecycle: {rebootPolicy: window, window: "daily 00:00-23:59 UTC"}`)
		}
		l.files["web.yaml"] = web(1)
		l.push("one guest", alice)
		stop := l.start()
		l.converge()
		recorded := l.journal.State().Guarded[201]
		recorded.Rules.Window = "daily 00:00-23:59 Europe/Nowhere"
		l.ok(l.journal.Append(t.Context(), recorded))
		stop()
		defer l.start()()
		l.files["web.yaml"] = web(2)
		l.push("two cores", alice)
		var digest string
		eventually(t, "the window and its guard", func() bool {
			digest = ""
			for _, h := range l.heldGuards(201) {
				digest = h.Digest
			}
			return digest != "" && slices.ContainsFunc(l.guest(l.engine.Report(), 201).Held, func(h report.HeldStep) bool {
				return h.Op == cluster.OpReboot && h.Reason == reason.Window && strings.Contains(h.Message, "Europe/Nowhere")
			})
		})
		l.approve(digest)
		eventually(t, "the restart", func() bool { return l.sim.Effects(201, pvesim.Stopped) == 1 })
		l.converge()
	})
}

// TestRebootPolicyWindow writes a change at once and restarts the guest once, when its window opens.
func TestRebootPolicyWindow(t *testing.T) {
	runLab(t, nil, func(t *testing.T, l *lab) {
		l.rareTicks()
		web := func(cores int) string { // the virtual time begins on Saturday the first of January 2000, at midnight
			return vmYAML("web-1", 201, fmt.Sprintf("cpu: {cores: %d}", cores), "state: running",
				`lifecycle: {rebootPolicy: window, window: "Sat 03:00-04:00 UTC"}`)
		}
		l.files["web.yaml"] = web(1)
		l.push("one guest", alice)
		defer l.start()()
		l.converge()
		l.files["web.yaml"] = web(2)
		l.waitForAcceptance(l.push("two cores", alice))
		eventually(t, "a written change and a restart that waits for its window", func() bool {
			g := l.guest(l.engine.Report(), 201)
			return len(g.Held) == 1 && g.Held[0].Op == cluster.OpReboot && g.Held[0].Reason == reason.Window && hasCondition(g, plan.PendingRestart, reason.PendingRestart)
		})
		time.Sleep(2*time.Hour + 30*time.Minute)
		if got := l.sim.Effects(201, pvesim.Stopped); got != 0 {
			t.Fatalf("got %d stops before the window, want none", got)
		}
		time.Sleep(40 * time.Minute)
		l.converge()
		if got := l.sim.Effects(201, pvesim.Stopped); got != 1 {
			t.Errorf("got %d stops, want one", got)
		}
	})
}
