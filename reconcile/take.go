package reconcile

import (
	"context"
	"maps"
	"slices"
	"time"

	"gitops-agent/gitsource"
	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/event"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/history"
	"gitops-agent/reconcile/intake"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/report"
	"gitops-agent/verify"
)

// enforce makes a revision the desired state.
func (e *Engine) enforce(force intake.InForce) {
	if force.Since != e.force.Since {
		e.convergence = convergence{}
	}
	if known := e.force.Accepted; known.Valid() && force.Accepted.Valid() && known.Revision().Commit() == force.Accepted.Revision().Commit() {
		force.Accepted = known // its guests have the newer assignments
	}
	if before := e.force.Accepted; before.Valid() && force.Accepted.Valid() { // at the start of the agent nothing has changed
		e.calmChanged(changedObjects(before.Set(), force.Accepted.Set()))
	}
	e.force, e.epoch = force, max(e.epoch, force.Epoch)
	e.assign()
}

// take processes the outcome of a poll. It returns whether another revision came into force.
func (e *Engine) take(ctx context.Context, p intake.Polled) (changed bool) {
	changed = p.InForce.Since != e.force.Since
	if p.Root != (verify.RootInfo{}) {
		e.source.RootExpires = p.Root.Expiry
	}
	e.enforce(p.InForce)
	if changed && !p.InForce.Resumed {
		clearFailures(e.tracks)
	}
	e.source.Error, e.fetchErr, e.unread = "", p.Err, p.Unchecked
	e.source.Reason = gitsource.FaultOf(p.Err)
	if p.Err != nil {
		e.source.Error = p.Err.Error()
		e.noteSource(ctx)
		return changed
	}
	e.source.LastSuccess, e.source.Remote = p.At, p.Head.Remote
	e.noteSource(ctx)
	e.noteHead(fetchedHead{p.Head.Commit, p.At})
	if p.Unchecked != nil {
		return changed // the head was not checked
	}
	e.refuse(p.Refusal)
	e.wait(p.Waiting)
	return changed
}

// fetchedHead is a head of the branch that was fetched and may not be checked yet.
type fetchedHead struct {
	commit gitsource.ID
	at     time.Time
}

// tellFetched hands a head to the engine's goroutine without waiting. The result of the poll names it too.
func (e *Engine) tellFetched(head gitsource.ID, at time.Time) {
	select {
	case e.fetched <- fetchedHead{head, at}:
	default:
	}
}

// noteHead notes a head, and returns whether it is new.
func (e *Engine) noteHead(h fetchedHead) bool {
	if e.source.Head == string(h.commit) {
		return false
	}
	e.source.Head, e.source.HeadSeen = string(h.commit), h.at
	return true
}

// assign lowers the manifests in force again if the assignment of a vmid has changed.
func (e *Engine) assign() {
	if !e.force.Accepted.Valid() {
		return
	}
	accepted, err := e.force.Accepted.Assign(e.opts.Journal.State())
	if err != nil {
		e.log.Warn("vmid assigned twice, the guests stay unchanged", "error", err) // the intake refuses such a revision
		return
	}
	e.force.Accepted = accepted
	e.resolveGuards(time.Now())
}

// sameSlice reports whether two slices share their elements. It does not compare the guests.
func sameSlice(a, b []guest.Desired) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

// refuse notes the refusal of a head, nil if the head was not refused. It tells each refusal once.
func (e *Engine) refuse(r *report.Refused) {
	if r == nil {
		e.source.Refused = nil
		e.said.Drop(event.RevisionRefused)
		return
	}
	if old := e.source.Refused; old != nil && old.Commit == r.Commit && old.Reason == r.Reason {
		r.Since = old.Since
	}
	e.source.Refused = r
	e.said.Is(event.RevisionRefused, true, event.ID{r.Commit, r.Reason}, func() event.Details {
		return event.Details{
			Fields:  []any{"commit", r.Commit, "reason", r.Reason, "error", r.Error, "hint", r.Hint},
			Outcome: *r, Note: event.Note{Revision: r.Commit, Message: r.Reason, Detail: history.Clip(r.Error), Hint: r.Hint},
		}
	}, nil)
}

// wait notes what a head waits for, nil if it waits for nothing. It tells each wait once.
func (e *Engine) wait(w *report.WaitingHead) {
	if w == nil {
		e.source.Waiting = nil
		e.said.Drop(event.RevisionWaiting)
		return
	}
	if old := e.source.Waiting; old != nil && old.Commit == w.Commit && old.Reason == w.Reason {
		w.Since = old.Since
	}
	e.source.Waiting = w
	e.said.Is(event.RevisionWaiting, true, event.ID{w.Commit, w.Reason}, func() event.Details {
		return event.Details{Fields: []any{"commit", w.Commit, "reason", w.Reason, "error", w.Text(), "hint", w.Hint}}
	}, nil)
}

// relevantVMIDs returns the vmids of the desired guests and of the guests that the agent owns, sorted.
func relevantVMIDs(guests []guest.Desired, state journal.State) []int {
	set := make(map[int]bool, len(guests)+len(state.Owned))
	for i := range guests {
		set[guests[i].VMID] = true
	}
	for vmid := range state.Owned {
		set[vmid] = true
	}
	delete(set, 0)
	return slices.Sorted(maps.Keys(set))
}

// templates returns what chooses from the list of guests those of which clones are wanted.
func (e *Engine) templates() func(cluster.Inventory) []int {
	guests := e.guests
	return func(list cluster.Inventory) []int { return plan.Templates(guests, list) }
}

// vmids returns the vmids of the guests to observe, sorted: the guests in manifests, and the guests that the agent owns.
func (e *Engine) vmids() []int { return relevantVMIDs(e.guests, e.opts.Journal.State()) }
