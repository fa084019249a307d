package reconcile

import (
	"context"
	"errors"
	"gitops-agent/reconcile/report"
)

// Once looks at the remote once and works until nothing more can be done without somebody else. The report says what is left.
func (e *Engine) Once(ctx context.Context) (report.Report, error) {
	defer e.queue.Close()
	e.resume(ctx, e.intake.Resume(ctx))
	e.take(ctx, e.intake.Poll(ctx))
	e.cycle(ctx, true)
	for range len(e.guests) + 2 { // what one guest did may release what another one waits for, each of them once
		if err := e.drain(ctx); err != nil {
			return e.Report(), err
		}
		e.observer.DueAll()
		e.cycle(ctx, true)
		if e.queue.Depth() == 0 && e.lanes.isEmpty() { // in this order: a lane leaves its finding before it ends
			break
		}
	}
	return e.Report(), e.trouble()
}

// drain works until no lane is busy and the engine has learned what they all found.
func (e *Engine) drain(ctx context.Context) error {
	for e.queue.Depth() > 0 {
		select {
		case <-ctx.Done():
			e.stop()
			return ctx.Err()
		case <-e.lanes.bell:
			e.learn()
			e.cycle(ctx, false)
		}
	}
	e.learn()
	return nil
}

// trouble returns why the last cycle could not do its work.
func (e *Engine) trouble() error {
	r := e.Report()
	switch {
	case r.Source.Error != "":
		return e.fetchErr
	case r.Proxmox.Error != "":
		return e.clusterErr
	case !r.Journal.Healthy:
		return errors.New(r.Journal.Error)
	}
	return nil
}
