package reconcile_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"gitops-agent/internal/proxmox"
	"gitops-agent/internal/pvesim"
	"gitops-agent/reconcile"
	"gitops-agent/reconcile/intake"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/reason"
	"gitops-agent/reconcile/writer"
)

var agentSeeds = newSeeds("agent", 6, "random histories with several agents on copies of one state directory")

// agents are labs with copies of one state directory, one cluster and one repository.
type agents struct {
	*lab
	all []*lab
	log *writeLog
}

// writeLog contains the writes to guests of several agents, in the order in which they were sent.
type writeLog struct {
	mu   sync.Mutex
	sent []agentWrite
}

// count returns the number of writes so far.
func (l *writeLog) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.sent)
}

// matching returns the requests of the writes after the first ones that match a pattern, such as "POST /nodes/pve1/qemu/201/config".
func (l *writeLog) matching(after int, pattern *regexp.Regexp) (requests []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, w := range l.sent[after:] {
		if request := w.method + " " + w.path; pattern.MatchString(request) {
			requests = append(requests, request)
		}
	}
	return requests
}

type agentWrite struct {
	agent  int
	at     time.Time
	method string
	path   string
}

// agentWire records the writes to guests of one agent.
type agentWire struct {
	next  http.RoundTripper
	agent int
	log   *writeLog
}

func (w *agentWire) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method != http.MethodGet {
		w.log.mu.Lock()
		w.log.sent = append(w.log.sent, agentWrite{w.agent, time.Now(), r.Method, strings.TrimPrefix(r.URL.Path, "/api2/json")})
		w.log.mu.Unlock()
	}
	return w.next.RoundTrip(r)
}

// runAgents runs a test with an agent that made guest 201 and has ended, and count-1 further agents on copies of its state directory. None of them runs
// yet.
func runAgents(t *testing.T, count int, test func(t *testing.T, a *agents)) {
	t.Helper()
	runLab(t, nil, func(t *testing.T, l *lab) {
		a := &agents{lab: l, log: &writeLog{}}
		l.files["web.yaml"] = vmYAML("web-1", 201, "description: first", "lifecycle: {destroy: allow}")
		l.push("a first guest", alice)
		stop := l.start()
		l.converge()
		stop()
		for i := range count {
			a.all = append(a.all, a.copied(i))
		}
		test(t, a)
	})
}

// copied returns the agent of a host that is a copy of the first one.
func (a *agents) copied(i int) *lab {
	a.Helper()
	l := a.lab
	c := &lab{TB: l.TB, sim: l.sim, sig: l.sig, repo: l.repo, files: l.files, state: filepath.Join(l.TempDir(), "state"), noTakeOver: true}
	c.policy.Store(l.policy.Load())
	l.ok(os.CopyFS(c.state, os.DirFS(l.state)))
	c.cluster = c.connect(proxmox.Options{Transport: &agentWire{next: l.sim.Transport(), agent: i, log: a.log}})
	c.opts = l.opts
	c.opts.Cluster, c.opts.Floors, c.opts.Note = c.cluster, c.cluster, intake.RewriteNote{Dir: c.state}
	c.opts.Hooks = reconcile.Hooks{OnEvent: onOutcome(c.onStep)}
	return c
}

// addGuest commits a manifest without a vmid, so that two agents would not collide in one vmid.
func (a *agents) addGuest(name string) {
	a.Helper()
	a.files[name+".yaml"] = withoutVMID(vmYAML(name, 299))
	a.repo.Push(a.sig, alice, "add "+name)
}

// hint makes every agent poll now.
func (a *agents) hint() {
	for _, l := range a.all {
		if l.engine != nil {
			l.engine.Hint()
		}
	}
}

// superseded returns the number of agents that are superseded.
func (a *agents) superseded() (n int) {
	for _, l := range a.all {
		if l.engine != nil && l.engine.Report().Writes.Reason == reason.StopSuperseded {
			n++
		}
	}
	return n
}

// wantNoDuplicates checks that each name has one guest, and that an agent that writes to a guest after another one has claimed the cluster since its
// own last write, three seconds before. It returns how often the writing agent changed.
func (a *agents) wantNoDuplicates(what string) (handovers int) {
	a.Helper()
	names := map[string]int{}
	for _, g := range a.sim.Guests() {
		names[g.Name]++
	}
	for name, n := range names {
		if n != 1 {
			a.Errorf("%s: got %d guests named %s, want 1", what, n, name)
		}
	}
	a.log.mu.Lock()
	defer a.log.mu.Unlock()
	last, claimed := -1, map[int]time.Time{} // the agent of the last write to a guest; the first claim of an agent since its last write
	for _, w := range a.log.sent {
		if strings.HasSuffix(w.path, "/pools") {
			if _, known := claimed[w.agent]; !known {
				claimed[w.agent] = w.at
			}
			continue
		}
		if w.agent != last {
			if since, known := claimed[w.agent]; !known || w.at.Before(since.Add(3*time.Second)) {
				a.Errorf("%s: agent %d sent %s %s at %s after agent %d, without a claim of three seconds before (%s)", what, w.agent, w.method, w.path, w.at, last, since)
			}
			handovers++
		}
		last = w.agent
		delete(claimed, w.agent)
	}
	return max(handovers-1, 0)
}

