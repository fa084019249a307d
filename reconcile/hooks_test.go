package reconcile_test

import (
	"slices"
	"sync"
	"testing"

	"gitops-agent/internal/proxmox"
	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/report"
)

// told collects what hooks are called with.
type told[T any] struct {
	mu   sync.Mutex
	list []T
}

func (c *told[T]) add(v T) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.list = append(c.list, v)
}

func (c *told[T]) all() []T {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.list)
}

// TestHooksNameRevisionAndStep moves a guest to another bridge: the step is held, approved and executed. Every event and every request of the step
// says to what it belongs.
func TestHooksNameRevisionAndStep(t *testing.T) {
	runLab(t, nil, func(t *testing.T, l *lab) {
		var (
			polls     told[report.PollOutcome]
			verified  told[report.VerifyOutcome]
			plans     told[report.PlanOutcome]
			holds     told[report.HoldOutcome]
			begun     told[report.StepBegun]
			ended     told[report.StepOutcome]
			exchanges told[cluster.Exchange]
		)
		l.cluster = l.connect(proxmox.Options{OnRequest: exchanges.add})
		l.opts.Cluster, l.opts.Floors = l.cluster, l.cluster
		l.opts.Hooks.Intake.OnPoll, l.opts.Hooks.Intake.OnVerify, l.opts.Hooks.OnPlan, l.opts.Hooks.OnHold = polls.add, verified.add, plans.add, holds.add
		l.opts.Hooks.Lane.OnStepBegun, l.opts.Hooks.Lane.OnStep = begun.add, ended.add
		l.files["web.yaml"] = webOnBridge("vmbr0")
		l.push("one guest", alice)
		defer l.start()()
		l.converge()
		l.files["web.yaml"] = webOnBridge("vmbr1")
		l.push("another bridge", alice)
		digest := l.digestOfHold(201)
		l.approve(digest)
		eventually(t, "the approved change", l.moved)
		l.converge()

		accepted := l.engine.Report().Source.Accepted
		revision := "main@sha1:" + accepted.Commit
		last := ended.all()[len(ended.all())-1]
		if last.Revision != revision || last.Step.Op != cluster.OpConfig || last.Result != journal.Done {
			t.Errorf("got %+v, want a step of %s that is done", last, revision)
		}
		if !slices.ContainsFunc(begun.all(), func(s report.StepBegun) bool { return s.ID == last.ID && s.Revision == revision }) {
			t.Errorf("got %+v begun, want the step %s of %s", begun.all(), last.ID, revision)
		}
		if v := verified.all(); v[len(v)-1].Commit != accepted.Commit || v[len(v)-1].Signer != olga.Subject {
			t.Errorf("got %+v verified last, want %s by %s", v[len(v)-1], accepted.Commit, olga.Subject)
		}
		if !slices.ContainsFunc(plans.all(), func(p report.PlanOutcome) bool { return p.Revision == revision }) {
			t.Errorf("got no plan of %s", revision)
		}
		if !slices.ContainsFunc(polls.all(), func(p report.PollOutcome) bool { return p.Head == accepted.Commit && p.Fetch <= p.Duration }) {
			t.Errorf("got %+v, want a poll of %s whose fetch is a part of it", polls.all(), accepted.Commit)
		}
		var events []report.HoldEvent
		for _, h := range holds.all() {
			if h.Guest.VMID == 201 && h.Step.Digest == digest {
				events = append(events, h.Event)
			}
		}
		if want := []report.HoldEvent{report.Held, report.Released}; !slices.Equal(events, want) {
			t.Errorf("got %v of the held step, want %v", events, want)
		}
		var ofStep []string
		for _, e := range exchanges.all() {
			if e.Step == last.ID {
				ofStep = append(ofStep, e.Method+" "+e.Route+" "+e.Code)
			}
		}
		for _, want := range []string{"POST /nodes/{node}/{kind}/{vmid}/config 200", "GET /nodes/{node}/tasks/{upid}/status 200"} {
			if !slices.Contains(ofStep, want) {
				t.Errorf("got the requests %q of the step, want %q among them", ofStep, want)
			}
		}
	})
}
