package lane

import (
	"context"
	"slices"
	"time"

	"gitops-agent/reconcile/boot"
	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/observe"
	"gitops-agent/reconcile/ownership"
	"gitops-agent/reconcile/plan"
)

// recordBoot brings the record of what is in effect in the guest up to date with the reading of this turn, before a step changes any of it, and returns the state with
// the new record. If the cluster does not answer what the record needs, the record stays as it is: what waits is then not known to wait.
func (w *Worker) recordBoot(ctx context.Context, basis *Basis, state journal.State, t *turn) (journal.State, error) {
	vmid := t.Key.VMID
	owned, isOwned := state.Owned[vmid]
	if !isOwned || t.Absence != "" || cluster.PartlyCreated(t.Seen) || ownership.Compare(owned, t.Seen).Conflict(t.Seen.Kind) != "" {
		return state, nil
	}
	record, changed, err := observe.FollowBoot(ctx, w.cluster, basis.Inventory, state.Applied[vmid], owned, t.Seen)
	if err != nil || !changed {
		return state, nil //nolint:nilerr // see above
	}
	if err := w.append(ctx, record); err != nil {
		return state, err
	}
	return w.journal.State(), nil
}

// endedAt returns a time that is not later than the end of the calls of a step: its outcome may be found long after it. Of a step of an earlier process it is when that step began.
func (w *Worker) endedAt(begun journal.Begun, state journal.State) time.Time {
	if w.begunHere(begun.Step) {
		return w.since(begun.Step)
	}
	at := slices.IndexFunc(state.Open, func(o journal.OpenStep) bool { return o.Step == begun.Step })
	if at < 0 {
		return time.Now()
	}
	return state.Open[at].Time
}

// noteStartByHA notes in the intent that a step lets the HA manager start a guest that is down. A machine that was suspended to disk goes on, and boots nothing.
func noteStartByHA(begun journal.Begun, step plan.Step, seen guest.Observed) {
	if !cluster.Op(begun.Op).Boots() && step.Op != cluster.OpRollback && step.Starts() && seen.Status == guest.StatusStopped && seen.Lock == "" {
		begun.Detail[detailStartByHA] = "1"
	}
}

// startedRecord returns the record of what is in effect in a guest after a step that started it: the start was a boot, also if the token may not see its task. The HA
// manager starts a guest after its step.
func startedRecord(begun journal.Begun, c conclusion, record journal.Applied, state journal.State) journal.Applied {
	byHA := begun.Detail[detailStartByHA] != ""
	switch {
	case !byHA && !cluster.Op(begun.Op).Boots(), c.result != journal.Done:
	case boot.Recorded(record, state.Owned[begun.VMID]):
		record.Booted, record.BootedAt = true, boot.InSeconds(c.at)
		if byHA {
			record.BootedAt = boot.InSeconds(c.at.Add(haTimeout))
		}
	}
	return record
}
