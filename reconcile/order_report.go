package reconcile

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/object"
	"gitops-agent/reconcile/order"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/report"
)

// maxReportedOrders bounds the one-shot operations in a report. Those without an outcome are all in it.
const maxReportedOrders = 20

// orderReports returns the one-shot operations of the journal: those without an outcome, and the newest others, the newest first.
func (e *Engine) orderReports(state journal.State) []report.Order {
	var runs []journal.Order
	for _, o := range state.Orders {
		if e.isReportedOrder(o) {
			runs = append(runs, o)
		}
	}
	if len(runs) == 0 {
		return nil
	}
	slices.SortFunc(runs, func(a, b journal.Order) int {
		switch {
		case a.State.IsOpen() && !b.State.IsOpen():
			return -1
		case !a.State.IsOpen() && b.State.IsOpen():
			return 1
		}
		return cmp.Or(b.Time.Compare(a.Time), b.ProvenTime.Compare(a.ProvenTime), cmp.Compare(a.Key, b.Key))
	})
	var list []report.Order
	for i, o := range runs {
		if i >= maxReportedOrders && !o.State.IsOpen() {
			break
		}
		list = append(list, e.orderReport(o, state))
	}
	return list
}

// orderReport describes an order and, while it has no outcome, why.
func (e *Engine) orderReport(o journal.Order, state journal.State) report.Order {
	r := report.Order{
		Order: strings.TrimPrefix(o.Order, order.RunPrefix), Guest: orderedGuest(o.Order), VMID: o.VMID, Signer: o.Subject, Commit: o.Commit, Proven: o.ProvenTime, State: o.State, Changed: o.Time,
		Why: o.Why, Step: o.Step, UPID: o.UPID, Log: o.Log, Volume: o.Volume,
	}
	switch o.State {
	case journal.OrderSeen:
		if e.orders.unmatched[o.Key] {
			r.Unmatched = true
			r.Why, r.Hint = whyUnmatched, "gitops-agent status shows the digests of the held steps, and gitops-agent approve DIGEST signs an approval of one"
			break
		}
		e.describeWait(&r, o)
	case journal.OrderFailed:
		r.Hint = "it is not tried again: remove the cause, and sign a new order"
	case journal.OrderRefused:
		r.Why, r.Hint = whyRefused(o.Ordered), "nothing was done: remove the cause, and sign a new order if it is still needed"
	case journal.OrderExpired:
		r.Why, r.Hint = whyExpired(o.Ordered, state.Since, o.Time), "sign a new order if it is still needed"
	case journal.OrderUnknown:
		r.Why, r.Hint = cmp.Or(r.Why, whyUnknown(o)), "look at the guest, and sign a new order if it is still needed"
	case journal.OrderReleased:
		e.describeStep(&r, state)
	case journal.OrderRun:
	}
	return r
}

// whyUnknown returns why the outcome of an order is not known.
func whyUnknown(o journal.Order) string {
	if o.UPID != "" {
		return "its task does not tell whether it had its effect"
	}
	return "its call has no task, so it may have been executed or not"
}

// orderedGuest returns the label in the text of an order, "" if it has none.
func orderedGuest(text string) string {
	if !strings.HasPrefix(text, order.RunPrefix) {
		return ""
	}
	words := strings.Fields(strings.TrimPrefix(text, order.RunPrefix))
	if len(words) < 2 || !strings.Contains(words[1], "/") {
		return ""
	}
	return words[1]
}

// describeWait adds why an order has not begun: the gate holds it, or something prevents all work on its guest.
func (e *Engine) describeWait(r *report.Order, o journal.Order) {
	if t, known := e.tracks[object.Guest(o.VMID)]; known {
		if h, waits := t.now.waits[o.Key]; waits {
			r.Why, r.Hint, r.Digest = h.Message, h.Hint, h.Digest
			return
		}
	}
	e.describeTrouble(r, plan.Blocked, plan.Failed, plan.IdentityConflict, plan.NotObserved)
}

// describeStep adds the task of an order that has begun, and why it has not ended yet, if something is wrong.
func (e *Engine) describeStep(r *report.Order, state journal.State) {
	for _, step := range state.Open {
		if step.Step == r.Step {
			r.UPID = step.UPID
		}
	}
	e.describeTrouble(r, plan.Blocked, plan.Failed)
}

// describeTrouble adds the first condition of the order's guest with one of some types.
func (e *Engine) describeTrouble(r *report.Order, types ...plan.ConditionType) {
	t, known := e.tracks[object.Guest(r.VMID)]
	if !known {
		return
	}
	for _, c := range t.now.conditions {
		if slices.Contains(types, c.Type) {
			r.Why, r.Hint = fmt.Sprintf("%s: %s", c.Type, c.Message), c.Hint
			return
		}
	}
}
