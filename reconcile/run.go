package reconcile

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"gitops-agent/gitsource"
	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/event"
	"gitops-agent/reconcile/health"
	"gitops-agent/reconcile/intake"
	"gitops-agent/reconcile/lane"
	"gitops-agent/reconcile/object"
	"gitops-agent/reconcile/observe"
	"gitops-agent/reconcile/queue"
	"gitops-agent/reconcile/reason"
	"gitops-agent/reconcile/report"
	"gitops-agent/reconcile/secret"
	"gitops-agent/reconcile/volumes"
)

// NewEngine returns an engine that has not begun. It writes nothing before Run or Once.
func NewEngine(opts Options) *Engine {
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	opts.Poll = cmp.Or(max(opts.Poll, 0), 30*time.Second)
	opts.Tick = cmp.Or(max(opts.Tick, 0), 15*time.Second)
	opts.Resync = cmp.Or(max(opts.Resync, 0), time.Minute)
	opts.Shutdown = cmp.Or(max(opts.Shutdown, 0), 30*time.Second)
	opts.Check = cmp.Or(max(opts.Check, 0), 10*opts.Resync)
	opts.DryRun = opts.DryRun || opts.Standby != ""
	e := &Engine{
		opts: opts, log: opts.Logger, hint: make(chan struct{}, 1), tracks: make(map[object.Key]*track), boots: make(map[int]bootCheck),
		vault: secret.NewVault(opts.Secrets, opts.Scope.Cluster),
	}
	e.events = event.NewSink(opts.Logger, opts.Hooks.OnEvent, e.journalEvent)
	e.said = e.events.Subject()
	e.readings, e.lease = newReadings(opts, e.events), newLease(opts, e.events)
	e.revision.begin(opts, e.events)
	if opts.Journal != nil {
		e.orders = toldOrdersOf(opts.Journal.State().Orders, time.Now())
		e.rollouts.told = toldRollouts(opts.Journal.State().Rollouts)
	}
	e.errands = newErrands()
	e.revision.intake = intake.New(intake.Options{
		Source: opts.Source, Policy: opts.Policy, Journal: opts.Journal, Scope: opts.Scope, Epochs: &e.revision.epochs, Hooks: opts.Hooks.Intake,
		Writer: e.lease.writer, Note: opts.Note, Evidence: opts.Evidence, Promotion: opts.Promotion, RecordSigners: opts.Separate || opts.Rules.Len() > 0, Minimum: opts.Minimum, Fetched: e.revision.tellFetched, MayWrite: e.lease.mayCall, Events: e.events, Shared: opts.Replica != nil, DryRun: opts.DryRun, Log: opts.Logger,
	})
	e.lanes.bell = make(chan struct{}, 1)
	opts.Health.Changed = func() { e.lanes.ring() }
	e.health = health.New(opts.Health)
	e.queue = queue.New(queue.Options{
		Parallel: opts.Parallel, Limit: opts.Limits.For, OnWait: opts.Hooks.OnQueueWait, OnPanic: e.lanePanicked, OnIdle: func(object.Key) { e.lanes.ring() },
	})
	e.worker = lane.New(lane.Options{
		Cluster: opts.Cluster, Volumes: volumes.New(opts.Cluster, observe.VMListVersions(opts.VMList)), Journal: opts.Journal, Vault: e.vault, Epochs: &e.revision.epochs, Basis: e.basis.Load, StepID: newStepID, Hooks: stepHooks(e.events),
		Confirm:   e.lease.writer.Confirm,
		TaskTimes: opts.Tasks,
	})
	e.basis.Store(&lane.Basis{Cluster: opts.Scope.Cluster, NoWrites: reason.StopNoRevision, Why: "no revision was accepted yet"})
	e.report.Store(&report.Report{Cluster: opts.Scope.Cluster, Source: e.revision.source, Proxmox: report.Proxmox{Reason: cluster.OutageUnread}})
	return e
}

// newStepID returns an id that no other step has, not even after the state directory was lost.
func newStepID() string { return rand.Text()[:16] }

