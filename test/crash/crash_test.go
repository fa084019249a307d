//go:build integration

package crash

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	_ "gitops-agent/internal/memtemp"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/reason"
	"gitops-agent/reconcile/report"
)

var (
	crashSeeds    = flag.Int("crash-seeds", 20, "number of worlds")
	crashFirst    = flag.Uint64("crash-first", 0, "seed of the first world")
	crashRounds   = flag.Int("crash-rounds", 2, "rounds of a world")
	crashMoment   = flag.String("crash-moment", "", "the only moment of interruptions; default all")
	crashPrograms = flag.String("crash-programs", "", "folder of the programs; default: build them")
	crashOrders   = flag.Int("crash-orders", 1, "largest number of one-shot operations that are ordered in a round")
	crashKills    = flag.Int("crash-kills", 4, "interruptions of a round")
)

// totals are what the run of all worlds counts.
type totals struct {
	kills, terms, stops, clocks, calls, points, duels, starts, journals, faults, effects, guarded, ended, failed atomic.Int64

	mu      sync.Mutex
	changes map[string]int // by name
	orders  map[string]int // by operation
	states  map[string]int // of orders, at their end
}

// ordered counts an order.
func (t *totals) ordered(op string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.orders[op]++
}

// endedAs counts an order that has an outcome.
func (t *totals) endedAs(state string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.states[state]++
}

// counts returns numbers by name, for people, and their sum.
func counts(numbers map[string]int) (text string, sum int) {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(numbers)) {
		sum += numbers[name]
		names = append(names, fmt.Sprintf("%s %d", name, numbers[name]))
	}
	return strings.Join(names, ", "), sum
}

// changed counts a change.
func (t *totals) changed(name string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.changes[name]++
}

// everyWorlds is after how many worlds the counts are printed, so that those of a run that is interrupted are known too.
const everyWorlds = 50

// end counts a world.
func (t *totals) end(world *testing.T, began time.Time) {
	if world.Failed() {
		t.failed.Add(1)
	}
	if n := t.ended.Add(1); n%everyWorlds == 0 && n < int64(*crashSeeds) {
		fmt.Fprintf(os.Stderr, "crash harness, until now: %d worlds ended, %d of them failed, in %s: %s\n", n, t.failed.Load(), time.Since(began).Round(time.Second), t)
	}
}

// String returns the counts for people.
func (t *totals) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	changes, all := counts(t.changes)
	orders, ordered := counts(t.orders)
	states, _ := counts(t.states)
	return fmt.Sprintf("%d SIGKILL, %d SIGTERM, %d SIGSTOP, %d clock changes; %d at a call, %d at a write of the journal; %d duels of two agents; %d starts, %d journals checked; "+
		"%d faults; %d changes (%s); %d orders (%s), which ended as: %s; %d effects, each as often as it must; %d readings of guarded firewalls", t.kills.Load(), t.terms.Load(), t.stops.Load(), t.clocks.Load(), t.calls.Load(), t.points.Load(), t.duels.Load(),
		t.starts.Load(), t.journals.Load(), t.faults.Load(), all, changes, ordered, orders, states, t.effects.Load(), t.guarded.Load())
}

// TestMain lets many worlds run at the same time, unless the command line says how many: a world waits most of the time.
func TestMain(m *testing.M) {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given {
		if err := flag.Set("test.parallel", fmt.Sprint(10*runtime.NumCPU())); err != nil {
			panic(err)
		}
	}
	m.Run()
}

// TestCrash runs the worlds.
func TestCrash(t *testing.T) {
	programs, total, began := buildPrograms(t), &totals{changes: map[string]int{}, orders: map[string]int{}, states: map[string]int{}}, time.Now()
	t.Cleanup(func() { // after the worlds, which run in parallel
		fmt.Fprintf(os.Stderr, "crash harness: %d worlds from seed %d in %s: %s\n", *crashSeeds, *crashFirst, time.Since(began).Round(time.Second), total)
		if *crashKills > 0 && total.kills.Load() == 0 {
			t.Error("got no kill, want some")
		}
	})
	for i := range *crashSeeds {
		seed := *crashFirst + uint64(i)
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			t.Cleanup(func() { total.end(t, began) })
			newWorld(t, programs, seed, total).run()
		})
	}
}

