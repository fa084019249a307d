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

// After returns the state with the guards of records that are not appended yet, and with who introduced what.
func After(state journal.State, records []journal.Body) journal.State {
	state.Guarded, state.Introduced = cloned(state.Guarded), cloned(state.Introduced)
	state.Policies, state.Left = cloned(state.Policies), cloned(state.Left)
	for _, record := range records {
		switch r := record.(type) {
		case journal.Guarded:
			state.Guarded[r.VMID] = r
		case journal.ClusterGuarded:
			state.ClusterGuards = &r
		case journal.Introduced:
			label := journal.Label{Kind: r.Kind, Name: r.Name}
			state.Introduced[label] = r
			if len(r.By) == 0 {
				delete(state.Introduced, label)
			}
		case journal.PolicyInForce:
			state.Policies[r.Name] = r
			if r.When == "" {
				delete(state.Policies, r.Name)
			}
		case journal.Left:
			state.Left[r.VMID] = r.Places()
			if len(r.Files) == 0 {
				delete(state.Left, r.VMID)
			}
		}
	}
	return state
}

// cloned returns a copy of a map, which is not nil.
func cloned[K comparable, V any](m map[K]V) map[K]V {
	next := make(map[K]V, len(m))
	maps.Copy(next, m)
	return next
}
