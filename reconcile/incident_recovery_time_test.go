package reconcile_test

import (
	"fmt"
	"testing"
	"time"

	"gitops-agent/internal/pvesim"
	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/reason"
)

// TestIncidentKillDelaysTheGuest crashes the agent between the intent of a step and its call. The next start makes the call within seconds where
// Proxmox refuses a late one.
func TestIncidentKillDelaysTheGuest(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		op       cluster.Op
		manifest string
		effect   pvesim.Op
	}{
		"clone":  {cluster.OpCreate, vmYAML("web-1", 201), pvesim.Cloned},
		"start":  {cluster.OpStart, vmYAML("keep-1", 209, "state: running"), pvesim.Started},
		"config": {cluster.OpConfig, vmYAML("keep-1", 209, "memory: {size: 3Gi}"), pvesim.ConfigWritten},
	} {
		t.Run(name, func(t *testing.T) {
			runLab(t, nil, func(t *testing.T, l *lab) {
				stop := l.crashBeforeCall(test.op, test.manifest)
				defer func() { stop() }()
				began := time.Now()
				vmid := 209
				if test.op == cluster.OpCreate {
					vmid = 201
				}
				eventually(l, "the effect", func() bool { return l.sim.Effects(vmid, test.effect) == 1 })
				if took := time.Since(began); took > 15*time.Second {
					t.Errorf("got the effect %s after the start, want it within 15s", took)
				}
				l.converge()
				time.Sleep(time.Hour)
				if got := l.sim.Effects(vmid, test.effect); got != 1 {
					t.Errorf("got it %d times, want once", got)
				}
			})
		})
	}
}

// crashBeforeCall converges with keep-1, crashes the agent before the call of an operation that a manifest needs, and starts it again.
func (l *lab) crashBeforeCall(op cluster.Op, manifest string) (stop func()) {
	l.Helper()
	l.files["keep.yaml"] = vmYAML("keep-1", 209)
	l.push("first", alice)
	l.once()
	name := "keep.yaml"
	if op == cluster.OpCreate {
		name = "web.yaml"
	}
	l.files[name] = manifest
	l.push("next", alice)
	l.sim.ResetCounters()
	d := &crashingCluster{Cluster: l.cluster, op: op, at: "before-call"}
	l.opts.Cluster = d
	stop = l.start()
	eventually(l, "the crash", d.crashed.Load)
	stop()
	l.opts.Cluster = l.cluster
	return l.start()
}

// TestRepeatedCallStaysRefused stops a guest right after the start of an earlier process was repeated, also after one more start of the agent. The guest is
// not stopped as long as the first call may still act: Proxmox would carry it out then.
func TestRepeatedCallStaysRefused(t *testing.T) {
	t.Parallel()
	for name, restart := range map[string]bool{"running": false, "started_again": true} {
		t.Run(name, func(t *testing.T) {
			runLab(t, nil, func(t *testing.T, l *lab) {
				stop := l.crashBeforeCall(cluster.OpStart, vmYAML("keep-1", 209, "state: running"))
				defer func() { stop() }()
				eventually(l, "the start", func() bool { return l.sim.Running(209) })
				if restart {
					time.Sleep(10 * time.Second)
					stop()
					stop = l.start()
				}
				l.files["keep.yaml"] = vmYAML("keep-1", 209, "state: stopped")
				l.push("stop it", alice)
				l.engine.Hint()
				time.Sleep(25 * time.Second)
				if !l.sim.Running(209) {
					t.Error("got the guest stopped, want it running while the first call may act")
				}
				eventually(l, "the stop", func() bool { return !l.sim.Running(209) })
				l.converge()
				if left := l.journal.State().Repeated; len(left) != 0 {
					t.Errorf("got %v in the journal, want nothing once the guest was stopped", left)
				}
			})
		})
	}
}

// TestFlappingOutlivesRestarts undoes every repair of a guest until repairs are spaced out, and restarts the agent. They stay spaced out until the guest's own
// change. Normal work writes no record.
func TestFlappingOutlivesRestarts(t *testing.T) {
	runLab(t, nil, func(t *testing.T, l *lab) {
		web := func(size int) string { return vmYAML("web-1", 201, fmt.Sprintf("memory: {size: %dGi}", size)) }
		l.files["web.yaml"] = web(2)
		l.push("one guest", alice)
		stop := l.start()
		defer func() { stop() }()
		l.converge()
		if got := l.journal.State().Flapping; len(got) != 0 {
			t.Errorf("got records %v after normal work, want none", got)
		}
		flaps := func() bool { return hasCondition(l.guest(l.engine.Report(), 201), plan.Blocked, reason.Flapping) }
		eventually(l, "spaced repairs", func() bool {
			if l.sim.Value(201, "memory") == "2048" {
				l.ok(l.sim.Edit(201, "memory", "4096"))
			}
			return flaps()
		})
		for range 3 {
			stop()
			stop = l.start()
			eventually(l, "the condition after a restart", func() bool { return len(l.engine.Report().Guests) > 0 && flaps() })
		}
		l.files["web.yaml"] = web(3)
		l.push("its own change", alice)
		l.converge()
		if got := l.journal.State().Flapping; len(got) != 0 || l.sim.Value(201, "memory") != "3072" {
			t.Errorf("got records %v and memory %s after the guest's own change, want none and 3072", got, l.sim.Value(201, "memory"))
		}
	})
}

// TestIncidentRestartsPostponeADoubtfulCall crashes the agent before a shutdown, and restarts it every nine minutes. The waits of the processes add up, so
// the guest is shut down within the ten minutes of one wait, and once.
func TestIncidentRestartsPostponeADoubtfulCall(t *testing.T) {
	runLab(t, nil, func(t *testing.T, l *lab) {
		l.files["keep.yaml"] = vmYAML("keep-1", 209, "state: running")
		l.push("first", alice)
		l.once()
		l.files["keep.yaml"] = vmYAML("keep-1", 209, "state: stopped")
		l.push("next", alice)
		l.sim.ResetCounters()
		d := &crashingCluster{Cluster: l.cluster, op: cluster.OpShutdown, at: "before-call"}
		l.opts.Cluster = d
		stop := l.start()
		eventually(l, "the crash", d.crashed.Load)
		stop()
		l.opts.Cluster = l.cluster
		began := time.Now()
		var journaled []time.Duration
		for len(journaled) < 4 && l.sim.Running(209) {
			stop = l.start()
			time.Sleep(9 * time.Minute)
			for _, open := range l.journal.State().Open {
				journaled = append(journaled, open.Waited)
			}
			stop()
		}
		if took := time.Since(began); l.sim.Running(209) || took > 20*time.Minute {
			t.Fatalf("got the guest running %t after %s, with waits of %v in the journal, want it shut down in the second process", l.sim.Running(209), took, journaled)
		}
		if len(journaled) != 1 || journaled[0] < 8*time.Minute || journaled[0] > 9*time.Minute {
			t.Errorf("got waits of %v in the journal before the end of the first process, want one record each minute", journaled)
		}
		l.once()
		if got := l.sim.Effects(209, pvesim.Stopped); got != 1 {
			t.Errorf("got %d shutdowns, want one", got)
		}
	})
}
