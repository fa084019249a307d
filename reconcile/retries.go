package reconcile

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"gitops-agent/reconcile/event"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/image"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/kind"
	"gitops-agent/reconcile/object"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/reason"
	"gitops-agent/reconcile/retry"
)

// retryAsked reports whether there is a request that no cycle has seen.
func (e *Engine) retryAsked() bool {
	request, found := e.opts.Retry.Read()
	return found && request.ID != e.retries.seen
}

// beginRetry forgets why the objects of a request wait, so that this cycle tries them again. It lifts no hold, leaves hanging tasks alone, and an open
// step stays open until its outcome is known.
func (e *Engine) beginRetry(now time.Time) {
	state := e.opts.Journal.State()
	e.retries.open = make(map[object.Key]bool)
	for _, open := range state.Open {
		if t, known := e.tracks[open.Key()]; !e.queue.Busy(open.Key()) || known && t.failed != nil {
			e.retries.open[open.Key()] = true
		}
	}
	request, found := e.opts.Retry.Read()
	if !found {
		return
	}
	e.retries.seen = request.ID
	if !e.lease.mayWrite(e.revision.force) || e.readings.observer.Snapshot().Inventory.ReadAt.IsZero() {
		return // a later cycle takes it
	}
	outcome := &retry.Outcome{ID: request.ID, Time: now}
	var records []journal.Body
	unknown := slices.Clone(request.Guests)
	for _, ref := range e.retryable(state) {
		label := ref.Label()
		unknown = slices.DeleteFunc(unknown, func(l string) bool { return l == label })
		if !request.Asks(label) {
			continue
		}
		cleared, ends := e.clearWaits(ref, state, now)
		records = append(records, ends...)
		outcome.Guests = append(outcome.Guests, retry.Guest{Guest: label, VMID: ref.VMID, Cleared: cleared})
	}
	outcome.Unknown = unknown
	if len(records) > 0 {
		if err := e.opts.Journal.Append(context.Background(), records...); err != nil {
			e.log.Warn("journal not written", "error", err)
		}
	}
	e.retries.request, e.retries.found = request, outcome
}

// Retryable returns everything that a person may ask to try again: the guests, Images and objects of manifests, and after them what the agent owns without a
// manifest. The guests have their vmids if the agent asks; a command has only their labels.
func Retryable(guests []guest.Ref, images []image.Desired, objects []kind.Desired, state journal.State) []guest.Ref {
	refs := slices.Clone(guests)
	for _, d := range images {
		refs = append(refs, d.Ref())
	}
	for _, d := range objects {
		refs = append(refs, d.Ref())
	}
	known := make(map[object.Key]bool, len(refs))
	for _, ref := range refs {
		known[keyOf(ref)] = true
	}
	add := func(ref guest.Ref) {
		if !known[keyOf(ref)] {
			refs, known[keyOf(ref)] = append(refs, ref), true
		}
	}
	for _, vmid := range slices.Sorted(maps.Keys(state.Owned)) {
		add(guest.Ref{Kind: guest.Kind(state.Owned[vmid].Kind), Name: state.Owned[vmid].Name, VMID: vmid})
	}
	owned := slices.SortedFunc(maps.Values(state.Objects), func(a, b journal.OwnedObject) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID))
	})
	for _, o := range owned {
		add(guest.Ref{Kind: guest.Kind(o.Kind), Name: o.Name})
	}
	for _, former := range (plan.Images{Wanted: images, Downloaded: state.Downloaded}).Removed() {
		add(guest.Ref{Kind: image.Kind, Name: former.Name})
	}
	return refs
}

// retryable returns what a request of all means.
func (e *Engine) retryable(state journal.State) []guest.Ref {
	guests := make([]guest.Ref, 0, len(e.guests))
	for _, d := range e.guests {
		guests = append(guests, d.Ref)
	}
	return Retryable(guests, e.images(state).Wanted, e.objects(), state)
}

