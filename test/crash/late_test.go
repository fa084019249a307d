//go:build integration

package crash

import (
	"fmt"
	"time"
)

// repeatTime is how long after its claim an agent may need until it repeats a call, or carries out a step that it planned.
const repeatTime = 3 * time.Second

// finishChanges waits until the changes of the round have had their effects, so that each guest may be changed again, or for some seconds.
func (w *world) finishChanges(a *agent) {
	w.Helper()
	w.answer()
	w.start(a)
	for deadline := time.Now().Add(3 * claimTime); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		w.alive(a)
		w.approve(a)
		if differences, _ := w.compare(); len(differences) == 0 && w.converged(a) {
			for _, g := range w.guests {
				g.changed, g.approve = false, false
			}
			for _, o := range w.things {
				o.changed, o.approve = false, false
			}
			return
		}
		w.waitFor(a)
	}
}

// restartLate restarts a guest for a change, and kills the agent before the restart acts. It acts after the next agent has had the time to repeat it.
func (w *world) restartLate(a *agent) string {
	w.Helper()
	w.finishChanges(a)
	g := w.pick(func(g *machine) bool { return g.running && g.kind == "VirtualMachine" && g.ha == "" && !g.template })
	if g == nil {
		return ""
	}
	before := w.effects()[g.vmid]["stopped"]
	g.memory += 16
	g.must("config-written", "stopped", "started")
	g.approve = g.reboot == "approve"
	w.push("memory of " + g.name)
	return w.atCallOf(a, map[string]any{"kind": "hold-before", "path": "/status/reboot$", "vmid": g.vmid}, func() {
		w.kill(a)
		w.start(a)
		w.awaitDocument(a)
		w.pass(time.Minute) // Proxmox may execute a call that much later
		for deadline := a.started.Add(claimTime + repeatTime); time.Now().Before(deadline) && w.effects()[g.vmid]["stopped"] == before; time.Sleep(50 * time.Millisecond) {
			w.alive(a)
			w.approve(a)
		}
		w.post("/release", nil)
	})
}

// undone kills an agent whose call is held, waits until the next one has repeated the call, and pushes the opposite. The held call acts after that, but so
// soon that Proxmox may still execute it.
func (w *world) undone(a *agent, g *machine, hold map[string]any, effect string, undo func()) string {
	w.Helper()
	before := w.effects()[g.vmid][effect]
	happened := func() bool { return w.effects()[g.vmid][effect] > before }
	w.answer()
	w.post("/faults", hold)
	w.start(a)
	did := "no such call"
	if w.awaitHeld(a) {
		did = "the call"
		w.total.calls.Add(1)
		w.kill(a)
	}
	w.start(a)
	for release := time.Now().Add(claimTime + repeatTime); !happened(); time.Sleep(20 * time.Millisecond) {
		w.alive(a)
		switch state := w.state(); {
		case len(state.Held) == 0:
			w.waitFor(a)
		case time.Now().After(release):
			w.post("/release", nil)
		}
		if time.Since(release) > patience {
			w.Fatalf("got no effect %s of %s\n%s", effect, g.name, w.obstacles(a))
		}
	}
	held := len(w.state().Held) != 0
	if held {
		did += ", repeated"
		w.pass(20 * time.Second) // half of the time in which it may act
	}
	undo()
	w.push(fmt.Sprintf("undo %s of %s", effect, g.name))
	if held {
		time.Sleep(repeatTime)
		w.post("/release", nil)
	}
	return did
}

// overtake pushes a change of the run state of a guest, and the opposite while a read before the call is held.
func (w *world) overtake(a *agent, g *machine) string {
	w.Helper()
	hold := map[string]any{"kind": "hold-before", "method": "GET", "path": "^/pools/gitops-agent", "nth": 1 + w.rng.IntN(4), "times": -1}
	if w.rng.IntN(2) == 0 {
		hold = map[string]any{"kind": "hold-before", "method": "GET", "path": fmt.Sprintf("/%d/", g.vmid), "nth": 1 + w.rng.IntN(12), "times": -1}
	}
	w.answer()
	w.start(a)
	if g.vmid == 0 || !w.await(15*time.Second, func() bool { return w.converged(a) }) {
		return ""
	}
	effect := map[bool]string{true: "stopped", false: "started"}[g.running]
	before := w.effects()[g.vmid][effect]
	g.running = !g.running
	w.post("/faults", hold)
	w.push("power of " + g.name)
	held := w.awaitHeld(a) && w.await(claimTime, func() bool { return w.accepted(a) })
	if !held {
		g.must(effect)
		w.post("/release", nil)
		return "no such read"
	}
	w.total.calls.Add(1)
	g.running = !g.running
	w.push("undo power of " + g.name)
	if !w.await(patience, func() bool { return w.accepted(a) }) {
		w.Fatalf("got no newer revision while a read hangs, want it accepted\n%s", w.obstacles(a))
	}
	time.Sleep(time.Second) // until a call that was sent before has acted
	done := w.effects()[g.vmid][effect] > before
	if done {
		g.must("started", "stopped")
	}
	w.send("DELETE", "/faults", nil)
	w.post("/release", nil)
	return fmt.Sprintf("%v, %s already: %t", hold["path"], effect, done)
}

// outage starts an agent while a part of the cluster is lost, and ends that.
func (w *world) outage(a *agent, lose func(lost bool)) string {
	w.Helper()
	w.kill(a)
	if !w.await(claimTime, func() bool { return w.state().quiet() }) {
		return ""
	}
	lose(true)
	w.start(a)
	w.atRandom(a)
	if w.rng.IntN(2) == 0 {
		w.kill(a)
	}
	lose(false)
	return "from before the start"
}

// awaitDocument waits until an agent that started reports something.
func (w *world) awaitDocument(a *agent) {
	w.Helper()
	if !w.await(patience, func() bool { _, ok := a.document(); return ok }) {
		w.Fatalf("%s reports nothing", a.name)
	}
}

// answer lets the forge answer, if the world has one.
func (w *world) answer() {
	if w.forge != nil {
		w.forge.hang(false)
	}
}

// await waits until a condition holds. It returns false if it does not in time.
func (w *world) await(limit time.Duration, holds func() bool) bool {
	for deadline := time.Now().Add(limit); !holds(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			return false
		}
	}
	return true
}

// accepted reports whether an agent has accepted the newest commit.
func (w *world) accepted(a *agent) bool {
	doc, ok := a.document()
	return ok && doc.Source.Accepted != nil && doc.Source.Accepted.Commit == w.repo.Tip
}
