package reconcile_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gitops-agent/internal/proxmox"
	"gitops-agent/internal/pvesim"
	"gitops-agent/reconcile"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/pause"
	"gitops-agent/reconcile/reason"
)

// newPausableLab returns a lab whose engine and client obey the file of a pause, as the agent wires them.
func newPausableLab(t *testing.T, sim *pvesim.Sim, options ...labOption) (*lab, pause.File) {
	t.Helper()
	file := pause.File{Dir: t.TempDir()}
	l := newLab(t, sim, append(options, func(o *reconcile.Options) { o.Pause = file })...)
	client := l.connect(proxmox.Options{MayWrite: file.Check})
	l.cluster, l.opts.Cluster, l.opts.Floors = client, client, client
	return l, file
}

// TestPauseStopsWritesAndResumeContinues pauses a running agent. Drift and a new revision during the pause are observed, accepted and planned,
// and nothing is written, not even the floor. After the pause, everything is carried out.
func TestPauseStopsWritesAndResumeContinues(t *testing.T) {
	t.Parallel()
	ends := map[string]func(l *lab, file pause.File){
		"by_resume": func(l *lab, file pause.File) {
			_, err := file.Remove()
			l.ok(err)
		},
		"by_its_end": func(_ *lab, _ pause.File) { time.Sleep(2 * time.Hour) },
	}
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l, file := newPausableLab(t, newSim(t, pvesim.Options{}))
				l.files["cluster.yaml"], l.files["web.yaml"] = clusterYAML, vmYAML("web-1", 201, "memory: {size: 2Gi}")
				l.push("web-1", alice)
				stop := l.start()
				defer stop()
				l.converge()
				note := pause.Note{Reason: "kernel update", Since: time.Now(), Until: time.Now().Add(2 * time.Hour), UID: 1000}
				l.ok(file.Write(note))
				l.sim.ResetCounters()
				time.Sleep(2 * time.Second)
				r := l.engine.Report()
				if r.Writes.Allowed || r.Writes.Reason != reason.StopPaused || r.Writes.Paused == nil || r.Writes.Paused.Reason != note.Reason || !r.Converged {
					t.Errorf("two seconds later: got writes %+v, converged %t, want paused and converged", r.Writes, r.Converged)
				}
				l.ok(l.sim.Edit(201, "memory", "4096"))
				l.files["db.yaml"] = vmYAML("db-1", 202)
				l.pushNow("db-1")
				time.Sleep(30 * time.Minute)
				r = l.engine.Report()
				if held := l.guest(r, 201).Held; len(held) != 1 || held[0].Reason != reason.WritesStopped || !strings.Contains(held[0].Message, "kernel update") {
					t.Errorf("drift: got held steps %+v, want one that names the pause", held)
				}
				if held := l.guest(r, 202).Held; len(held) == 0 {
					t.Error("new guest: got no held step, want one")
				}
				if counters := l.sim.Counters(); counters.Writes != 0 {
					t.Errorf("got %d writes during the pause, want none: %v", counters.Writes, counters.Routes)
				}
				end(l, file)
				l.converge()
				if got := l.sim.Value(201, "memory"); got != "2048" {
					t.Errorf("after the pause: got memory %s, want 2048", got)
				}
				eventually(l, "the floor of the newest revision", func() bool {
					comment, _, err := l.cluster.PoolComment(l.Context(), "gitops-agent")
					return err == nil && strings.Contains(comment, l.engine.Report().Source.Accepted.Commit)
				})
				want := []string{"paused: by user 1000 since ", "resumed: ends the pause by user 1000 since "}
				if got := l.pauseEvents(); len(got) != 2 || !strings.HasPrefix(got[0], want[0]) || !strings.HasPrefix(got[1], want[1]) {
					t.Errorf("got events %q, want %q", got, want)
				}
			})
		})
	}
}

// pauseEvents returns the events of pauses in the journal.
func (l *lab) pauseEvents() []string { return l.journaledEvents("paused", "resumed") }

// journaledEvents returns the events of the journal with some names, each as its name and message.
func (l *lab) journaledEvents(names ...string) (events []string) {
	l.Helper()
	_, err := journal.Read(filepath.Join(l.state, "journal"), func(r journal.Record) error {
		if e, ok := r.Body.(journal.Event); ok && slices.Contains(names, e.Name) {
			events = append(events, e.Name+": "+e.Message)
		}
		return nil
	})
	l.ok(err)
	return events
}

// TestPauseStopsACallThatWaitsForASlot pauses the agent while a call has passed every check but the last one: both write slots of its node are
// busy. The call must not be sent when a slot becomes free, also if the engine has not noticed the pause. After the pause, the step runs once.
func TestPauseStopsACallThatWaitsForASlot(t *testing.T) {
	t.Parallel()
	for name, noticed := range map[string]time.Duration{"engine_has_noticed": 3 * time.Second, "engine_has_not_noticed": 0} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l, file := newPausableLab(t, newSim(t, pvesim.Options{}))
				l.files["cluster.yaml"] = clusterYAML
				l.addBusyGuests()
				l.files["web.yaml"] = vmYAML("web-1", 201, "description: first")
				l.push("three guests", alice)
				stop := l.start()
				defer stop()
				l.converge()
				l.occupyWriteSlots()
				l.files["web.yaml"] = vmYAML("web-1", 201, "description: second")
				l.pushNow("a third change")
				l.waitForWaitingCall(201)
				l.ok(file.Write(pause.Note{Since: time.Now()}))
				time.Sleep(noticed)
				l.freeWriteSlots()
				time.Sleep(10 * time.Minute)
				if got := l.sim.Value(201, "description"); !strings.HasPrefix(got, "first") {
					t.Errorf("got description %q during the pause, want the first", got)
				}
				for _, g := range l.engine.Report().Guests {
					for _, c := range g.Conditions {
						if c.Type == "Failed" {
							t.Errorf("%s: got condition %+v, want no failure because of a pause", g.Label(), c)
						}
					}
				}
				_, err := file.Remove()
				l.ok(err)
				l.converge()
				if got := l.sim.Value(201, "description"); !strings.HasPrefix(got, "second") {
					t.Errorf("got description %q after the pause, want the second", got)
				}
			})
		})
	}
}

// TestPauseLastsOverRestarts starts an agent that was paused before: it plans, accepts and writes nothing.
func TestPauseLastsOverRestarts(t *testing.T) {
	t.Parallel()
	l, file := newPausableLab(t, newSim(t, pvesim.Options{}))
	l.files["cluster.yaml"], l.files["web.yaml"] = clusterYAML, vmYAML("web-1", 201)
	commit := l.push("web-1", alice)
	l.ok(file.Write(pause.Note{Since: time.Now()}))
	for range 2 {
		r := l.once()
		if r.Writes.Reason != reason.StopPaused || r.Source.Accepted == nil || r.Source.Accepted.Commit != commit {
			t.Errorf("got writes %+v, accepted %v, want paused with the revision in force", r.Writes, r.Source.Accepted)
		}
	}
	if writes := l.sim.Counters().Writes; writes != 0 {
		t.Errorf("got %d writes, want none", writes)
	}
	_, err := file.Remove()
	l.ok(err)
	if r := l.once(); !r.Converged {
		t.Errorf("after the pause: got %+v, want converged", r.Guests)
	}
}
