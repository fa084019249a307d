package reconcile

import (
	"slices"
	"time"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/event"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/lane"
	"gitops-agent/reconcile/object"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/reason"
	"gitops-agent/reconcile/report"
)

// noteDrift states whether others changed a guest in the cluster. A change that a person wants is no drift.
func (e *Engine) noteDrift(t *track, p plan.Guest, now time.Time) {
	if t.now.sync == report.SyncUnknown || isStranger(p) {
		return
	}
	drifted := t.now.outstanding.Drifted
	t.said.Is(event.GuestDrifted, len(drifted) > 0, event.ID{}, func() event.Details { return driftDetails(p.Ref, drifted) }, nil)
	if t.now.sync == report.Synced {
		t.convergedAt, t.revision = now, e.revisionOf(p)
	}
}

// isStranger reports whether the guest under the vmid is not the guest that the manifest means: then it is unknown what became of that guest.
func isStranger(p plan.Guest) bool {
	return slices.ContainsFunc(p.Conditions, func(c plan.Condition) bool { return c.Type == plan.IdentityConflict })
}

func driftDetails(ref guest.Ref, keys []string) event.Details {
	o := report.DriftOutcome{Guest: ref, Cause: report.DriftCluster, Keys: keys}
	return event.Details{
		Fields:  []any{"vmid", ref.VMID, "guest", ref.Label(), "cause", string(o.Cause), "keys", keys},
		Outcome: o, Note: event.Note{VMID: ref.VMID, Message: string(o.Cause)},
	}
}

// driftSince returns since when a guest has differed because of a change in the cluster, the zero time if it does not.
func (t *track) driftSince() time.Time { return t.said.Since(event.GuestDrifted) }

// outstanding returns what of a guest is pending and what has drifted.
func outstanding(t *track, p plan.Guest, a assessment) plan.Outstanding {
	if a.sync != report.OutOfSync || isStranger(p) {
		return plan.Outstanding{}
	}
	return p.Outstanding(t.others)
}

// revisionOf returns the revision that is in force for a guest.
func (e *Engine) revisionOf(p plan.Guest) string {
	return e.rollouts.revisionOf(p.Ref.VMID, e.basis.Load().Revision)
}

// noteHolds states which steps of a guest are held. While nothing may be written at all, every step is held for that reason, which writes.stopped tells once,
// and the holds of before last. So is a step for an offline node while most nodes are: then the cluster, or the part that answers, has no quorum.
func noteHolds(t *track, p plan.Guest, inventory cluster.Inventory) {
	for _, h := range t.now.held {
		switch {
		case h.Op == plan.OpWeaken: // noteWeakenings states it, once for all guests that the line concerns
		case h.Op == plan.OpRollout: // noteRollouts tells it, once for each batch
		case h.Reason == reason.WritesStopped, h.Reason == reason.NodeOffline && inventory.ShowsMinority(): // a part without quorum lists all other nodes as offline
			t.said.Keep(event.StepHeld, string(h.Op))
		default:
			t.said.Lasts(event.StepHeld, event.ID{string(h.Op), string(h.Reason), h.Digest}, func() event.Details { return holdDetails(p.Ref, h) })
		}
	}
	t.said.Rest(event.StepHeld, func(id event.ID) event.Name {
		isOp := func(s plan.Step) bool { return string(s.Op) == id[0] }
		switch {
		case slices.ContainsFunc(t.now.held, func(h report.HeldStep) bool { return string(h.Op) == id[0] }):
			return "" // held for another reason, which was told
		case slices.ContainsFunc(p.Orders, isOp), slices.ContainsFunc(p.Steps, isOp):
			return event.StepReleased
		}
		return event.StepWithdrawn
	})
}

func holdDetails(ref guest.Ref, h report.HeldStep) event.Details {
	return event.Details{
		Fields:  []any{"vmid", ref.VMID, "guest", ref.Label(), "op", string(h.Op), "reason", string(h.Reason), "digest", h.Digest, "hint", h.Hint, "why", h.Message},
		Outcome: report.HoldOutcome{Guest: ref, Step: h},
	}
}

// noteWeakenings states which guards the manifests weaken without enough approvals.
func (e *Engine) noteWeakenings() {
	for _, w := range e.guards.now.Weakenings {
		e.said.Lasts(event.GuardHeld, event.ID{w.Digest}, func() event.Details {
			return event.Details{Fields: []any{"change", w.String(), "guests", len(w.Guests), "digest", w.Digest}}
		})
	}
	e.said.Rest(event.GuardHeld, nil)
}

// noteHidden states whether the token may see a guest. While that is not known, nothing changes.
func noteHidden(t *track, p plan.Guest, listed time.Time) {
	hidden := slices.ContainsFunc(t.now.conditions, func(c plan.Condition) bool { return c.Type == plan.Blocked && c.Reason == reason.Denied })
	if !hidden && t.now.sync == report.SyncUnknown || hidden && (t.now.busy || listed.Before(t.turnEnded)) {
		return // a list from before the creation of a guest lacks it, although its vmid is taken
	}
	t.said.Is(event.GuestHidden, hidden, event.ID{}, func() event.Details {
		return event.Details{Fields: []any{"vmid", p.Ref.VMID, "guest", p.Ref.Label()}}
	}, nil)
}

// noteHA states whether the HA manager has given a guest up. While the list of guests does not have it, nothing changes.
func noteHA(t *track, p plan.Guest, inventory cluster.Inventory) {
	row, listed := inventory.Row(p.Ref.VMID)
	if !p.Ref.Kind.IsGuest() || !listed {
		return
	}
	t.said.Is(event.HAFailed, row.HAFailed(), event.ID{}, func() event.Details {
		return event.Details{Fields: []any{"vmid", p.Ref.VMID, "guest", p.Ref.Label(), "node", row.Node}}
	}, nil)
}

// noteFailure states whether the last turn of an object's lane failed. A new failure is told also if the one before was not told to be over, because a new
// revision lets everything be tried again.
func (e *Engine) noteFailure(t *track, r lane.Result, isNew bool) {
	if isNew {
		t.said.Drop(event.GuestFailed)
	}
	t.said.Is(event.GuestFailed, r.Err != nil, event.ID{}, func() event.Details {
		return event.Details{Fields: []any{"vmid", r.Key.VMID, "guest", e.labelOf(r.Key), "op", string(r.Step.Op), "error", r.Err}}
	}, nil)
}

// noteSuccess states that what failed of an object is not needed any more.
func (t *track) noteSuccess() { t.said.Is(event.GuestFailed, false, event.ID{}, nil, nil) }

// noteHangingTask states whether a task of an object hangs.
func (e *Engine) noteHangingTask(key object.Key, t *track) {
	now, id := t.hangingTask(), event.ID{}
	if now != nil {
		id[0] = now.UPID
	}
	t.said.Is(event.TaskHangs, now != nil, id, func() event.Details {
		return event.Details{
			Fields: []any{"vmid", key.VMID, "guest", e.labelOf(key), "upid", now.UPID, "error", now.Error()},
			Note:   event.Note{VMID: key.VMID, Message: now.Error()},
		}
	}, func(was event.ID) event.Details {
		return event.Details{Note: event.Note{VMID: key.VMID, Message: was[0]}}
	})
}
