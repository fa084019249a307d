package gate

import (
	"fmt"

	"gitops-agent/reconcile/edge"
	"gitops-agent/reconcile/guard"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/reason"
)

// judgeForced holds a step on an object with which Proxmox would move, stop or pause a guest that the agent itself leaves alone: one that is suspended, or whose manifest has mode: observe.
func (g Gate) judgeForced(step plan.Step) Verdict {
	if step.Object == nil {
		return Verdict{}
	}
	for _, to := range step.Object.Forces {
		for _, row := range g.Scope.Inventory.Rows {
			if !edge.IsAt(to, row.VMID, row.Pool) {
				continue
			}
			own, described := g.Policies[guest.Ref{VMID: row.VMID}]
			what := fmt.Sprintf("%s %s would move, stop or pause guest %d", step.Guest.Kind, step.Guest.Name, row.VMID)
			switch {
			case own.Kept:
				return held(reason.ManifestForbids, what+": "+modeIsKept, reason.EndOfGuard.Text)
			case own.Observe:
				return held(reason.ManifestForbids, what+", whose manifest contains mode: observe", reason.Enforce.Text)
			case own.Suspend.Active(g.Now):
				return held(reason.Suspended, what+", which is "+own.Suspend.String(), RemedyOf(own.Suspend).Text)
			case !described && guard.IsSuspended(g.Scope.Guarded[row.VMID], g.Now):
				return held(reason.Suspended, what+", which was suspended when its manifest was removed", reason.RemoveSuspend.Text)
			}
		}
	}
	return Verdict{}
}
