package lane

import (
	"context"
	"errors"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/plan"
)

// ErrRestartIneffective refuses a restart that was done before under the same revision and had no effect. Proxmox keeps a pending change
// that it cannot apply, and starts the guest without it.
var ErrRestartIneffective = errors.New("the last restart did not apply the pending change; the guest is not restarted again for it under " +
	"this revision; the log of its start task shows the reason")

// refuseRepeatedRestart returns an error for a restart that had no effect under the same revision. A restart had no effect if the guest
// needs the same restart again right after it. That is journaled, so that a start of the agent does not restart the guest again. Last is the
// step that was executed before.
func (w *Worker) refuseRepeatedRestart(ctx context.Context, basis *Basis, step, last plan.Step) error {
	vmid, state := step.Guest.VMID, w.journal.State()
	restart := journal.IneffectiveRestart{VMID: vmid, Revision: basis.Revision, StepDigest: step.Digest(basis.Cluster, state.Owned[vmid].Identity)}
	switch {
	case state.IneffectiveRestarts[vmid] == restart:
		return ErrRestartIneffective
	case sameEffect(last, step):
		return errors.Join(ErrRestartIneffective, w.appendIfCurrent(ctx, basis, restart))
	}
	return nil
}

// sameEffect reports whether two steps ask for the same effect. The digest of the guest and the volumes that the steps detach do not count,
// since the first step may have changed them.
func sameEffect(a, b plan.Step) bool {
	a.DetachedVolumes, b.DetachedVolumes = nil, nil
	return a.Op == b.Op && a.Digest("", "") == b.Digest("", "") && !movesAnother(a, b)
}

// movesAnother reports whether two steps move rules of different lists. After a rule was moved, the same call moves the rule that took its place.
func movesAnother(a, b plan.Step) bool {
	isMove := func(s plan.Step) bool { return len(s.Calls) == 1 && s.Calls[0].Firewall.Verb == cluster.FirewallMove }
	return isMove(a) && isMove(b) && a.Calls[0].Digest != b.Calls[0].Digest
}
