//go:build integration

package crash

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"
)

// claimTime is how long an agent waits after its claim of the cluster until it writes. Most random instants are after it.
const claimTime = 3 * time.Second

// moments are when and how an agent is interrupted. Each returns what it did. The agent may run before and afterwards.
var moments = map[string]func(w *world, a *agent) string{
	"kill": func(w *world, a *agent) string {
		w.start(a)
		w.atRandom(a)
		w.kill(a)
		return "at a random instant"
	},
	"kill at a write of the journal": func(w *world, a *agent) string {
		if _, err := os.Stat(a.journal()); err != nil {
			return ""
		}
		n := 1 + w.rng.IntN(12)
		watch := w.watchJournal(a)
		defer watch.close()
		w.start(a)
		reached := w.awaitWrites(a, watch, n)
		w.kill(a)
		if reached < n {
			return fmt.Sprintf("converged after %d writes", reached)
		}
		w.total.points.Add(1)
		return fmt.Sprintf("at write %d of the journal", n)
	},
	"kill before a call acts": func(w *world, a *agent) string {
		return w.atCall(a, "hold-before", func() {
			w.kill(a)
			w.post("/release", nil)
		})
	},
	"kill before a call acts late": func(w *world, a *agent) string {
		return w.atCall(a, "hold-before", func() {
			w.kill(a)
			w.start(a)
			w.atRandom(a)
			w.post("/release", nil)
		})
	},
	"a restart acts after the next start": (*world).restartLate,
	"a create acts after the guest is no longer wanted": func(w *world, a *agent) string {
		g := w.add("VirtualMachine")
		g.source, g.disk, g.size, g.storage, g.node, g.vmid = "{blank: {}}", "scsi0", 1, "local-lvm", "pve1", w.freeVMID()
		g.must("created", "destroyed")
		w.push("create " + g.name)
		return w.undone(a, g, map[string]any{"kind": "hold-before", "method": "POST", "path": "^/nodes/[^/]+/qemu$", "vmid": g.vmid}, "created", func() {
			g.wanted = false
			w.post("/announce", map[string]any{"vmid": g.vmid})
		})
	},
	"a start acts after the guest is no longer wanted to run": func(w *world, a *agent) string {
		w.finishChanges(a)
		g := w.pick(func(g *machine) bool { return !g.running && !g.template && g.ha == "" })
		if g == nil {
			return ""
		}
		g.running = true
		g.must("started", "stopped")
		w.push("start " + g.name)
		return w.undone(a, g, map[string]any{"kind": "hold-before", "path": "/status/start$", "vmid": g.vmid}, "started", func() { g.running = false })
	},
	"a newer revision before a call": func(w *world, a *agent) string {
		w.finishChanges(a)
		g := w.pick(func(g *machine) bool { return !g.template && g.ha == "" })
		if g == nil {
			return ""
		}
		return w.overtake(a, g)
	},
	"the forge hangs": func(w *world, a *agent) string {
		if w.forge == nil {
			return ""
		}
		w.forge.hang(true)
		w.start(a)
		w.atRandom(a)
		if w.rng.IntN(2) == 0 {
			w.kill(a)
		}
		if w.rng.IntN(2) == 0 {
			w.forge.hang(false)
		}
		return "from before the start"
	},
	"no quorum": func(w *world, a *agent) string {
		return w.outage(a, func(lost bool) { w.post("/quorum", map[string]any{"quorate": !lost}) })
	},
	"a node fails": func(w *world, a *agent) string {
		if slices.ContainsFunc(w.guests, func(g *machine) bool { return g.wanted && g.isUnderHA() }) {
			return "" // the HA manager would start its guests on the other node
		}
		node := []string{"pve1", "pve2"}[w.rng.IntN(2)]
		return w.outage(a, func(lost bool) {
			w.post("/nodes/"+node, map[string]any{"state": map[bool]string{true: "stopped", false: "started"}[lost]})
		})
	},
	"kill before a reply": func(w *world, a *agent) string {
		return w.atCall(a, "hold-after", func() {
			w.kill(a)
			w.post("/release", nil)
		})
	},
	"kill before the next record": func(w *world, a *agent) string {
		return w.atCall(a, "hold-after", func() {
			w.ok(a.cmd.Process.Signal(syscall.SIGSTOP)) // the reply reaches the process, which cannot read it
			w.post("/release", nil)
			time.Sleep(20 * time.Millisecond)
			w.kill(a)
		})
	},
	"kill at a read": func(w *world, a *agent) string {
		return w.atCallOf(a, map[string]any{"kind": "hold-before", "method": "GET", "path": "^/nodes/", "nth": 1 + w.rng.IntN(30)}, func() {
			w.kill(a)
			w.post("/release", nil)
		})
	},
	"terminate": func(w *world, a *agent) string {
		w.start(a)
		w.atRandom(a)
		w.terminate(a)
		return "at a random instant"
	},
	"terminate during a call": func(w *world, a *agent) string {
		return w.atCall(a, "hold-before", func() {
			w.alive(a)
			w.ok(a.cmd.Process.Signal(syscall.SIGTERM))
			w.total.terms.Add(1)
			time.Sleep(time.Duration(w.rng.IntN(300)) * time.Millisecond)
			w.post("/release", nil)
			w.awaitEnd(a)
		})
	},
	"change the clock": func(w *world, a *agent) string {
		d := []time.Duration{15 * time.Minute, -15 * time.Minute, 2 * time.Hour, -2 * time.Hour, 24 * time.Hour, -24 * time.Hour}[w.rng.IntN(6)]
		w.start(a)
		w.atRandom(a)
		w.waitForJournal(a)
		a.clock.Wall = w.clock.Wall + d // until the end of the round
		w.ok(a.clock.Set())
		w.total.clocks.Add(1)
		return fmt.Sprintf("by %s", d)
	},
	"suspend": func(w *world, a *agent) string {
		w.start(a)
		w.atRandom(a)
		w.suspend(a)
		return "at a random instant"
	},
	"suspend during a call": func(w *world, a *agent) string {
		return w.atCall(a, []string{"hold-before", "hold-after"}[w.rng.IntN(2)], func() {
			w.ok(a.cmd.Process.Signal(syscall.SIGSTOP))
			w.post("/release", nil)
			time.Sleep(time.Duration(w.rng.IntN(200)) * time.Millisecond)
			w.ok(a.cmd.Process.Signal(syscall.SIGCONT))
			w.total.stops.Add(1)
		})
	},
}

