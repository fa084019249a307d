package reconcile

import (
	"cmp"
	"slices"

	"gitops-agent/reconcile/event"
	"gitops-agent/reconcile/gate"
	"gitops-agent/reconcile/journal"
)

// noteOrders logs the orders that are new, or in another state than in the cycle before.
func (e *Engine) noteOrders(orders map[string]journal.Order) {
	if sameMap(e.orders, orders) {
		return
	}
	type change struct {
		journal.Ordered
		known bool
	}
	var changed []change
	for key, o := range orders {
		if before, known := e.orders[key]; !known || before.State != o.State {
			changed = append(changed, change{o.Ordered, known})
		}
	}
	e.orders = orders
	slices.SortFunc(changed, func(a, b change) int {
		return cmp.Or(a.ProvenTime.Compare(b.ProvenTime), cmp.Compare(a.Key, b.Key))
	})
	for _, o := range changed {
		e.logOrder(o.Ordered, o.known)
	}
}

// logOrder logs the state of an order. Known reports whether it had another state before.
func (e *Engine) logOrder(o journal.Ordered, known bool) {
	attrs := func(name event.Name) []any {
		return []any{event.Key, name, "order", o.Order, "operation", gate.OperationOf(o.Order), "signer", o.Subject, "commit", o.Commit}
	}
	switch o.State {
	case journal.OrderSeen:
		e.log.Info("order accepted", attrs(event.OrderAccepted)...)
	case journal.OrderRun:
		e.log.Info("order executed", append(attrs(event.OrderExecuted), "step", o.Step)...)
	case journal.OrderRefused: // the person who signed it waits for an effect
		e.log.Warn("order has no effect", append(attrs(event.OrderRefused), "why", whyRefused(o))...)
	case journal.OrderExpired:
		why := "it was not used within seven days"
		if !known {
			why = "it was signed before this agent's state began, so it may have run already"
		}
		e.log.Warn("order has expired", append(attrs(event.OrderExpired), "why", why)...)
	case journal.OrderUnknown:
		e.log.Warn("order may have been executed, and is not executed again", append(attrs(event.OrderUnknown), "step", o.Step)...)
	case journal.OrderReleased:
	}
}

func whyRefused(o journal.Ordered) string {
	if gate.OperationOf(o.Order) == "run" {
		return "this version does not support one-shot operations"
	}
	return gate.MissingApproveRole(o.Signer)
}