// run runs the rounds of a world.
func (w *world) run() {
	w.Helper()
	for round := range *crashRounds {
		w.did("round %d", round)
		w.startRound(round)
		for range *crashKills {
			w.interrupt()
		}
		w.settle()
	}
	w.pass(15 * time.Minute) // what was in doubt no longer is
	time.Sleep(time.Second)
	w.settle()
	w.approveFirewalls()
	w.settle()
	for _, ops := range w.effects() {
		for _, n := range ops {
			w.total.effects.Add(int64(n))
		}
	}
	w.terminate(w.agents[0])
	w.checkJournal(w.agents[0])
}

// startRound makes random changes and pushes them.
func (w *world) startRound(round int) {
	w.Helper()
	for _, g := range w.guests {
		g.changed, g.approve, g.formerPorts = false, false, g.ports
	}
	for _, o := range w.things {
		o.changed, o.approve = false, false
	}
	scheduled := w.changeSchedules() // before the other changes: a week passes only if no guest with a schedule is changed
	var done []string
	for tries := 0; len(done) < 2 && tries < 20; tries++ {
		known := changes
		if w.rng.IntN(2) == 0 && w.isOfHA() || w.rng.IntN(8) == 0 {
			known = haChanges
		}
		names := slices.Sorted(maps.Keys(known))
		name := names[w.rng.IntN(len(names))]
		if round == 0 {
			known, name = changes, "create"
		}
		if did := known[name](w); did != "" {
			done = append(done, did)
			w.total.changed(name)
		}
	}
	for range w.rng.IntN(4) {
		names := slices.Sorted(maps.Keys(thingChanges))
		name := names[w.rng.IntN(len(names))]
		if o := thingChanges[name](w); o != nil {
			done = append(done, name+" "+o.kindAndName(" "))
			w.total.changed(name + " " + o.kind)
		}
	}
	if round > 0 {
		done = append(done, w.openGuardedFirewalls()...)
	}
	w.push(strings.Join(append(done, scheduled...), ", "))
	for range w.rng.IntN(4) {
		if *crashKills > 0 {
			w.inject()
		}
	}
	if round == 0 {
		return
	}
	if *crashKills > 0 && w.rng.IntN(4) == 0 {
		w.duel() // only the agent that may write executes the orders, which both see
	}
	for range w.rng.IntN(*crashOrders + 1) {
		w.order()
	}
}

// interrupt interrupts a random agent at a random moment.
func (w *world) interrupt() {
	w.Helper()
	a := w.agents[w.rng.IntN(len(w.agents))]
	known := moments
	if w.rng.IntN(2) == 0 && w.isOfHA() && len(w.agents) == 1 {
		known = haMoments
	}
	names := slices.Sorted(maps.Keys(known))
	if len(w.agents) > 1 {
		names = duelMoments
	}
	name := names[w.rng.IntN(len(names))]
	if *crashMoment != "" {
		if name = *crashMoment; haMoments[name] != nil {
			known = haMoments
		} else {
			known = moments
		}
	}
	w.did("%s: %s", name, a.name)
	w.did("  %s", known[name](w, a))
	w.checkGuardedFirewalls()
}

// duel starts a second agent on a copy of the first one's state directory. One of them must find that it is superseded.
func (w *world) duel() {
	w.Helper()
	first := w.agents[0]
	if _, err := os.Stat(first.journal()); err != nil {
		return
	}
	w.kill(first)
	second := w.newAgent(fmt.Sprintf("agent-%d", 1+w.total.duels.Add(1)))
	out, err := exec.Command("cp", "-a", first.state, second.state).CombinedOutput()
	if err != nil {
		w.Fatalf("copy the state directory: %v\n%s", err, out)
	}
	w.agents = append(w.agents, second)
	if w.rng.IntN(2) == 0 {
		first, second = second, first
	}
	w.start(first)
	time.Sleep(time.Duration(w.rng.IntN(1500)) * time.Millisecond)
	w.start(second)
	w.did("duel: %s, then %s", first.name, second.name)
}

// endDuel waits until one of two agents is superseded, and ends it.
func (w *world) endDuel() {
	w.Helper()
	for deadline := time.Now().Add(patience); len(w.agents) > 1; time.Sleep(50 * time.Millisecond) {
		for i, a := range w.agents {
			if doc, ok := a.document(); ok && doc.Writes.Reason == reason.StopSuperseded {
				w.terminate(a)
				w.agents = slices.Delete(w.agents, i, i+1)
				w.did("%s is superseded", a.name)
				break
			}
		}
		if time.Now().After(deadline) {
			w.Fatal("got two agents that may write, want one superseded")
		}
	}
}

