package gate

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gitops-agent/reconcile/journal"
)

func TestApprovalsFor(t *testing.T) {
	now := time.Date(2026, 3, 8, 12, 0, 0, 0, time.UTC)
	approval := func(subject string, age time.Duration, state journal.OrderState) journal.Order {
		return journal.Order{Ordered: journal.Ordered{
			Order: ApprovePrefix + "d1", Subject: subject, Issuer: "https://issuer.test", ProvenTime: now.Add(-age), State: state,
		}}
	}
	otherIssuer := approval("olga", time.Hour, journal.OrderSeen)
	otherIssuer.Issuer = "https://other.test"
	otherStep := approval("olga", time.Hour, journal.OrderSeen)
	otherStep.Order = ApprovePrefix + "d2"
	run := approval("olga", time.Hour, journal.OrderSeen)
	run.Order = RunPrefix + "d1"
	seen := approval("olga", time.Hour, journal.OrderSeen)
	tests := map[string]struct {
		orders map[string]journal.Order
		keys   []string
		people int
	}{
		"none":               {},
		"one":                {map[string]journal.Order{"k": seen}, []string{"k"}, 1},
		"two_people":         {map[string]journal.Order{"k2": seen, "k1": approval("pia", 0, journal.OrderSeen)}, []string{"k1", "k2"}, 2},
		"one_person_twice":   {map[string]journal.Order{"k1": seen, "k2": approval("olga", 0, journal.OrderSeen)}, []string{"k1", "k2"}, 1},
		"one_name_elsewhere": {map[string]journal.Order{"k1": seen, "k2": otherIssuer}, []string{"k1", "k2"}, 2},
		"another_step":       {map[string]journal.Order{"k": otherStep}, nil, 0},
		"no_approval":        {map[string]journal.Order{"k": run}, nil, 0},
		"spent":              {map[string]journal.Order{"k": approval("olga", 0, journal.OrderRun)}, nil, 0},
		"outcome_unknown":    {map[string]journal.Order{"k": approval("olga", 0, journal.OrderUnknown)}, nil, 0},
		"refused":            {map[string]journal.Order{"k": approval("olga", 0, journal.OrderRefused)}, nil, 0},
		"expired":            {map[string]journal.Order{"k": approval("olga", OrderLifetime, journal.OrderSeen)}, nil, 0},
		"about_to_expire":    {map[string]journal.Order{"k": approval("olga", OrderLifetime-1, journal.OrderSeen)}, []string{"k"}, 1},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			keys, people := NewApprovals(test.orders).For("d1", now)
			if diff := cmp.Diff(test.keys, keys); diff != "" || people != test.people {
				t.Errorf("got %d people, want %d; keys differ (-want +got):\n%s", people, test.people, diff)
			}
		})
	}
}
