package health

import (
	"context"
	"crypto/x509"
	"net/netip"
	"sync"
	"time"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
)

// maxRunning is how many guests are checked at the same time. Of one node, only one guest agent is asked at a time: one that does not answer occupies
// one of the few workers of the node for seconds.
const maxRunning = 8

// Options configures a Prober.
type Options struct {
	Allow   Allow
	Ping    func(ctx context.Context, row cluster.Row) error             // asks the guest agent of a virtual machine; nil has none
	Roots   *x509.CertPool                                               // authorities of the certificates of https pages; nil is those of the system
	Resolve func(ctx context.Context, host string) ([]netip.Addr, error) // nil is the resolver of the system
	Changed func()                                                       // called when a guest has become ready, or is no longer; may be nil
}

// Target is a guest whose readiness matters now, or a query.
type Target struct {
	Label string
	Row   cluster.Row
	Check guest.Health
	Query Query
}

// Prober runs the checks of guests in goroutines of its own. It is safe for concurrent use.
type Prober struct {
	opts  Options
	slots chan struct{}
	calls sync.WaitGroup

	mu      sync.Mutex
	targets map[string]*target
	nodes   map[string]chan struct{} // by name
	running int
	news    bool // a result changed since the last call of Want
}

// target is a guest with its newest result.
type target struct {
	Target
	result  Result
	running bool
}

// New returns a prober that checks nothing yet.
func New(opts Options) *Prober {
	return &Prober{opts: opts, slots: make(chan struct{}, maxRunning), targets: make(map[string]*target), nodes: make(map[string]chan struct{})}
}

// Want sets the guests whose readiness matters, and starts the checks that are due. It never blocks. Results of other guests are forgotten, so that a
// guest that was changed meanwhile is checked again.
func (p *Prober) Want(ctx context.Context, wanted []Target) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.news = false
	next, now := make(map[string]*target, len(wanted)), time.Now()
	for _, w := range wanted {
		t := p.targets[w.Label]
		if t == nil || t.Target != w {
			t = &target{Target: w}
		}
		next[w.Label] = t
		if !t.running && t.result.due(now) && ctx.Err() == nil {
			t.running = true
			p.running++
			p.calls.Go(func() { p.run(ctx, t) })
		}
	}
	p.targets = next
}

// run checks one guest.
func (p *Prober) run(ctx context.Context, t *target) {
	if t.Check.Agent {
		node := p.node(t.Row.Node)
		node <- struct{}{}
		defer func() { <-node }()
	}
	p.slots <- struct{}{}
	defer func() { <-p.slots }()
	began := time.Now()
	limited, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	r := p.check(limited, t.Target)
	r.Began = began
	p.mu.Lock()
	changed := t.result.Began.IsZero() || (t.result.NotReady(began) == "") != (r.Problem == "")
	t.result, t.running = r, false
	p.news = p.news || changed
	p.running--
	p.mu.Unlock()
	if changed && p.opts.Changed != nil {
		p.opts.Changed()
	}
}

// node returns the slot of a node.
func (p *Prober) node(name string) chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.nodes[name] == nil {
		p.nodes[name] = make(chan struct{}, 1)
	}
	return p.nodes[name]
}

// Refuses reports whether the config of the host allows a check of a guest certainly not, or did not when it ran.
func (p *Prober) Refuses(label string, check guest.Health) bool {
	return check != (guest.Health{}) && (p.opts.Allow.Refuses(check) || p.Result(label).Refused)
}

// Result returns the newest result of a guest, the zero value if there is none.
func (p *Prober) Result(label string) Result {
	p.mu.Lock()
	defer p.mu.Unlock()
	if t := p.targets[label]; t != nil {
		return t.result
	}
	return Result{}
}

// Busy reports whether a check is running, or a result has changed since the last call of Want.
func (p *Prober) Busy() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.running > 0 || p.news
}

// Wait returns when no check is running.
func (p *Prober) Wait() { p.calls.Wait() }
