package order

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"gitops-agent/reconcile/journal"
)

// Open is an order that was accepted and is not final, or what the schedule of a manifest asks for.
type Open struct {
	Request
	journal.Order            // without a signer, a commit and a state if Scheduled is set
	Scheduled     *Scheduled // nil for a signed order
}

// NeedSnapshots returns the vmids of the guests whose snapshots an open order needs; nil if there are none.
func NeedSnapshots(open map[int][]Open) map[int]bool {
	var vmids map[int]bool
	for vmid, orders := range open {
		if !slices.ContainsFunc(orders, func(o Open) bool { return o.Op.NeedsSnapshots() }) {
			continue
		}
		if vmids == nil {
			vmids = make(map[int]bool)
		}
		vmids[vmid] = true
	}
	return vmids
}

// OpenOrders returns the one-shot operations of the journal that have not begun and were proven after a time, by the vmid of their guest, the oldest first.
func OpenOrders(state journal.State, after time.Time) map[int][]Open {
	var list map[int][]Open
	for _, o := range state.Orders {
		text, isRun := strings.CutPrefix(o.Order, RunPrefix)
		if !isRun || o.State != journal.OrderSeen || o.VMID == 0 || !o.ProvenTime.After(after) {
			continue
		}
		r, err := Parse(text)
		if err != nil {
			continue // another release accepted it; the order expires
		}
		r.Guest.VMID = o.VMID
		if list == nil {
			list = make(map[int][]Open)
		}
		list[o.VMID] = append(list[o.VMID], Open{Request: r, Order: o})
	}
	for _, orders := range list {
		slices.SortFunc(orders, func(a, b Open) int {
			return cmp.Or(a.ProvenTime.Compare(b.ProvenTime), cmp.Compare(a.Commit, b.Commit), cmp.Compare(a.Key, b.Key))
		})
	}
	return list
}