// TestIncidentTwoAgentsWithCopiedState starts two agents on copies of one state directory while a guest is missing, the second one at different times
// after the first. One of them makes the guest, and the other one is superseded, also after a restart.
func TestIncidentTwoAgentsWithCopiedState(t *testing.T) {
	t.Parallel()
	for name, delay := range map[string]time.Duration{
		"both_at_once": 0, "during_the_wait": time.Second, "at_the_end_of_the_wait": 3 * time.Second, "after_the_wait": 5 * time.Second, "much_later": time.Hour,
	} {
		t.Run(name, func(t *testing.T) {
			runAgents(t, 2, func(t *testing.T, a *agents) {
				a.addGuest("new-1")
				stops := []func(){a.all[0].start()}
				time.Sleep(delay)
				stops = append(stops, a.all[1].start())
				time.Sleep(5 * time.Minute)
				a.addGuest("new-2")
				a.hint()
				eventually(a.all[0], "one agent to be superseded", func() bool { return a.superseded() == 1 })
				time.Sleep(10 * time.Minute)
				for i, l := range a.all {
					stops[i]()
					stops[i] = l.start()
				}
				a.addGuest("new-3")
				a.hint()
				time.Sleep(30 * time.Minute)
				if got := a.superseded(); got != 1 {
					t.Errorf("after a restart of both: got %d superseded agents, want 1", got)
				}
				a.wantNoDuplicates(name)
				if got := len(a.sim.Guests()); got != 5 {
					t.Errorf("got %d guests, want the template and four guests", got)
				}
				first := 0 // the agent that writes
				for i, l := range a.all {
					switch w := l.engine.Report().Writes; {
					case w.Reason != reason.StopSuperseded:
						first = i
					case !strings.Contains(w.Message, "run --take-over"):
						t.Errorf("agent %d: got message %q, want the remedy", i, w.Message)
					}
				}
				for _, stop := range stops {
					stop()
				}
				a.takeOver(first)
			})
		})
	}
}

// takeOver starts the agent that is superseded with --take-over, beside the other one: then the other one is superseded.
func (a *agents) takeOver(first int) {
	a.Helper()
	old, next := a.all[first], a.all[1-first]
	stopOld := old.start()
	defer stopOld()
	a.addGuest("new-4")
	a.hint()
	old.converge()
	next.takeOver = true
	defer next.start()()
	eventually(next, "the other agent to claim", func() bool {
		text, _, err := next.cluster.PoolComment(next.Context(), writer.Pool)
		c, parseErr := writer.Parse(text)
		marks := next.journal.State().Writers
		return err == nil && parseErr == nil && c.Writer.Nonce == marks[len(marks)-1].Nonce
	})
	time.Sleep(5 * time.Second)
	a.files["new-5.yaml"] = vmYAML("new-5", 251) // with a vmid: the other guests have markers that no record of this agent explains
	a.repo.Push(a.sig, alice, "add new-5")
	a.hint()
	eventually(old, "the earlier agent to be superseded", func() bool { return old.engine.Report().Writes.Reason == reason.StopSuperseded })
	a.ok(a.sim.Edit(201, "description", "by hand"))
	time.Sleep(10 * time.Minute)
	if w := next.engine.Report().Writes; !w.Allowed || strings.HasPrefix(a.sim.Value(201, "description"), "by hand") {
		a.Errorf("after --take-over: got writes %+v, want the drift repaired", w)
	}
	a.wantNoDuplicates("after --take-over")
	if got := len(a.sim.Guests()); got != 7 {
		a.Errorf("after --take-over: got %d guests, want 7", got)
	}
}

// TestIncidentCopiedAgentClaimsInBetween lets another agent claim while a call of the first one waits for a write slot, after every check but
// the last one. The call must not be sent; also a call without a risk is not, if its agent has read the comment too long ago.
func TestIncidentCopiedAgentClaimsInBetween(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		change func(a *agents)
		vmid   int
	}{
		"destroy":       {func(a *agents) { delete(a.files, "web.yaml") }, 201},
		"create":        {func(a *agents) { a.files["new.yaml"] = vmYAML("new-1", 250) }, 250},
		"configuration": {func(a *agents) { a.files["web.yaml"] = vmYAML("web-1", 201, "description: second") }, 201},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			runAgents(t, 1, func(t *testing.T, a *agents) {
				l := a.all[0]
				defer l.start()()
				l.addBusyGuests()
				l.pushNow("two guests that will be busy")
				l.converge()
				l.occupyWriteSlots()
				test.change(a)
				l.pushNow("the change that waits")
				l.waitForWaitingCall(test.vmid)
				before := a.log.count()
				l.claimAsAnother()
				time.Sleep(writer.Recent + time.Millisecond)
				l.freeWriteSlots()
				time.Sleep(5 * time.Minute)
				a.log.mu.Lock()
				defer a.log.mu.Unlock()
				for _, w := range a.log.sent[before+1:] { // after the claim
					t.Errorf("got %s %s sent by a superseded agent", w.method, w.path)
				}
				if r := l.engine.Report().Writes; r.Reason != reason.StopSuperseded {
					t.Errorf("got writes %+v, want superseded", r)
				}
			})
		})
	}
}

