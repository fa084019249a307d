package reconcile_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/reason"
	"gitops-agent/reconcile/report"
)

// probe is a cluster whose calls a test can change.
type probe struct {
	cluster.Cluster

	mu     sync.Mutex
	hooks  hooks
	stall  *stall
	inLane bool // a lane has begun since stop was called
	calls  []cluster.Call
}

// hooks are what a test does with calls. Each may be nil.
type hooks struct {
	read  func(o *guest.Observed)       // changes the result of a full read
	wait  func(upid string) error       // fails a read of a task
	write func(call cluster.Call)       // is called before a write
	reply func(call cluster.Call) error // loses the reply to a write that took effect
}

// stall stops the lane of a guest during its next read: the lane has the revision then, and has not planned yet.
type stall struct {
	vmid    int
	reached chan struct{}
	release chan struct{}
}

// runLabWithProbe runs a test in virtual time, with a probe between the engine and the cluster.
func runLabWithProbe(t *testing.T, options []labOption, test func(t *testing.T, l *lab, p *probe)) {
	t.Helper()
	runLab(t, options, func(t *testing.T, l *lab) {
		p := &probe{Cluster: l.cluster}
		l.opts.Cluster = p
		l.opts.Hooks.OnQueueWait = p.laneBegan
		test(t, l, p)
	})
}

// setHooks replaces the hooks of the test.
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

// stop stalls the next read of the guest's lane.
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

// pass lets a read continue, unless it is the read to stall. The engine reads guests too; a read of a lane follows the beginning of the lane.
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

func (p *probe) Status(ctx context.Context, row cluster.Row) (guest.Status, *guest.Process, error) {
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

// waitForAcceptance waits until a commit is in force.
func (l *lab) waitForAcceptance(id string) {
	l.Helper()
	eventually(l, "acceptance of "+id, func() bool {
		a := l.engine.Report().Source.Accepted
		return a != nil && a.Commit == id
	})
}

// digestOfHold waits until a guest's step needs an approval, and returns the digest that an approval has to contain.
func (l *lab) digestOfHold(vmid int) string {
	l.Helper()
	digest := ""
	eventually(l, "a hold that needs an approval", func() bool {
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

// hasCondition reports whether a guest has a condition of this type and, unless it is empty, this reason.
func hasCondition(g report.Guest, kind plan.ConditionType, reason reason.Name) bool {
	for _, c := range g.Conditions {
		if c.Type == kind && (reason == "" || c.Reason == reason) && c.Act == c.Reason.Act() {
			return true
		}
	}
	return false
}
