package rollout

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
)

// The operations of orders about rollouts.
const (
	OpPromote = "promote" // continues a rollout that pauses, has failed or is held
	OpAbort   = "abort"   // ends a rollout: the guests that were not released stay as they are until another revision
)

// Refuse returns why an order about a rollout is refused, "" if it is not.
func Refuse(o Order, rollouts map[string]journal.Rollout) string {
	name := o.Name
	r, known := rollouts[name]
	switch {
	case !known:
		return "there is no Rollout/" + name
	case r.Revision != o.Revision:
		return fmt.Sprintf("Rollout/%s has the revision %s, and the order names %s", name, r.Revision, o.Revision)
	case r.State == journal.RolloutDone:
		return fmt.Sprintf("Rollout/%s is done", name)
	case r.State == journal.RolloutAborted:
		return fmt.Sprintf("Rollout/%s was aborted: push another revision, such as a revert", name)
	case o.Op == OpPromote && r.State == journal.RolloutRunning:
		return fmt.Sprintf("Rollout/%s waits for no order: batch %d of %d is being changed", name, r.Batch, r.Batches)
	}
	return ""
}

// Apply returns the progress of a rollout after an order that is not refused. After a failed batch the next one follows, unless it was the last one.
func Apply(op, key string, r journal.Rollout, staged map[int]journal.Staged, now time.Time) journal.Rollout {
	before := r.State
	r.Since, r.Order, r.Why = now, key, ""
	if op == OpAbort {
		r.State = journal.RolloutAborted
		return r
	}
	r.State = journal.RolloutRunning
	switch {
	case before == journal.RolloutHeld:
	case r.Batch < r.Batches:
		r.Batch++
	case !hasWithheld(r.Name, staged):
		r.State = journal.RolloutDone
	}
	return r
}

// hasWithheld reports whether a guest of the rollout was not released.
func hasWithheld(name string, staged map[int]journal.Staged) bool {
	for _, s := range staged {
		if s.Rollout == name && s.Withheld() {
			return true
		}
	}
	return false
}

// Guests returns the guests of a rollout, also those whose manifests were removed, sorted by vmid.
func Guests(name string, staged map[int]journal.Staged) []guest.Ref {
	var refs []guest.Ref
	for vmid, s := range staged {
		if s.Rollout == name {
			refs = append(refs, guest.Ref{Kind: guest.Kind(s.Kind), Name: s.Name, VMID: vmid})
		}
	}
	slices.SortFunc(refs, func(a, b guest.Ref) int { return cmp.Compare(a.VMID, b.VMID) })
	return refs
}
