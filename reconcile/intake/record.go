package intake

import (
	"context"
	"slices"
	"time"

	"gitops-agent/reconcile/gate"
	"gitops-agent/reconcile/guard"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/ownership"
	"gitops-agent/verify"
)

// record makes an acceptance durable in one append: the revision, its orders, who introduced what, and the guards of its guests. After a crash all of it is in
// force or nothing.
func (in *Intake) record(ctx context.Context, accepted Accepted, record journal.Accepted, base baseline, policy *verify.Policy) error {
	before := in.journal.State()
	rewrote := base.Rewrite == accepted.revision.Commit()
	var passed []journal.Body
	state := before
	if !rewrote {
		passed, state = accepted.passed(before, LimitsOf(policy))
	}
	introduced := newIntroduced(accepted, state, rewrote)
	scope := scopeAfter(state, introduced, LimitsOf(policy))
	files := lastFiles{in.force.Accepted.files(), accepted.trace.entered}
	guards := newGuards(accepted, before, state, scope, files, guard.Accept)
	after := guard.After(state, guards)
	scope.Guests, scope.Guarded, scope.Left = accepted.guests, after.Guarded, after.Left
	orders := newOrders(accepted.revision, state, scope)
	bodies := slices.Concat(in.knownOrders(ctx, state, policy), orders, []journal.Body{record})
	bodies = append(bodies, accepted.evidenceRecord()...)
	bodies = append(bodies, introduced...)
	bodies = append(bodies, passed...)
	bodies = append(bodies, guards...)
	bodies = append(bodies, in.newStaged(accepted, state, guards, base.fromFloor)...)
	bodies = append(bodies, in.revertedApprovals(accepted, before, slices.Concat(introduced, passed, guards), orders)...)
	bodies = append(bodies, ownership.AcceptObjects(accepted.set.Objects, state, files.ofObject)...)
	bodies = append(bodies, acceptedFiles(accepted.set.Images, state, files)...)
	bodies = append(bodies, earlierSlots(in.force.Accepted, accepted, state)...)
	if base.fromFloor {
		bodies = append(bodies, voidOrders(state)...)
		bodies = append(bodies, doubtedSlots(accepted, state)...)
	}
	if rewrote {
		bodies = append(bodies, journal.Event{Name: "rewrite-allowed", Revision: record.Commit, Message: "by a note in the state directory"})
	}
	if err := in.journal.Append(ctx, bodies...); err != nil {
		return err
	}
	if rewrote {
		if err := in.note.remove(); err != nil {
			in.log.WarnContext(ctx, "rewrite note not removed", "error", err)
		}
	}
	return nil
}

// newGuards returns the guards of the Cluster and of the accepted guests that differ from the journal's. A guest without a vmid gets its guards with
// its identity, and one with an invalid manifest keeps those in force. A manifest whose vmid is outside of its signer's scope does not change the guards of the guest that has the vmid.
// before is the state before the commits that the poll passed, which still has the labels that guests leave.
func newGuards(accepted Accepted, before, state journal.State, scope gate.Scope, files lastFiles, of func(*guest.Desired, journal.State, time.Time) journal.Guarded) []journal.Body {
	var bodies []journal.Body
	if g, changed := guard.AcceptCluster(accepted.set.Cluster.Guards, state); changed {
		bodies = append(bodies, g)
	}
	state.Introduced = scope.Introduced
	bodies = append(bodies, guard.AcceptPolicies(accepted.set.Policies, state)...)
	now := time.Now()
	for i := range accepted.guests {
		d := &accepted.guests[i]
		if d.VMID == 0 || d.Invalid != nil || !scope.Guest(d.Ref) {
			continue
		}
		g := of(d, state, now)
		_, exists := guard.InForce(state, d.VMID)
		g.File = files.after(guard.LabelOf(d.Ref), exists, state.Guarded[d.VMID].File, g.File)
		if state.Guarded[d.VMID] != g {
			bodies = append(bodies, g)
		}
	}
	after := guard.After(state, bodies)
	return append(bodies, guard.AcceptPlaces(accepted.guardInput(after, guard.Minimum{}, now), before, accepted.trace.left())...)
}

// appendMissing journals what the journal lacks of a resumed revision: guards that older releases did not record, the files of its manifests, and names and entries of
// signers.
func (in *Intake) appendMissing(ctx context.Context, accepted Accepted, policy *verify.Policy) error {
	state, files := in.journal.State(), lastFiles{before: accepted.files()}
	return in.journal.Append(ctx, slices.Concat(
		newGuards(accepted, state, state, scopeAfter(state, nil, LimitsOf(policy)), files, guard.Resume), in.knownOrders(ctx, state, policy),
		ownership.AcceptObjects(accepted.set.Objects, state, files.ofObject), acceptedFiles(accepted.set.Images, state, files),
	)...)
}
