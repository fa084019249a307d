package reconcile

import (
	"cmp"
	"slices"
	"time"

	"gitops-agent/reconcile/event"
	"gitops-agent/reconcile/gate"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/object"
	"gitops-agent/reconcile/report"
	"gitops-agent/verify"
	"gitops-agent/verify/role"
)

// toldOrdersOf returns the orders that need no event after a start: all but the approvals of signers without the role that would be valid otherwise. The people
// who signed them still wait for an effect.
func toldOrdersOf(orders map[string]journal.Order, now time.Time) toldOrders {
	told := toldOrders{marks: make(event.Marks[string, journal.OrderState], len(orders))}
	for key, o := range orders {
		_, isApproval := gate.ApprovedDigest(o.Order)
		if !isApproval || o.State != journal.OrderRefused || !now.Before(o.ProvenTime.Add(gate.OrderLifetime)) {
			told.marks[key] = o.State
		}
	}
	return told
}

// noteOrders tells of the orders that are new, or in another state than in the cycle before.
func (e *Engine) noteOrders(orders map[string]journal.Order) {
	if sameMap(e.orders.of, orders) {
		return
	}
	e.orders.of = orders
	var changed []journal.Ordered
	for key, o := range orders {
		if e.orders.marks.Changed(key, o.State) {
			changed = append(changed, o.Ordered)
		}
	}
	e.orders.marks.Keep(func(key string) bool { _, is := orders[key]; return is })
	slices.SortFunc(changed, func(a, b journal.Ordered) int {
		return cmp.Or(a.ProvenTime.Compare(b.ProvenTime), cmp.Compare(a.Key, b.Key))
	})
	for _, o := range changed {
		e.events.Happened(orderEvent(o.State), e.orderDetails(o))
	}
}

// orderEvent returns the event that tells that an order is in a state.
func orderEvent(state journal.OrderState) event.Name {
	switch state {
	case journal.OrderSeen:
		return event.OrderAccepted
	case journal.OrderReleased:
		return event.OrderReleased
	case journal.OrderRun:
		return event.OrderExecuted
	case journal.OrderFailed:
		return event.OrderFailed
	case journal.OrderRefused:
		return event.OrderRefused
	case journal.OrderExpired:
		return event.OrderExpired
	case journal.OrderUnknown:
	}
	return event.OrderUnknown
}

// orderDetails describes an order in its state.
func (e *Engine) orderDetails(o journal.Ordered) event.Details {
	operation := gate.OperationOf(o.Order)
	d := event.Details{Outcome: report.OrderOutcome{Operation: operation, State: o.State}, Fields: []any{
		"order", o.Order, "operation", operation, "signer", o.Subject, "commit", o.Commit,
	}}
	add := func(fields ...any) { d.Fields = append(d.Fields, fields...) }
	if o.VMID != 0 {
		add("vmid", o.VMID, "guest", e.labelOf(object.Guest(o.VMID)))
	}
	switch o.State {
	case journal.OrderSeen, journal.OrderReleased:
	case journal.OrderRun:
		add("step", o.Step, "upid", o.UPID, "task_log", o.Log)
	case journal.OrderFailed:
		add("step", o.Step, "why", o.Why, "upid", o.UPID, "task_log", o.Log)
	case journal.OrderRefused: // the person who signed it waits for an effect
		add("why", whyRefused(o))
	case journal.OrderExpired:
		add("why", whyExpired(o, e.opts.Journal.State().Since, time.Now()))
	case journal.OrderUnknown:
		add("step", o.Step)
	}
	return d
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
	return cmp.Or(o.Why, role.Missing(o.Signer, nil, verify.RoleApprove))
}
