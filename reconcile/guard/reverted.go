package guard

import (
	"maps"

	"gitops-agent/reconcile/journal"
)

// Reverted returns the digests of the weakenings that the revision in force asks for, or would ask for with the guards that the next revision brings
// into force, and that the next revision does not ask for. Their approvals end with its acceptance: who asks for the same again needs new ones. The state of
// next contains the guards that are recorded with its acceptance.
func Reverted(now, next Input) map[string]bool {
	digests := map[string]bool{}
	later := now
	later.State = next.State
	for _, in := range []Input{now, later} {
		for _, w := range Resolve(in).Weakenings {
			digests[w.Digest] = true
		}
	}
	for _, w := range Resolve(next).Weakenings {
		delete(digests, w.Digest)
	}
	return digests
}

// After returns the state with the guards of records that are not appended yet.
func After(state journal.State, records []journal.Body) journal.State {
	state.Guarded = maps.Clone(state.Guarded)
	for _, record := range records {
		switch r := record.(type) {
		case journal.Guarded:
			if state.Guarded == nil {
				state.Guarded = map[int]journal.Guarded{}
			}
			state.Guarded[r.VMID] = r
		case journal.ClusterGuarded:
			state.ClusterGuards = &r
		}
	}
	return state
}
