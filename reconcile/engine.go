package reconcile

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"gitops-agent/gitsource"
	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/gate"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/intake"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/lane"
	"gitops-agent/reconcile/observe"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/queue"
	"gitops-agent/reconcile/report"
	"gitops-agent/reconcile/secret"
	"gitops-agent/verify"
)

// Options configures an Engine. Cluster, Source, Policy, Journal and Scope.Cluster are required.
type Options struct {
	Cluster cluster.Cluster
	Source  *gitsource.Source
	Policy  func() (*verify.Policy, error) // the policy in force; asked at every check
	Journal *journal.Journal
	Scope   intake.Scope
	Branch  string

	Poll     time.Duration      // between looks at the remote; 0 is 30 s
	Tick     time.Duration      // between inventories; 0 is 15 s
	Resync   time.Duration      // every guest is read in full within it; 0 is 60 s
	VMList   string             // Proxmox's own list of guests, /etc/pve/.vmlist on a node; "" is none
	Check    time.Duration      // guests that VMList vouches for are read in full within it; 0 is 10 times Resync
	Parallel int                // lanes at work at once; 0 is 8
	Limits   queue.Limits       // of what those lanes share
	DryRun   bool               // plan and report, write nothing
	Floors   intake.FloorKeeper // where the newest accepted revision outlives the state directory; nil keeps it nowhere
	Note     intake.RewriteNote // where allow-rewrite leaves its word; the zero value looks nowhere
	Secrets  secret.Source      // where passwords come from that manifests name
	Logger   *slog.Logger       // nil is silent
	Hooks    Hooks
}

// Engine keeps a cluster as the accepted revision says. It is level-triggered: every cycle starts from what is there.
type Engine struct {
	opts     Options
	log      *slog.Logger
	intake   *intake.Intake
	observer *observe.Observer
	worker   *lane.Worker
	vault    *secret.Vault
	queue    *queue.Queue
	hint     chan struct{}
	lanes    mailbox

	world  atomic.Pointer[lane.Basis]
	report atomic.Pointer[report.Report]

	// What follows belongs to the goroutine of Run or Once.
	accepted    intake.Accepted
	acceptedAt  time.Time
	firstSeen   time.Time // of the accepted revision's commit
	unverified  error     // why the accepted revision does not verify any more
	source      report.Source
	fetchErr    error // behind source.Error
	proxmox     report.Proxmox
	clusterErr  error // behind proxmox.Error
	tracks      map[trackKey]*track
	cycles      uint64
	converged   bool // the accepted revision converged once
	convergedAt time.Time
	resumed     bool // the accepted revision was accepted by an earlier run
	closing     bool
	doubts      observe.ObservingDoubts // that were told of
	outages     int                     // looks at the cluster in a row that failed
	unassigned  error                   // why guests without a vmid did not get one
	guests      []guest.Desired         // of the accepted revision, with the vmids that are assigned
	policies    gate.Policies           // of guests
	copied      map[int][]cluster.Row   // guests that bear the marker of an owned one, by its vmid
}

// NewEngine returns an engine that has not begun. It writes nothing before Run or Once.
func NewEngine(opts Options) *Engine {
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	opts.Poll = orDefault(opts.Poll, 30*time.Second)
	opts.Tick = orDefault(opts.Tick, 15*time.Second)
	opts.Resync = orDefault(opts.Resync, time.Minute)
	opts.Check = orDefault(opts.Check, 10*opts.Resync)
	e := &Engine{
		opts: opts, log: opts.Logger, hint: make(chan struct{}, 1), tracks: make(map[trackKey]*track),
		intake: &intake.Intake{
			Source: opts.Source, Policy: opts.Policy, Journal: opts.Journal, Scope: opts.Scope, Hooks: opts.Hooks.Intake, Floors: opts.Floors, Note: opts.Note,
			DryRun: opts.DryRun, Log: opts.Logger, Turn: &sync.RWMutex{},
		},
		observer: observe.New(opts.Cluster, opts.Tick, opts.Resync),
		vault:    secret.NewVault(opts.Secrets, opts.Scope.Cluster),
		source:   report.Source{Branch: opts.Branch},
	}
	e.observer.UseVMList(opts.VMList, opts.Check)
	e.lanes.bell = make(chan struct{}, 1)
	e.queue = queue.New(queue.Options{Parallel: opts.Parallel, Limit: opts.Limits.For, OnWait: opts.Hooks.OnQueueWait, OnPanic: e.lanePanicked, OnIdle: func(int) { e.lanes.ring() }})
	e.worker = &lane.Worker{
		Cluster: opts.Cluster, Journal: opts.Journal, Vault: e.vault, Hooks: e.loggedHooks(), World: e.world.Load, Ids: newStepID, Turn: e.intake.Turn,
	}
	e.world.Store(&lane.Basis{Cluster: opts.Scope.Cluster, NoWrites: gate.StopNoRevision, Why: "no revision was accepted yet"})
	e.report.Store(&report.Report{Cluster: opts.Scope.Cluster, Source: e.source})
	return e
}

