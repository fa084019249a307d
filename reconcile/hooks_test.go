package reconcile_test

import (
	"slices"
	"sync"
	"testing"

	"gitops-agent/internal/proxmox"
	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/event"
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
			begun     told[report.StepBegun]
			ended     told[report.StepOutcome]
			holds     told[event.Name] // of the guest 201
			exchanges told[cluster.Exchange]
		)
		l.cluster = l.connect(proxmox.Options{OnRequest: exchanges.add})
		l.opts.Cluster, l.opts.Floors = l.cluster, l.cluster
		l.opts.Hooks.Intake.OnPoll, l.opts.Hooks.Intake.OnVerify, l.opts.Hooks.OnPlan = polls.add, verified.add, plans.add
		l.opts.Hooks.OnEvent = func(e event.Event) {
			switch o := e.Outcome.(type) {
			case report.StepBegun:
				begun.add(o)
			case report.StepOutcome:
				ended.add(o)
			case report.HoldOutcome:
				if o.Guest.VMID == 201 && o.Step.Digest != "" {
					holds.add(e.Name)
				}
			}
		}
		l.files["web.yaml"] = webOnBridge("vmbr0")
		l.push("one guest", alice)
		defer l.start()()
		l.converge()
		l.files["web.yaml"] = webOnBridge("vmbr1")
		l.push("another bridge", alice)
		l.approve(l.digestOfHold(201))
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
		if got, want := holds.all(), []event.Name{event.StepHeld, event.StepReleased}; !slices.Equal(got, want) {
			t.Errorf("got %v of the held step, want %v", got, want)
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
