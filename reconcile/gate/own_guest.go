package gate

import (
	"fmt"
	"slices"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/order"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/reason"
)

// judgeOwnGuest holds a step that would stop, restart, move or destroy the guest in which the agent runs: the agent would end before it could finish
// the step, and nothing would start the guest again.
func (g Gate) judgeOwnGuest(step plan.Step) Verdict {
	if !g.OwnGuests[step.Guest.VMID] || !slices.ContainsFunc(step.Calls, endsGuest) {
		return Verdict{}
	}
	return held(reason.OwnGuest, fmt.Sprintf("the agent runs in guest %d, and would stop itself", step.Guest.VMID),
		reason.ByHand.Text)
}

// endsGuest reports whether a call stops, pauses, restarts, moves or destroys its guest.
func endsGuest(call cluster.Call) bool {
	if call.Op == cluster.OpHAAdd || call.Op == cluster.OpHASet {
		return call.Params["state"] == "stopped" || call.Params["state"] == "disabled"
	}
	if call.Op == cluster.OpBackup {
		return call.Params["mode"] != order.ModeSnapshot
	}
	ends := []cluster.Op{cluster.OpMigrate, cluster.OpReboot, cluster.OpReset, cluster.OpSuspend, cluster.OpTemplate, cluster.OpRollback, cluster.OpDestroy}
	return slices.Contains(ends, call.Op) || call.Op.Reaches() == guest.StatusStopped
}
