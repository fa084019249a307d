package lane

import (
	"context"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/object"
	"gitops-agent/reconcile/report"
)

// settleOpen closes the steps of an object that a crash or a lost reply left open. Nothing new is done for the object before.
func (w *Worker) settleOpen(ctx context.Context, key object.Key) error {
	state := w.journal.State()
	for _, open := range state.Open {
		if open.Key() != key {
			continue
		}
		ctx := cluster.WithStep(ctx, open.Step)
		about := w.askNode(ctx, open, w.doubtAbout(open))
		c, err := w.outcomeOf(ctx, open, about)
		if err != nil {
			return err
		}
		c = w.finish(ctx, open, c)
		c.repeated = open.VMID != 0 && about.repeats && !open.Refused && c.result == journal.NotRun
		if c.result == "" {
			return c.err
		}
		if c.result == journal.Unknown && w.neverRan(ctx, open) {
			w.fillsSeen.Store(open.Step, true)
		}
		if err := w.end(ctx, open.Begun, c); err != nil {
			return err
		}
		if open.VMID != 0 {
			w.volumes.Written(open.VMID)
		}
		w.hooks.settled(report.SettledOutcome{Step: open, Result: c.result, Err: c.err})
	}
	return nil
}
