package page

import (
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/report"
)

// orderView is a one-shot operation for printing.
type orderView struct {
	report.Order

	Link   commitLink
	Target guestLink
	Since  timeView
	Signed timeView
	Badge  badge
	Task   *taskLink // nil if there is none
}

// newOrders returns the orders for a page of many guests, with links to their guests.
func (f frame) newOrders(orders []report.Order) []orderView {
	list := f.ordersHere(orders)
	for i := range list {
		if o := &list[i]; o.Guest != "" {
			o.Target = f.links.guest(o.Guest)
		}
	}
	return list
}

// ordersHere returns the orders for the page of their guest.
func (f frame) ordersHere(orders []report.Order) []orderView {
	var list []orderView
	for _, o := range orders {
		v := orderView{Order: o, Link: f.links.commit(o.Commit), Since: timeView{o.Changed, f.Now}, Signed: timeView{o.Proven, f.Now}, Badge: orderBadge(o)}
		if o.UPID != "" {
			task := f.links.task(o.UPID)
			v.Task = &task
		}
		list = append(list, v)
	}
	return list
}

// Command returns the command that approves the order, "" if none does.
func (v orderView) Command() string {
	if v.Digest == "" {
		return ""
	}
	return approveCommand(v.Digest)
}

func orderBadge(o report.Order) badge {
	b := badge{Tone: idle, Text: o.Word()}
	switch o.State {
	case journal.OrderRun:
		b.Tone = good
	case journal.OrderReleased:
		b.Tone = busy
	case journal.OrderFailed, journal.OrderUnknown:
		b.Tone = bad
	case journal.OrderRefused, journal.OrderExpired:
		b.Tone = warn
	case journal.OrderSeen:
		if o.Why != "" {
			b.Tone = warn
		}
	}
	return b
}