// clearWaits forgets the failures of an object, how often it was changed back, and that a restart was without effect. It returns what kept the object from
// being tried, and the records that end what the journal states.
func (e *Engine) clearWaits(ref guest.Ref, state journal.State, now time.Time) (cleared []retry.Cleared, ends []journal.Body) {
	t, known := e.tracks[keyOf(ref)]
	if known && t.failed != nil && t.hangingTask() == nil {
		t.recover()
		cleared = append(cleared, retry.Backoff)
	}
	if known {
		if t.flaps.overLimit(now) {
			cleared = append(cleared, retry.Flapping)
		}
		t.flaps = flapDamper{}
	}
	if _, journaled := state.Flapping[keyOf(ref)]; journaled {
		ends = append(ends, journal.NewFlapping(keyOf(ref), 0))
	}
	if mark, marked := state.IneffectiveRestarts[ref.VMID]; marked {
		mark.Over = true
		cleared, ends = append(cleared, retry.Restart), append(ends, mark)
	}
	return cleared, ends
}

// endRetry completes the outcome of a request with what still prevents a step, logs and journals it, and removes the file.
func (e *Engine) endRetry() {
	outcome, request := e.retries.found, e.retries.request
	if outcome == nil {
		return
	}
	for i := range outcome.Guests {
		outcome.Guests[i].Remains = e.remaining(outcome.Guests[i])
	}
	if request.All {
		outcome.Guests = slices.DeleteFunc(outcome.Guests, func(g retry.Guest) bool { return len(g.Cleared) == 0 && len(g.Remains) == 0 })
	}
	var records []journal.Body
	for _, g := range outcome.Guests {
		text := describeRetry(g)
		e.events.Happened(event.GuestRetried, event.Details{Fields: []any{"vmid", g.VMID, "guest", g.Guest, "uid", request.UID, "outcome", text}})
		message := fmt.Sprintf("by user %d: %s", request.UID, text)
		if g.VMID == 0 {
			message = g.Guest + " " + message
		}
		records = append(records, journal.Event{Name: "retried", VMID: g.VMID, Revision: e.basis.Load().Revision, Message: message})
	}
	if len(records) > 0 {
		if err := e.opts.Journal.Append(context.Background(), records...); err != nil {
			e.log.Warn("journal not written", "error", err)
		}
	}
	if err := e.opts.Retry.Remove(request); err != nil {
		e.log.Warn("request to try guests again not removed", "error", err)
	}
	e.retries.done, e.retries.found = outcome, nil
}

// describeRetry states what was cleared and what remains, for the log and the audit history.
func describeRetry(g retry.Guest) string {
	var cleared, remains []string
	for _, c := range g.Cleared {
		cleared = append(cleared, string(c))
	}
	for _, r := range g.Remains {
		remains = append(remains, r.Reason)
	}
	text := "cleared " + cmp.Or(strings.Join(cleared, ", "), "nothing")
	if len(remains) > 0 {
		text += ", remains " + strings.Join(remains, ", ")
	}
	return text
}

// remaining returns what still prevents a step of an object in this cycle.
func (e *Engine) remaining(g retry.Guest) []retry.Remains {
	var list []retry.Remains
	t, known := e.tracks[object.KeyOf(g.VMID, g.Guest)]
	if e.retries.open[object.KeyOf(g.VMID, g.Guest)] && (!known || t.hangingTask() == nil) { // a task that hangs has a condition of its own
		list = append(list, retry.Remains{
			Reason: retry.OpenStep, Message: "a call was sent whose outcome is not known, and nothing else is done before it is",
			Hint: "the agent reads the outcome again at once; without one it waits for ten minutes, since the call may still act",
		})
	}
	if !known {
		return list
	}
	held := make(map[reason.Name]bool)
	for _, h := range t.now.held {
		held[h.Reason] = true
		list = append(list, retry.Remains{Reason: string(h.Reason), Message: string(h.Op) + ": " + h.Message, Hint: h.Hint})
	}
	for _, c := range t.now.conditions {
		if (c.Type == plan.Blocked || c.Type == plan.IdentityConflict || c.Type == plan.NotObserved) && !held[c.Reason] {
			list = append(list, retry.Remains{Reason: string(c.Reason), Message: c.Message, Hint: c.Hint})
		}
	}
	return list
}
