package journal_test

import (
	"reflect"
	"testing"

	"gitops-agent/reconcile/journal"
)

// TestSpentOrders checks that a step uses each order up once, and that expiring leaves other orders alone.
func TestSpentOrders(t *testing.T) {
	t.Parallel()
	state := journal.State{Orders: map[string]journal.Order{
		"a": {Ordered: journal.Ordered{Key: "a", Signer: "pia", State: journal.OrderSeen}},
		"b": {Ordered: journal.Ordered{Key: "b", Signer: "olga", State: journal.OrderSeen}},
	}}
	spent := state.SpentOrders([]string{"a", "b", "a"}, journal.OrderUnknown, "step")
	want := []journal.Ordered{
		{Key: "a", Signer: "pia", State: journal.OrderUnknown, Step: "step"}, {Key: "b", Signer: "olga", State: journal.OrderUnknown, Step: "step"},
	}
	if len(spent) != len(want) || !reflect.DeepEqual(spent[0], journal.Body(want[0])) || !reflect.DeepEqual(spent[1], journal.Body(want[1])) {
		t.Errorf("got %+v, want %+v", spent, want)
	}
	expired := state.ExpiredOrders("", func(o journal.Order) bool { return o.Signer == "pia" })
	if first := (journal.Ordered{Key: "a", Signer: "pia", State: journal.OrderExpired}); len(expired) != 1 || !reflect.DeepEqual(expired[0], journal.Body(first)) {
		t.Errorf("got %+v, want %+v", expired, first)
	}
	if state.Orders["a"].State != journal.OrderSeen {
		t.Errorf("got state %s, want the folded state unchanged", state.Orders["a"].State)
	}
}
