package reconcile

import (
	"context"
	"errors"
	"slices"
	"time"

	"gitops-agent/reconcile/reason"
	"gitops-agent/reconcile/report"
)

// Once polls the remote once and works until no step may run any more. The report lists what is left.
func (e *Engine) Once(ctx context.Context) (report.Report, error) {
	e.errands.inline = true
	e.restoreFlaps(time.Now())
	e.enforce(e.revision.intake.Resume(ctx))
	e.take(ctx, e.revision.intake.Poll(ctx))
	e.revision.intake.AwaitFloor(ctx)
	before := e.opts.Journal.State().Seq
	e.observe(ctx)
	e.cycle(ctx)
	hasWorked := e.opts.Journal.State().Seq != before || !e.Report().Converged
	until := time.Now().Add(onceHA)
	for range len(e.guests) + len(e.opts.Journal.State().Owned) + len(e.checked) + 2 { // a guest may release another one that waits for it, each guest once, and each check once
		if e.isIdle() && !hasWorked {
			break // every guest has been read, and nothing followed
		}
		if err := e.awaitClaim(ctx); err != nil {
			return e.Report(), err
		}
		if err := e.drain(ctx); err != nil {
			return e.Report(), err
		}
		e.health.Wait()
		e.readings.observer.DueAll()
		e.observe(ctx)
		e.cycle(ctx)
		if err := e.awaitHA(ctx, until); err != nil {
			return e.Report(), err
		}
		if e.isIdle() {
			break
		}
	}
	e.queue.Close()
	e.noteWaits(ctx, time.Second)
	return e.Report(), e.cycleError()
}

// onceHA is how long Once waits at most for run states that the HA manager has to bring about, and onceLook how often it looks. The manager acts within two rounds of ten seconds,
// and a shutdown takes as long as the guest does.
const (
	onceHA   = 5 * time.Minute
	onceLook = 2 * time.Second
)

// awaitHA waits, while there is nothing else to do, for the guests that the HA manager is going to start or shut down: others may depend on them.
func (e *Engine) awaitHA(ctx context.Context, until time.Time) error {
	awaits := func() bool {
		for _, t := range e.tracks {
			if t.now.awaitsHA {
				return true
			}
		}
		return false
	}
	for e.isIdle() && awaits() && e.lease.mayWrite(e.revision.force) && time.Now().Before(until) {
		select {
		case <-ctx.Done():
			e.stop()
			return ctx.Err()
		case <-time.After(onceLook):
		}
		e.observe(ctx) // the lists show what the manager does; a guest that changed is read again
		e.cycle(ctx)
	}
	return nil
}

// isIdle reports whether no lane is busy, no result of a lane waits for the engine, no work waits for a claim of the cluster, and no health check
// runs or has a result that the engine has not taken.
func (e *Engine) isIdle() bool {
	return e.queue.Depth() == 0 && e.lanes.isEmpty() && !e.lease.claimWaits && !e.health.Busy() // in this order: a lane posts its result before it ends
}

// awaitClaim waits until a claim of the cluster that work waits for is decided. Most often there is none.
func (e *Engine) awaitClaim(ctx context.Context) error {
	for e.lease.claimWaits {
		select {
		case <-ctx.Done():
			e.stop()
			return ctx.Err()
		case <-e.lease.claimTimer.C:
			e.cycle(ctx)
		}
	}
	return nil
}

// drain works until no lane is busy and the engine has taken the results of all lanes.
func (e *Engine) drain(ctx context.Context) error {
	results := newPacer()
	defer results.Stop()
	for e.queue.Depth() > 0 {
		select {
		case <-ctx.Done():
			e.stop()
			return ctx.Err()
		case <-e.lanes.bell:
			results.schedule(e.lastCycle)
		case <-results.C:
			results.fired()
			e.learn()
			e.cycle(ctx)
		}
	}
	e.learn()
	return nil
}

// cycleError returns why the last cycle could not do its work.
func (e *Engine) cycleError() error {
	r := e.Report()
	switch {
	case r.Source.Error != "":
		return e.revision.fetchErr
	case e.revision.unread != nil:
		return e.revision.unread
	case r.Proxmox.Error != "":
		return e.readings.err()
	case !r.Journal.Healthy:
		return errors.New(r.Journal.Error)
	case slices.Contains([]reason.Stop{reason.StopSuperseded, reason.StopUnclaimed, reason.StopStateDirectory}, r.Writes.Reason):
		return errors.New(r.Writes.Message)
	}
	return nil
}