func orDefault(d, standard time.Duration) time.Duration {
	if d <= 0 {
		return standard
	}
	return d
}

// newStepID returns an id that no other step has, also not in another life of the state directory.
func newStepID() string { return rand.Text()[:16] }

// Report returns the newest report. It is safe for concurrent use, and the report must not be changed.
func (e *Engine) Report() report.Report { return *e.report.Load() }

// Hint asks for a look at the remote now. It never blocks and carries no content.
func (e *Engine) Hint() {
	select {
	case e.hint <- struct{}{}:
	default:
	}
}

// Run keeps the cluster until ctx ends. It returns when its goroutines have: a call that was dispatched is journaled, and one
// that still runs is left to the next start.
func (e *Engine) Run(ctx context.Context) error {
	defer e.queue.Close()
	polls := make(chan intake.Polled)
	var wg sync.WaitGroup
	defer wg.Wait()
	e.resume(ctx, e.intake.Resume(ctx))
	wg.Go(func() {
		poller := gitsource.Poller{Interval: e.opts.Poll, Hint: e.hint}
		poller.Run(ctx, func(ctx context.Context) error {
			t := e.intake.Poll(ctx)
			select {
			case polls <- t:
			case <-ctx.Done():
			}
			return t.Err
		})
	})
	tick := time.NewTimer(0)
	defer tick.Stop()
	peek := e.peeks()
	defer peek.Stop()
	for {
		select {
		case <-ctx.Done():
			e.stop()
			return nil
		case t := <-polls:
			e.take(ctx, t)
			e.cycle(ctx, t.Accepted != nil) // what a new revision says is compared with what is there now
		case <-e.lanes.bell:
			e.learn()
			e.cycle(ctx, false)
		case <-tick.C:
			e.cycle(ctx, true)
			tick.Reset(e.nextTick())
		case <-peek.C:
			if e.proxmox.Error == "" && e.observer.List.ChangedSinceLastRead(e.vmids()) {
				e.cycle(ctx, true)
				tick.Reset(e.nextTick())
			}
		}
	}
}

// maxPeek bounds the time between two looks at the list of guests.
const maxPeek = time.Second

// peeks returns when to look at the list of guests between two ticks: such a look costs a tenth of a millisecond, and finds at once
// what would else wait for the next tick. Without a list it is never.
func (e *Engine) peeks() *time.Ticker {
	every := min(maxPeek, (e.opts.Tick+1)/2)
	ticker := time.NewTicker(every)
	if e.opts.VMList == "" {
		ticker.Stop()
	}
	return ticker
}

// maxTick bounds how far failures of the cluster stretch the time between two looks at it.
const maxTick = 2 * time.Minute

// nextTick returns when to look at the cluster again: later and later while it does not answer.
func (e *Engine) nextTick() time.Duration {
	if e.proxmox.Error == "" {
		e.outages = 0
		return e.opts.Tick
	}
	e.outages = min(e.outages+1, 4)
	return max(e.opts.Tick, min(e.opts.Tick<<(e.outages-1), maxTick))
}

// stop lets running calls end and publishes the last report.
func (e *Engine) stop() {
	e.closing = true
	e.setWorld(e.world.Load().Waits)
	e.queue.Close()
	e.learn()
	e.publish(plan.New(e.desired(), e.observer.Snapshot()))
}

func (e *Engine) lanePanicked(vmid int, err error) {
	e.lanes.post(lane.Result{Vmid: vmid, Err: fmt.Errorf("lane of %d: %w", vmid, err)})
}
