package reconcile

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gitops-agent/reconcile/gate"
	"gitops-agent/reconcile/journal"
)

func TestExpiredOrders(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 8, 12, 0, 0, 0, time.UTC)
	order := func(age time.Duration, state journal.OrderState) journal.Order {
		return journal.Order{Ordered: journal.Ordered{Key: "k", Subject: "olga", ProvenTime: now.Add(-age), State: state}}
	}
	for name, test := range map[string]struct {
		order journal.Order
		want  []journal.Body
	}{
		"fresh":         {order: order(gate.OrderLifetime-1, journal.OrderSeen)},
		"a_week_old":    {order: order(gate.OrderLifetime, journal.OrderSeen), want: []journal.Body{order(gate.OrderLifetime, journal.OrderExpired).Ordered}},
		"run_long_ago":  {order: order(2*gate.OrderLifetime, journal.OrderRun)},
		"expired_known": {order: order(2*gate.OrderLifetime, journal.OrderExpired)},
	} {
		got := expiredOrders(journal.State{Orders: map[string]journal.Order{"k": test.order}}, now)
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s: records differ (-want +got):\n%s", name, diff)
		}
	}
}
