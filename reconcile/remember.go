package reconcile

import (
	"context"
	"slices"

	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
)

// guardsPerAppend bounds one append of lifecycles, far below what the journal takes at once.
const guardsPerAppend = 500

// remember journals the lifecycles of every guest that the accepted manifests name and that differ from what is remembered. It
// is done again when the revision is resumed, so a crash after the acceptance forgets none.
func (in *intake) remember(ctx context.Context, accepted Accepted) error {
	state := in.journal.State()
	guests, err := WantedGuests(accepted.set, state)
	if err != nil {
		return err
	}
	var bodies []journal.Body
	for _, d := range guests {
		if g := guarded(d); d.VMID != 0 && state.Guarded[d.VMID] != g {
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

// guarded returns the lifecycle that is remembered for a guest. Removing a manifest that forbids all work must not allow the
// worst of it: such a guest is not destroyed without a signature.
func guarded(d guest.Desired) journal.Guarded {
	destroy := d.Lifecycle.Destroy
	if (d.Observe || d.Suspend != nil) && destroy == guest.Allow {
		destroy = guest.Approve
	}
	return journal.Guarded{
		VMID: d.VMID, Kind: string(d.Kind), Name: d.Name, Destroy: string(destroy),
	}
}
