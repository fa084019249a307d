package rollout

import (
	"fmt"
	"maps"
	"slices"

	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/reason"
)

// Records returns the records of a decision.
func (d Decision) Records(before journal.Rollout, state journal.State) []journal.Body {
	var records []journal.Body
	for _, g := range d.Release {
		s := state.Staged[g.VMID]
		s.Released, s.Commit, s.Tree, s.By = true, "", "", nil
		records = append(records, s)
	}
	if !equal(d.Next, before) {
		records = append(records, Progressed(d.Next, state)...)
	}
	return records
}

// Progressed returns the records of a rollout in another state. When it is done, its guests have the revision in force.
func Progressed(next journal.Rollout, state journal.State) []journal.Body {
	var records []journal.Body
	if next.State == journal.RolloutDone {
		records = ended(next.Name, state, nil)
	}
	return append(records, next)
}

func equal(a, b journal.Rollout) bool {
	return a.State == b.State && a.Batch == b.Batch && a.Why == b.Why && a.Since.Equal(b.Since) && slices.Equal(a.Failed, b.Failed)
}

// Hint returns what continues or reverts a rollout, "" if it goes on by itself.
func Hint(r journal.Rollout, approval bool) string {
	order := func(op string) string {
		return fmt.Sprintf("gitops-agent order %s Rollout/%s revision=%s", op, r.Name, r.Revision)
	}
	switch r.State {
	case journal.RolloutFailed:
		return reason.PromoteFailed.With(order(OpPromote))
	case journal.RolloutHeld:
		return reason.PromoteHeld.With(order(OpPromote))
	case journal.RolloutPaused:
		if approval {
			return reason.PromotePaused.With(order(OpPromote), order(OpAbort))
		}
	case journal.RolloutAborted:
		return reason.PushAgain.Text
	case journal.RolloutRunning, journal.RolloutDone:
	}
	return ""
}

// Left returns the records that end the part of guests in rollouts that nothing asks for any more: their manifests, as the guards in effect want them,
// have no rollout. Names are the rollouts of the guests in force, by vmid.
func Left(names map[int]string, state journal.State) []journal.Body {
	var records []journal.Body
	used := make(map[string]bool, len(names))
	for _, name := range names {
		used[name] = true
	}
	for _, vmid := range slices.Sorted(maps.Keys(state.Staged)) {
		s := state.Staged[vmid]
		if name, isNamed := names[vmid]; isNamed && name == "" || !isNamed && !s.Removed {
			records = append(records, journal.Staged{VMID: vmid, Kind: s.Kind, Name: s.Name})
			continue
		}
		used[s.Rollout] = true
	}
	for _, name := range slices.Sorted(maps.Keys(state.Rollouts)) {
		if !used[name] {
			records = append(records, journal.Rollout{Name: name})
		}
	}
	return records
}

// WaitText says for what a guest waits. Why is what its rollout waits for, "" if that is not known.
func WaitText(s journal.Staged, r journal.Rollout, why string) string {
	text := fmt.Sprintf("it is in batch %d of %d of Rollout/%s", s.Batch, r.Batches, s.Rollout)
	switch r.State {
	case journal.RolloutRunning, journal.RolloutPaused:
		if why == "" {
			why = "it is being changed"
		}
		return fmt.Sprintf("%s; batch %d: %s", text, r.Batch, why)
	case journal.RolloutFailed:
		return fmt.Sprintf("%s; batch %d has failed: %s", text, r.Batch, r.Why)
	case journal.RolloutHeld:
		return text + ", which is held: " + r.Why
	case journal.RolloutAborted:
		return text + ", which was aborted"
	case journal.RolloutDone:
	}
	return text
}
