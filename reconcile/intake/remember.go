package intake

import (
	"context"
	"slices"

	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/ownership"
	"gitops-agent/reconcile/plan"
)

// guardsPerAppend bounds one append of lifecycles, far below what the journal takes at once.
const guardsPerAppend = 500

// remember journals the lifecycles of every guest that the accepted manifests name and that differ from what is remembered. It
// is done again when the revision is resumed, so a crash after the acceptance forgets none.
func (in *Intake) remember(ctx context.Context, accepted Accepted) error {
	state := in.Journal.State()
	guests, err := plan.WantedGuests(accepted.Set, state)
	if err != nil {
		return err
	}
	var bodies []journal.Body
	for _, d := range guests {
		if g := ownership.Guarded(d); d.VMID != 0 && state.Guarded[d.VMID] != g {
			bodies = append(bodies, g)
		}
	}
	for chunk := range slices.Chunk(bodies, guardsPerAppend) {
		if err := in.append(ctx, chunk...); err != nil {
			return err
		}
	}
	return nil
}
