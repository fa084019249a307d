package reconcile

import (
	"context"
	"errors"

	"gitops-agent/reconcile/journal"
)

// errFutile says that a restart is not repeated, since the last one brought nothing into effect. Proxmox keeps a change waiting that it
// cannot carry out, and starts the guest without it.
var errFutile = errors.New("the last restart left waiting what it was to bring into effect; the guest is not restarted again for it " +
	"under this revision, the log of its start tells why")

// notInVain refuses a restart that was in vain under the same revision. One proves so when the guest needs it again right after it, and
// that is journaled, so that starts of the agent cost the guest no further restarts. Last is the step that was carried out before.
func (w *worker) notInVain(ctx context.Context, world *world, step, last Step) error {
	vmid, state := step.Guest.VMID, w.journal.State()
	restart := journal.Futile{VMID: vmid, Revision: world.revision, StepDigest: step.Digest(world.cluster, state.Owned[vmid].Identity)}
	switch {
	case state.Futile[vmid] == restart:
		return errFutile
	case sameEffect(last, step):
		return errors.Join(errFutile, w.under(ctx, world, restart))
	}
	return nil
}
