package lane

import (
	"context"
	"errors"

	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/plan"
)

// ErrRestartIneffective says that a restart is not repeated, since the last one brought nothing into effect. Proxmox keeps a change waiting that it
// cannot carry out, and starts the guest without it.
var ErrRestartIneffective = errors.New("the last restart left waiting what it was to bring into effect; the guest is not restarted again for it " +
	"under this revision, the log of its start tells why")

// refuseRepeatedRestart refuses a restart that was in vain under the same revision. One proves so when the guest needs it again right after it, and
// that is journaled, so that starts of the agent cost the guest no further restarts. Last is the step that was carried out before.
func (w *Worker) refuseRepeatedRestart(ctx context.Context, world *Basis, step, last plan.Step) error {
	vmid, state := step.Guest.VMID, w.Journal.State()
	restart := journal.Futile{VMID: vmid, Revision: world.Revision, StepDigest: step.Digest(world.Cluster, state.Owned[vmid].Identity)}
	switch {
	case state.Futile[vmid] == restart:
		return ErrRestartIneffective
	case sameEffect(last, step):
		return errors.Join(ErrRestartIneffective, w.appendIfCurrent(ctx, world, restart))
	}
	return nil
}