// Run keeps the cluster in the desired state until ctx ends. From then on no call is sent. It returns when its goroutines have ended, or when
// Options.Shutdown is over: the next start follows a call that is still in flight.
func (e *Engine) Run(ctx context.Context) error {
	polls, resumed := make(chan intake.Polled), make(chan intake.InForce)
	var wg sync.WaitGroup
	defer wg.Wait()
	e.restoreFlaps(time.Now())
	defer e.readings.observer.Wait()
	defer e.errands.calls.Wait()
	defer e.health.Wait()
	e.revision.resuming, e.errands.began[report.ComponentRevision] = true, time.Now()
	wg.Go(func() { e.poll(ctx, resumed, polls) })
	tick := time.NewTimer(cycleDeadline) // the first cycle waits for the revision in force, but not forever
	defer tick.Stop()
	peek := e.peeks()
	defer peek.Stop()
	results := newPacer()
	defer results.Stop()
	quiet := e.quietTimer(ctx)
	defer quiet.Stop()
	for {
		select {
		case <-ctx.Done():
			e.stop()
			return nil
		case force := <-resumed:
			e.revision.resuming = false
			delete(e.errands.began, report.ComponentRevision)
			e.enforce(force)
			tick.Reset(0)
		case h := <-e.revision.fetched:
			if e.revision.noteHead(h) {
				e.cycle(ctx)
			}
		case p := <-polls:
			if !e.take(ctx, p) || !e.beginRound(ctx) { // a new revision is compared with the present state of the cluster
				e.cycle(ctx)
			}
		case <-e.lease.claimTimer.C:
			e.cycle(ctx)
		case <-quiet.C:
			e.cycle(ctx)
		case <-e.readings.observer.Bell():
			e.takeBell(ctx, tick, results)
		case <-e.readings.rounds.deadline.C:
			e.takeReadings(ctx)
			e.readings.observer.Hurry()
			e.cycle(ctx)
		case <-e.errands.bell:
			e.errands.finish()
		case <-e.lanes.bell:
			results.schedule(e.lastCycle)
		case <-results.C:
			results.fired()
			e.learn()
			e.cycle(ctx)
		case <-tick.C:
			if !e.beginRound(ctx) {
				e.cycle(ctx)
			}
			tick.Reset(e.opts.Tick)
		case <-peek.C:
			switch {
			case e.opts.VMList != "" && e.readings.proxmox.Error == "" && e.readings.rounds.began.IsZero() && e.readings.observer.VMListChanged(e.vmids()):
				e.beginRound(ctx)
				tick.Reset(e.opts.Tick)
			case e.lease.changed() || e.retryAsked():
				e.cycle(ctx)
			}
		}
	}
}

// poll verifies the accepted revision again, and then polls the remote until ctx ends. It runs beside the engine.
func (e *Engine) poll(ctx context.Context, resumed chan<- intake.InForce, polls chan<- intake.Polled) {
	defer e.revision.intake.AwaitFloor(ctx)
	send(ctx, resumed, e.revision.intake.Resume(ctx))
	poller := gitsource.Poller{Interval: e.opts.Poll, Hint: e.hint}
	poller.Run(ctx, func(ctx context.Context) error {
		p := e.revision.intake.Poll(ctx)
		send(ctx, polls, p)
		return cmp.Or(p.Err, p.Unchecked)
	})
}

func send[T any](ctx context.Context, to chan<- T, value T) {
	select {
	case to <- value:
	case <-ctx.Done():
	}
}

// takeBell processes the readings that have arrived. A round that ends in time causes its cycle at once; late readings cause paced cycles.
func (e *Engine) takeBell(ctx context.Context, tick *time.Timer, results *pacer) {
	late := e.readings.rounds.isLate(time.Now())
	ended := e.takeReadings(ctx)
	if ended && e.readings.listErr != nil {
		tick.Reset(e.readings.nextTick())
	} else if ended {
		e.readings.outages = 0
	}
	switch {
	case ended && !late:
		e.roundEnded(ctx)
	case late || e.readings.rounds.began.IsZero():
		results.schedule(e.lastCycle)
	}
}

// maxPeek bounds the time between two looks at the vmlist file, at the files of a pause and of requests, and at the lock file.
const maxPeek = time.Second

// peeks returns a ticker for looks at these files between two ticks. A look takes a tenth of a millisecond, and finds a change at once
// instead of at the next tick. Without a file to look at, the ticker is stopped.
func (e *Engine) peeks() *time.Ticker {
	every := min(maxPeek, (e.opts.Tick+1)/2)
	ticker := time.NewTicker(every)
	if e.opts.VMList == "" && e.opts.Pause.Dir == "" && e.opts.Retry.Dir == "" {
		ticker.Stop()
	}
	return ticker
}

// stop waits for the lanes until Options.Shutdown is over, and publishes the last report. No call is sent any more. A step that has not ended stays open
// in the journal, and the next start settles it.
func (e *Engine) stop() {
	e.log.Info("stopping, nothing is sent any more", "limit", e.opts.Shutdown)
	e.lease.closing = true
	e.setBasis(e.basis.Load().Waits)
	closed := make(chan struct{})
	go func() { defer close(closed); e.queue.Close() }()
	limit := time.NewTimer(e.opts.Shutdown)
	defer limit.Stop()
	select {
	case <-closed:
	case <-limit.C:
		e.log.Warn("lanes did not end in time", "limit", e.opts.Shutdown, "lanes", e.queue.Depth())
	}
	e.noteWaits(context.Background(), time.Second)
	if open := len(e.opts.Journal.State().Open); open > 0 {
		e.log.Info("steps are in flight, the next start finds out how they ended", "steps", open)
	}
	e.learn()
	planned := e.plan()
	e.assess(planned)
	e.publish(planned)
}

func (e *Engine) lanePanicked(key object.Key, err error) {
	e.lanes.post(lane.Result{Key: key, Err: fmt.Errorf("lane of %s: %w", key, err)})
}
