package reconcile

import (
	"time"

	"gitops-agent/reconcile/event"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/report"
)

// noteDrift states whether a guest differs from its manifest. Drift whose cause is not known is not told.
func (e *Engine) noteDrift(t *track, p plan.Guest, sync report.Sync, now time.Time) {
	revision := e.rollouts.revisionOf(p.Ref.VMID, e.basis.Load().Revision)
	switch {
	case sync == report.SyncUnknown:
	case sync == report.Synced:
		t.said.Is(event.GuestDrifted, false, event.ID{}, nil, nil)
		t.convergedAt, t.revision = now, revision
	case t.driftSince().IsZero():
		if cause := e.driftCause(t, revision); cause == "" {
			t.said.Mute(event.GuestDrifted, event.ID{})
		} else {
			t.said.Lasts(event.GuestDrifted, event.ID{}, func() event.Details { return driftDetails(p, cause) })
		}
	}
}

func driftDetails(p plan.Guest, cause report.DriftCause) event.Details {
	o := report.DriftOutcome{Guest: p.Ref, Cause: cause}
	for _, c := range p.Changes {
		o.Keys = append(o.Keys, c.Key)
	}
	return event.Details{
		Fields:  []any{"vmid", p.Ref.VMID, "guest", p.Ref.Label(), "cause", string(cause), "keys", o.Keys},
		Outcome: o, Note: event.Note{VMID: p.Ref.VMID, Message: string(cause)},
	}
}

// driftSince returns since when a guest differs from its manifest, the zero time if it does not.
func (t *track) driftSince() time.Time { return t.said.Since(event.GuestDrifted) }

// driftCause returns whether a new revision or a change in the cluster made the guest differ. It returns "" in the first cycle after a start:
// then it is unknown whether the revision was applied before.
func (e *Engine) driftCause(t *track, revision string) report.DriftCause {
	switch {
	case t.revision == revision:
		return report.DriftCluster
	case t.convergedAt.IsZero() && e.revision.force.Resumed:
		return ""
	}
	return report.DriftRevision
}
