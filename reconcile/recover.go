package reconcile

import (
	"context"
	"fmt"
	"time"

	"gitops-agent/reconcile/event"
	"gitops-agent/reconcile/gate"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/reason"
	"gitops-agent/reconcile/recovery"
)

// recoverOwnership finds the guests that have a marker and no record, and claims those that a signed approval, or a person on the host, has
// released. Without all records of the journal it finds none. It writes records and nothing to the cluster, so a pause does not prevent it.
func (e *Engine) recoverOwnership(ctx context.Context) {
	e.recovery = recovery.Found{}
	snapshot := e.readings.observer.Snapshot()
	if !e.revision.force.Accepted.Valid() || e.revision.force.Unverified != nil || snapshot.Inventory.ReadAt.IsZero() {
		return
	}
	state := e.opts.Journal.State()
	if state.Unread != nil {
		return
	}
	input := recovery.Input{Cluster: e.opts.Scope.Cluster, Guests: e.guests, VMIDs: e.revision.force.Accepted.Set().Cluster.VMIDs, Owned: state.Owned, Got: snapshot}
	e.recovery = recovery.Find(input)
	digest := e.recovery.Digest
	if digest == "" || !e.lease.mayWrite(e.revision.force) {
		return
	}
	by, spent, released := e.releasedClaims(digest, state)
	if !released {
		return
	}
	claims := e.recovery.Claims()
	records := append(e.recovery.Records(state, time.Now()), spent...)
	for _, g := range claims {
		records = append(records, journal.Event{Name: "recovered", VMID: g.VMID, Revision: e.basis.Load().Revision, Message: g.Marker + " " + by})
	}
	records = append(records, e.lostRollouts(claims, state)...)
	if err := e.opts.Journal.Append(ctx, records...); err != nil {
		e.log.WarnContext(ctx, "guests not claimed", "error", err)
		return
	}
	for _, g := range claims {
		e.events.Happened(event.GuestRecovered, event.Details{Fields: []any{"vmid", g.VMID, "guest", string(g.Kind) + "/" + g.Name, "marker", g.Marker, "by", by}})
	}
	if note, found := e.opts.Recover.Read(); found && note.Digest == digest {
		if err := e.opts.Recover.Remove(); err != nil {
			e.log.WarnContext(ctx, "release of claims not removed", "error", err)
		}
	}
	input.Owned = e.opts.Journal.State().Owned
	e.recovery = recovery.Find(input)
	e.assign()
}

// releasedClaims returns who released the claims with a digest, and the records of the approvals that are used up by it.
func (e *Engine) releasedClaims(digest string, state journal.State) (by string, spent []journal.Body, released bool) {
	if note, found := e.opts.Recover.Read(); found && note.Digest == digest {
		return fmt.Sprintf("released by user %d on the host", note.UID), nil, true
	}
	tally := gate.NewApprovals(state.Orders).For(digest, time.Now(), nil, e.basis.Load().Scope(state).Recovery)
	for _, u := range tally.Uncounted {
		e.recovery.Uncounted = append(e.recovery.Uncounted, u.Message)
	}
	if tally.People < max(e.basis.Load().Guards.Approvals, 1) {
		return "", nil, false
	}
	for _, key := range tally.Keys {
		by = "approved by " + state.Orders[key].Subject
	}
	return by, state.SpentOrders(tally.Keys, journal.OrderRun, ""), true
}

// explainConflict adds to a condition what the recovery of lost records found about the guest.
func explainConflict(c *plan.Condition, g recovery.Guest, found recovery.Found) {
	if c.Type != plan.IdentityConflict {
		return
	}
	if g.Verdict == recovery.Claimable {
		c.Digest = found.Digest
		for _, why := range found.Uncounted {
			c.Message += "; " + why
		}
		c.Hint = reason.ClaimLost.With(found.Digest, c.Hint)
		return
	}
	c.Message += "; gitops-agent recover does not claim it: " + g.Message
	c.Hint = g.Hint
}
