package plan

import (
	"slices"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/reason"
)

// withHAState adds what the HA manager does with a guest. A guest that it gave up stays as it is: Proxmox refuses each call that would start or move it, and each change of its
// entry but the one to disabled, which is the repair.
//
// Source: PVE::HA::Manager, "error"; PVE::API2::HA::Resources, update.
func withHAState(p Guest, live guest.Observed, row cluster.Row) Guest {
	switch {
	case row.HAFailed():
		p.Conditions = append(p.Conditions, haCondition(live))
		if live.Resource != nil && live.Resource.State == "disabled" {
			p.Changes = slices.DeleteFunc(p.Changes, func(c guest.Change) bool { return c.Write == guest.WriteHA && c.Value == guest.HASet })
		}
	case row.HAWorks():
		p.Conditions = append(p.Conditions, Condition{Type: WaitsFor, Reason: reason.WaitsFor, Message: "the HA manager is at work on the guest (" + row.HAState + ")"})
	}
	return p
}

// haCondition returns the condition of a guest that the HA manager gave up.
func haCondition(live guest.Observed) Condition {
	c := Condition{Type: Blocked, Reason: reason.HAError, Message: "the HA manager has given the guest up (its state is error): it stays as it is", Hint: reason.RepairHA.With(live.HAName())}
	if live.Resource != nil && live.Resource.State == "disabled" {
		c.Message, c.Hint = "the HA manager had given the guest up, and takes note of the repair: its entry is disabled", ""
	}
	return c
}
