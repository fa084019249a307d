package reconcile

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"gitops-agent/reconcile/event"
	"gitops-agent/reconcile/gate"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/object"
	"gitops-agent/verify"
	"gitops-agent/verify/role"
)

// loggedOrders returns the orders that need no line in the log after a start: all but the approvals of signers without the role that would be valid
// otherwise. The people who signed them still wait for an effect.
func loggedOrders(orders map[string]journal.Order, now time.Time) map[string]journal.Order {
	logged := maps.Clone(orders)
	maps.DeleteFunc(logged, func(_ string, o journal.Order) bool {
		_, isApproval := gate.ApprovedDigest(o.Order)
		return isApproval && o.State == journal.OrderRefused && now.Before(o.ProvenTime.Add(gate.OrderLifetime))
	})
	return logged
}

// noteOrders logs the orders that are new, or in another state than in the cycle before.
func (e *Engine) noteOrders(orders map[string]journal.Order) {
	if sameMap(e.orders, orders) {
		return
	}
	var changed []journal.Ordered
	for key, o := range orders {
		if before, known := e.orders[key]; !known || before.State != o.State {
			changed = append(changed, o.Ordered)
		}
	}
	e.orders = orders
	slices.SortFunc(changed, func(a, b journal.Ordered) int {
		return cmp.Or(a.ProvenTime.Compare(b.ProvenTime), cmp.Compare(a.Key, b.Key))
	})
	for _, o := range changed {
		e.opts.Hooks.order(gate.OperationOf(o.Order), o.State)
		e.logOrder(o)
	}
}

// logOrder logs the state of an order.
func (e *Engine) logOrder(o journal.Ordered) {
	attrs := func(name event.Name, more ...any) []any {
		list := []any{event.Key, name, "order", o.Order, "operation", gate.OperationOf(o.Order), "signer", o.Subject, "commit", o.Commit}
		if o.VMID != 0 {
			list = append(list, "vmid", o.VMID, "guest", e.labelOf(object.Guest(o.VMID)))
		}
		return append(list, more...)
	}
	switch o.State {
	case journal.OrderSeen:
		e.log.Info("order accepted", attrs(event.OrderAccepted)...)
	case journal.OrderRun:
		e.log.Info("order executed", append(attrs(event.OrderExecuted, "step", o.Step), taskOf(o)...)...)
	case journal.OrderFailed:
		e.log.Warn("order failed, and is not executed again", append(attrs(event.OrderFailed, "step", o.Step, "why", o.Why), taskOf(o)...)...)
	case journal.OrderRefused: // the person who signed it waits for an effect
		e.log.Warn("order has no effect", attrs(event.OrderRefused, "why", whyRefused(o))...)
	case journal.OrderExpired:
		e.log.Warn("order has expired", attrs(event.OrderExpired, "why", whyExpired(o, e.opts.Journal.State().Since, time.Now()))...)
	case journal.OrderUnknown:
		e.log.Warn("order may have been executed, and is not executed again", attrs(event.OrderUnknown, "step", o.Step)...)
	case journal.OrderReleased:
	}
}

// taskOf returns the attributes of the task that executed a one-shot operation.
func taskOf(o journal.Ordered) []any {
	var attrs []any
	if o.UPID != "" {
		attrs = append(attrs, "upid", o.UPID)
	}
	if o.Log != "" {
		attrs = append(attrs, "task_log", o.Log)
	}
	return attrs
}

// whyExpired describes why an order ended unused. Since is when the journal began.
func whyExpired(o journal.Ordered, since, now time.Time) string {
	switch {
	case !now.Before(o.ProvenTime.Add(gate.OrderLifetime)):
		return "it was not used within seven days"
	case o.ProvenTime.Before(since.Truncate(time.Second)):
		return "it was signed before this agent's state began, so it may have run already"
	}
	return cmp.Or(o.Why, "no manifest asks any more for the weaker guard that it approves, or the state directory was older than the floor in the cluster")
}

func whyRefused(o journal.Ordered) string {
	if _, isApproval := gate.ApprovedDigest(o.Order); !isApproval {
		return cmp.Or(o.Why, "the version that accepted it did not support one-shot operations")
	}
	return role.Missing(o.Signer, nil, verify.RoleApprove)
}
