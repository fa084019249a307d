package reconcile

import (
	"time"

	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/report"
)

// trackKey is a guest's vmid, or its label while it has none.
type trackKey struct {
	vmid  int
	label string
}

// track is what the engine remembers of a guest from cycle to cycle. It is lost with the process, and nothing depends on it but what
// people read.
type track struct {
	known      bool // its sync state was reported once
	synced     bool
	driftSince time.Time
	cause      report.DriftCause // of the drift since then
	converged  time.Time
	revision   string               // that it was last in sync with
	since      map[string]time.Time // when a condition or a hold began, by its identity
	retry      backoff
	flaps      flapDamper
	failed     error
	failedStep plan.Step // its zero value where no step was at fault
	warned     []string  // what the tasks of the last steps warned of
}

func (e *Engine) track(ref guest.Ref) *track {
	key := keyOf(ref)
	t, ok := e.tracks[key]
	if !ok {
		t = &track{since: make(map[string]time.Time)}
		e.tracks[key] = t
	}
	return t
}

// stuck returns the labels of the guests that were tried in vain for so long that higher waves go ahead.
func (e *Engine) stuck() map[string]bool {
	labels := make(map[string]bool)
	for _, d := range e.guests {
		t, known := e.tracks[keyOf(d.Ref)]
		if known && t.triedInVain() || d.VMID == 0 && e.unassigned != nil {
			labels[d.Label()] = true
		}
	}
	return labels
}

// triedInVain reports whether the guest failed so often, or for such a reason, that nobody should wait for it.
func (t *track) triedInVain() bool {
	switch {
	case isTerminal(t.failed):
		return true
	case hopeless(t.failed, t.failedStep.Op):
		return t.retry.failures > heavyTries
	default:
		return t.retry.failures >= patientTries
	}
}

// began returns when a condition began, and remembers it as still there in seen.
func (t *track) began(id string, now time.Time, seen map[string]time.Time) time.Time {
	since, ok := t.since[id]
	if !ok {
		since = now
	}
	seen[id] = since
	return since
}

// clearFailures lets guests be tried again that waited, after a new revision.
func clearFailures(tracks map[trackKey]*track) {
	for _, t := range tracks {
		t.retry, t.flaps, t.failed, t.failedStep = backoff{}, flapDamper{}, nil, plan.Step{}
	}
}

// judge compares the guest's sync state with the one of the cycle before and tells of drift that appeared or went.
func (e *Engine) judge(t *track, p plan.Guest, sync report.Sync, now time.Time) {
	switch {
	case sync == report.SyncUnknown:
		return
	case sync == report.Synced:
		if t.known && !t.synced && t.cause != "" {
			e.drifted(report.DriftOutcome{Guest: p.Ref, Cause: t.cause, Repaired: true})
		}
		t.driftSince, t.converged, t.revision = time.Time{}, now, e.world.Load().Revision
	case t.synced || !t.known:
		t.driftSince, t.cause = now, e.cause(t)
		if t.cause == "" {
			break
		}
		var keys []string
		for _, c := range p.Changes {
			keys = append(keys, c.Key)
		}
		e.drifted(report.DriftOutcome{Guest: p.Ref, Cause: t.cause, Keys: keys})
	}
	t.known, t.synced = true, sync == report.Synced
}

// cause tells a guest that was left behind by a new revision from one that somebody changed. It is "" at the first sight after a
// restart, where nobody knows whether the revision was carried out before.
func (e *Engine) cause(t *track) report.DriftCause {
	switch {
	case t.revision == e.world.Load().Revision:
		return report.DriftCluster
	case !t.known && e.resumed:
		return ""
	}
	return report.DriftRevision
}