// approvalTime is how long an agent may need until it uses an approval that is in force.
const approvalTime = 2 * time.Second

// approve approves what the agent holds for guests whose change needs an approval.
func (w *world) approve(a *agent) {
	w.Helper()
	doc, ok := a.document()
	if !ok {
		return
	}
	for _, row := range doc.Guests {
		if !w.mayApprove(row) {
			continue
		}
		for _, step := range row.Held {
			if step.Op == plan.OpWeaken && w.isOpeningHeld(row) {
				continue
			}
			// An approval is used up as soon as its call may have acted. If the step is held again, a person approves it again.
			inForce := doc.Source.Accepted != nil && doc.Source.Accepted.Commit == w.repo.Tip
			if at := w.approved[step.Digest]; step.Digest != "" && (at.IsZero() || inForce && time.Since(at) > approvalTime) {
				w.approved[step.Digest] = time.Now()
				w.commit("Approve "+string(step.Op)+" of "+row.Name+"\n\nGitops-Approve: "+step.Digest+"\n", olga)
			}
		}
	}
}

// mayApprove reports whether people approve what the agent holds for a row of its status.
func (w *world) mayApprove(row report.Guest) bool {
	return slices.ContainsFunc(w.guests, func(g *machine) bool { return g.approve && g.vmid == row.VMID }) ||
		slices.ContainsFunc(w.things, func(o *thing) bool { return o.approve && o.kind == string(row.Kind) && o.id == row.Name })
}

// isOpeningHeld reports whether the opening of the guarded firewall of a guest waits for an approval that the world has not given.
func (w *world) isOpeningHeld(row report.Guest) bool {
	return slices.ContainsFunc(w.guests, func(g *machine) bool { return g.vmid == row.VMID && g.asked != nil })
}

// settle lets the agent converge without interruptions, and compares what happened with what must have happened.
func (w *world) settle() {
	w.Helper()
	w.send("DELETE", "/faults", nil)
	w.post("/release", nil)
	w.acceptAll()
	w.answer()
	for _, a := range w.agents {
		a.clock.Wall = w.clock.Wall
		w.ok(a.clock.Set())
		w.start(a)
	}
	w.endDuel()
	a := w.agents[0]
	a.waits = 0
	w.awaitDocument(a)
	w.pass(40 * time.Second) // no call is held, so none can act after a repeated one
	for deadline := time.Now().Add(2 * patience); ; time.Sleep(50 * time.Millisecond) {
		w.alive(a)
		w.approve(a)
		w.checkGuardedFirewalls()
		differences, more := w.compare()
		converged := w.converged(a)
		if more {
			w.Fatalf("got more effects than the changes ask for:\n%s", strings.Join(differences, "\n"))
		}
		if len(differences) == 0 && converged {
			w.endOrders()
			w.endSchedules()
			return
		}
		if time.Now().After(deadline) || a.waits > 60 {
			w.Fatalf("got no convergence (converged: %t) or not every effect:\n%s\n%s", converged, strings.Join(differences, "\n"), w.obstacles(a))
		}
		w.waitFor(a)
	}
}

// waitFor lets time pass, more each time, if the agent should have made its calls and has not: something waits, such as a call without a reply. When
// tasks still run after half an hour, a person ends them.
func (w *world) waitFor(a *agent) {
	w.Helper()
	if time.Since(a.started) < claimTime+time.Second || time.Since(a.waited) < time.Second {
		return
	}
	state := w.state()
	if len(state.Held) != 0 {
		return
	}
	a.waited = time.Now()
	a.waits++
	w.pass(min(15*time.Second<<min(a.waits, 6), 16*time.Minute))
	if a.waits > 5 {
		for _, upid := range state.running() {
			w.abort(upid)
		}
	}
}

// obstacles returns what an agent reports of its guests.
func (w *world) obstacles(a *agent) string {
	doc, _ := a.document()
	lines := []string{fmt.Sprintf("writes: %+v; source: refused %+v, error %q, accepted %+v", doc.Writes, doc.Source.Refused, doc.Source.Error, doc.Source.Accepted)}
	for _, g := range doc.Guests {
		lines = append(lines, fmt.Sprintf("%s %d: sync %v, operation %+v, changes %+v, held %+v, conditions %+v", g.Name, g.VMID, g.Sync, g.Operation, g.Changes, g.Held, g.Conditions))
	}
	return strings.Join(lines, "\n")
}
