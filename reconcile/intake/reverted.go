package intake

import (
	"maps"
	"time"

	"gitops-agent/reconcile/gate"
	"gitops-agent/reconcile/guard"
	"gitops-agent/reconcile/journal"
)

// revertedApprovals returns the records that end the approvals of weakenings that the revision in force asks for, and that the accepted one does not ask
// for: those in the journal, and those in orders, which the accepted revision contains. Guards are what is recorded with the acceptance, with who introduced what.
func (in *Intake) revertedApprovals(accepted Accepted, state journal.State, guards, orders []journal.Body) []journal.Body {
	if !in.force.Accepted.Valid() {
		return nil
	}
	at := time.Now()
	now, _ := in.force.Accepted.Assign(state) // after an error without new vmids: a guest without a vmid has no guards in force
	reverted := guard.Reverted(
		now.guardInput(state, in.minimum, at), accepted.guardInput(guard.After(state, guards), in.minimum, at))
	if len(reverted) == 0 {
		return nil
	}
	present := journal.State{Orders: map[string]journal.Order{}}
	maps.Copy(present.Orders, state.Orders)
	for _, record := range orders {
		if o, isOrder := record.(journal.Ordered); isOrder {
			present.Orders[o.Key] = journal.Order{Ordered: o}
		}
	}
	return present.ExpiredOrders("no manifest asks any more for the weaker guard that it approves", func(o journal.Order) bool {
		digest, isApproval := gate.ApprovedDigest(o.Order)
		return isApproval && o.State == journal.OrderSeen && reverted[digest]
	})
}