// duelMoments are those at which an agent may be interrupted that competes with another one. No call is held: a copied state directory does not know the
// calls of the other agent.
var duelMoments = []string{"kill", "kill at a write of the journal", "terminate", "suspend"}

// suspend stops the process for a moment, in which minutes may pass, as when a machine is suspended.
func (w *world) suspend(a *agent) {
	w.Helper()
	w.alive(a)
	w.ok(a.cmd.Process.Signal(syscall.SIGSTOP))
	w.total.stops.Add(1)
	time.Sleep(time.Duration(20+w.rng.IntN(200)) * time.Millisecond)
	if w.rng.IntN(2) == 0 && w.state().quiet() {
		w.pass(time.Duration(1+w.rng.IntN(120)) * time.Second)
	}
	w.ok(a.cmd.Process.Signal(syscall.SIGCONT))
}

// atRandom waits until a random instant of the life of an agent, most often one at which it may write.
func (w *world) atRandom(a *agent) {
	wait := time.Duration(w.rng.Int64N(int64(claimTime)))
	if w.rng.IntN(4) != 0 {
		wait = claimTime - time.Since(a.started) + time.Duration(w.rng.IntN(900))*time.Millisecond
	}
	time.Sleep(max(wait, time.Duration(w.rng.IntN(300))*time.Millisecond))
}

// agentWrites matches the writes of an agent, and not the ones by which a person ends a task.
const agentWrites = "^/(nodes/[^/]+/(qemu|lxc|storage)|pools|cluster)"

// atCall interrupts the agent at one of its next writes.
func (w *world) atCall(a *agent, hold string, interrupt func()) string {
	w.Helper()
	return w.atCallOf(a, map[string]any{"kind": hold, "writes": true, "path": agentWrites, "nth": 1 + w.rng.IntN(5)}, interrupt)
}

// atCallOf interrupts the agent at a call that a fault holds.
func (w *world) atCallOf(a *agent, fault map[string]any, interrupt func()) string {
	w.Helper()
	w.post("/faults", fault)
	w.start(a)
	if !w.awaitHeld(a) {
		return "no such call"
	}
	var held []struct{ Method, Path string }
	w.get("/held?n=1&timeout=1s", &held)
	w.total.calls.Add(1)
	interrupt()
	return fmt.Sprintf("%v at %v", fault["kind"], held)
}

// awaitHeld waits until the simulator holds a call. It returns false if the agent converges without one.
func (w *world) awaitHeld(a *agent) bool {
	w.Helper()
	for deadline := time.Now().Add(2 * claimTime); time.Now().Before(deadline); {
		resp, err := http.Get(w.control + "/held?n=1&timeout=150ms")
		w.ok(err)
		_ = resp.Body.Close()
		if resp.StatusCode == http.StatusOK {
			return true
		}
		w.alive(a)
		w.approve(a)
		if w.converged(a) {
			break
		}
		w.waitFor(a)
	}
	w.send("DELETE", "/faults", nil)
	return len(w.state().Held) != 0
}

// waitForJournal waits until the agent has begun its journal. An order that was signed before the journal began expires, so with a clock that is ahead at that moment
// no order would count until the clock has caught up.
func (w *world) waitForJournal(a *agent) {
	w.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		if segments, err := filepath.Glob(filepath.Join(a.journal(), "*.journal")); err == nil && len(segments) > 0 {
			return
		}
		if time.Now().After(deadline) {
			w.Fatalf("%s has not begun its journal", a.name)
		}
	}
}
