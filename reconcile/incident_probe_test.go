package reconcile_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/report"
)

// probe is a cluster on whose calls a test may lay hands.
type probe struct {
	cluster.Cluster

	mu     sync.Mutex
	hooks  hooks
	stall  *stall
	inLane bool // a lane has begun its work since the stall was set up
	calls  []cluster.Call
}

// hands are what a test does with calls. Each may be nil.
type hooks struct {
	read  func(o *guest.Observed)       // changes what a full read shows
	wait  func(upid string) error       // fails a look at a task
	write func(call cluster.Call)       // comes before a write
	reply func(call cluster.Call) error // loses the reply of a write that acted
}

// stall stops the lane of a guest in the middle of its next look: it knows the revision by then, and has not planned yet.
type stall struct {
	vmid    int
	reached chan struct{}
	release chan struct{}
}

// probed runs a test in virtual time, with a probe between the engine and the cluster.
func runLabWithProbe(t *testing.T, options []labOption, test func(t *testing.T, l *lab, p *probe)) {
	t.Helper()
	runLab(t, options, func(t *testing.T, l *lab) {
		p := &probe{Cluster: l.cluster}
		l.opts.Cluster = p
		l.opts.Hooks.OnQueueWait = p.laneBegan
		test(t, l, p)
	})
}

// lay puts a test's hands in the place of the ones before.
func (p *probe) setHooks(h hooks) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hooks = h
}

func (p *probe) currentHooks() hooks {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.hooks
}

// stop stalls the next look that the guest's lane takes.
func (p *probe) stop(vmid int) *stall {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.inLane = false
	p.stall = &stall{vmid: vmid, reached: make(chan struct{}), release: make(chan struct{})}
	return p.stall
}

func (p *probe) laneBegan(time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.inLane = true
}

// pass lets a look through, unless it is the one to stall. The engine looks at guests too; a lane's look follows its beginning.
func (p *probe) pass(ctx context.Context, vmid int) {
	p.mu.Lock()
	s := p.stall
	if s == nil || !p.inLane || s.vmid != vmid {
		p.mu.Unlock()
		return
	}
	p.stall = nil
	p.mu.Unlock()
	close(s.reached)
	select {
	case <-s.release:
	case <-ctx.Done():
	}
}

// count returns how many writes of an operation were sent for a guest.
func (p *probe) count(op cluster.Op, vmid int) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := 0
	for _, call := range p.calls {
		if call.Op == op && call.VMID == vmid {
			n++
		}
	}
	return n
}

func (p *probe) Status(ctx context.Context, row cluster.Row) (guest.Status, error) {
	p.pass(ctx, row.VMID)
	return p.Cluster.Status(ctx, row)
}

func (p *probe) Exists(ctx context.Context, vmid int) (bool, error) {
	p.pass(ctx, vmid)
	return p.Cluster.Exists(ctx, vmid)
}

func (p *probe) Observe(ctx context.Context, row cluster.Row) (guest.Observed, error) {
	o, err := p.Cluster.Observe(ctx, row)
	if read := p.currentHooks().read; read != nil && err == nil {
		read(&o)
	}
	return o, err
}

func (p *probe) Wait(ctx context.Context, upid string) (cluster.Task, error) {
	if wait := p.currentHooks().wait; wait != nil {
		if err := wait(upid); err != nil {
			return cluster.Task{}, err
		}
	}
	return p.Cluster.Wait(ctx, upid)
}

func (p *probe) Do(ctx context.Context, call cluster.Call, check cluster.LastCheck) (string, error) {
	if write := p.currentHooks().write; write != nil {
		write(call)
	}
	upid, err := p.Cluster.Do(ctx, call, func(ctx context.Context) error {
		if err := check(ctx); err != nil {
			return err
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		p.calls = append(p.calls, call) // it is sent now
		return nil
	})
	if reply := p.currentHooks().reply; reply != nil && err == nil {
		if lost := reply(call); lost != nil {
			return "", lost
		}
	}
	return upid, err
}

// acceptance waits until a commit is in force.
func (l *lab) waitForAcceptance(id string) {
	l.Helper()
	eventually(l, "acceptance of "+id, func() bool {
		a := l.engine.Report().Source.Accepted
		return a != nil && a.Commit == id
	})
}

// digestOfHold waits until a guest's step needs an approval, and returns what an approval has to name.
func (l *lab) digestOfHold(vmid int) string {
	l.Helper()
	digest := ""
	eventually(l, "a hold that an approval ends", func() bool {
		for _, g := range l.engine.Report().Guests {
			if g.VMID == vmid && len(g.Held) == 1 {
				digest = g.Held[0].Digest
			}
		}
		return digest != ""
	})
	return digest
}

// approve pushes olga's approval of a step.
func (l *lab) approve(digest string) {
	l.Helper()
	l.push("Approve\n\nGitops-Approve: "+digest+"\n", olga)
}

// has reports whether a guest has a condition of this type and, unless it is empty, this reason.
func hasCondition(g report.Guest, kind plan.ConditionType, reason plan.ConditionReason) bool {
	for _, c := range g.Conditions {
		if c.Type == kind && (reason == "" || c.Reason == reason) {
			return true
		}
	}
	return false
}