// claimAsAnother changes the pool comment as an agent on another host does.
func (l *lab) claimAsAnother() {
	l.Helper()
	text, _, err := l.cluster.PoolComment(l.Context(), writer.Pool)
	l.ok(err)
	c, err := writer.Parse(text)
	l.ok(err)
	c.Writer = writer.Mark{Number: c.Writer.Number + 1, Nonce: "ANOTHERAGENTABCD"}
	l.ok(l.cluster.SetPoolComment(l.Context(), writer.Pool, c.String()))
}

// TestIncidentSupersededAgentSeemsReady lets another agent claim the cluster while this one has nothing to do. It reports that within a resync and two ticks.
func TestIncidentSupersededAgentSeemsReady(t *testing.T) {
	t.Parallel()
	for name, claims := range map[string]bool{"after_a_claim": true, "before_its_first_claim": false} {
		t.Run(name, func(t *testing.T) {
			runLab(t, []labOption{defaultPoll}, func(t *testing.T, l *lab) {
				l.files["web.yaml"] = vmYAML("web-1", 201)
				l.push("one guest", alice)
				stop := l.start()
				defer func() { stop() }()
				l.converge()
				if !claims {
					stop()
					stop = l.start()
					l.converge()
				}
				time.Sleep(10 * time.Minute)
				l.claimAsAnother()
				time.Sleep(90 * time.Second)
				if r := l.engine.Report().Writes; r.Reason != reason.StopSuperseded {
					t.Errorf("got writes %+v, want superseded", r)
				}
			})
		})
	}
}

// TestIncidentTwoAgentsTakeTurnsAtRandom runs random histories of two or three agents on copies of one state directory: starts, stops, pushes, drift,
// and slow requests for the comment. No two agents may write to guests in turns, and no guest may be made twice.
func TestIncidentTwoAgentsTakeTurnsAtRandom(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	handovers, writes := 0, 0
	agentSeeds.each(t, func(t *testing.T, seed uint64) {
		rng := rand.New(rand.NewPCG(seed, 11))
		runAgents(t, 2+rng.IntN(2), func(_ *testing.T, a *agents) {
			a.randomHistory(rng)
			h := a.wantNoDuplicates(fmt.Sprintf("seed %d", seed))
			mu.Lock()
			defer mu.Unlock()
			handovers, writes = handovers+h, writes+len(a.log.sent)
		})
	}, func(*testing.T) string { return fmt.Sprintf("%d handovers, %d writes to guests", handovers, writes) })
}

// inTheMaking reports whether a step is open, or a guest was created and not seen with its marker yet.
func inTheMaking(s journal.State) bool {
	for _, o := range s.Owned {
		if o.Claiming {
			return true
		}
	}
	return len(s.Open) > 0
}

// endOthers stops the other agents when none of them has an open step or an unmarked guest, as a person does before a --take-over: nobody else knows a guest that is being
// created.
func (a *agents) endOthers(i int, stops []func()) {
	a.Helper()
	for j, l := range a.all {
		for open := true; open && j != i; {
			if stops[j] == nil {
				l.takeOver = false
				stops[j] = l.start()
			}
			eventually(l, "no guest in the making", func() bool { return !inTheMaking(l.journal.State()) })
			stops[j]()
			stops[j] = nil
			open = inTheMaking(l.journal.State())
		}
	}
}

// randomHistory lets the agents run, with changes at random moments.
func (a *agents) randomHistory(rng *rand.Rand) {
	a.Helper()
	stops := make([]func(), len(a.all))
	for range 40 {
		i := rng.IntN(len(a.all))
		switch rng.IntN(7) {
		case 0, 1:
			if stops[i] == nil {
				if a.all[i].takeOver = rng.IntN(3) == 0; a.all[i].takeOver {
					a.endOthers(i, stops)
				}
				stops[i] = a.all[i].start()
			}
		case 2:
			if stops[i] != nil {
				stops[i]()
				stops[i] = nil
			}
		case 3:
			a.addGuest(fmt.Sprintf("new-%d", rng.IntN(8)))
			a.hint()
		case 4:
			a.ok(a.sim.Edit(201, "description", fmt.Sprintf("by hand %d", rng.IntN(1000))))
		case 5:
			a.ok(a.sim.Inject(pvesim.Fault{
				Method: []string{"GET", "PUT"}[rng.IntN(2)], Path: "^/pools", Kind: pvesim.Latency, Delay: time.Duration(rng.IntN(12_000)) * time.Millisecond,
			}))
		case 6:
			a.hint()
		}
		if rng.IntN(3) > 0 {
			time.Sleep(time.Duration(rng.IntN(6_000)) * time.Millisecond)
		}
	}
	time.Sleep(30 * time.Minute)
	for _, stop := range stops {
		if stop != nil {
			stop()
		}
	}
}
