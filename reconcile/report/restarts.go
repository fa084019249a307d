package report

import (
	"slices"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/reason"
)

// OnlyRestarts returns the labels of the guests that wait for a restart, sorted, if nothing else keeps the revision in force from being converged, and neither the agent, a
// time nor an approval will restart them. It returns nil otherwise.
func (r Report) OnlyRestarts() []string {
	newest := r.Source.Refused == nil && r.Source.Waiting == nil && r.Source.Error == "" && r.Source.Checking() == ""
	works := r.Writes.Allowed && r.Proxmox.Error == "" && r.Journal.Error == "" && r.Journal.Inflight == 0 && r.QueueDepth == 0
	if !newest || !works || r.Source.Accepted == nil || slices.ContainsFunc(r.Rollouts, func(one Rollout) bool { return !one.Ended() }) {
		return nil
	}
	var labels []string
	for _, g := range r.Guests {
		switch {
		case g.Sync == Synced:
		case g.onlyNeedsRestart():
			labels = append(labels, g.Label())
		default:
			return nil
		}
	}
	slices.Sort(labels)
	return labels
}

// onlyNeedsRestart reports whether all that the manifest wants is written, and nothing will restart the guest.
func (g Guest) onlyNeedsRestart() bool {
	waits := false
	for _, c := range g.Conditions {
		switch c.Type {
		case plan.PendingRestart:
			waits = true
		case plan.Warned, plan.Leftover, plan.Suspended, plan.Held:
		case plan.Drifted, plan.Pending, plan.Blocked, plan.Failed, plan.IdentityConflict, plan.NotObserved, plan.WaitsFor, plan.Orphaned:
			return false
		}
	}
	stays := func(h HeldStep) bool {
		return h.Op == cluster.OpReboot && slices.Contains([]reason.Name{reason.ManifestForbids, reason.OwnGuest, reason.Suspended}, h.Reason)
	}
	isHeld := len(g.Held) > 0 && !slices.ContainsFunc(g.Held, func(h HeldStep) bool { return !stays(h) })
	return waits && g.Sync == OutOfSync && (g.Operation == Idle && len(g.Held) == 0 || g.Operation == Waiting && isHeld)
}
