package gate

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/order"
)

func TestApprovalsFor(t *testing.T) {
	now := time.Date(2026, 3, 8, 12, 0, 0, 0, time.UTC)
	approval := func(signer, subject string, age time.Duration, state journal.OrderState) journal.Order {
		return journal.Order{Ordered: journal.Ordered{
			Order: ApprovePrefix + "d1", Signer: signer, Subject: subject + "@lab.test", Issuer: "https://issuer.test", ProvenTime: now.Add(-age), State: state,
		}}
	}
	seen := approval("olga", "olga", time.Hour, journal.OrderSeen)
	otherStep := seen
	otherStep.Order = ApprovePrefix + "d2"
	run := seen
	run.Order = order.RunPrefix + "d1"
	elsewhere := approval("olga", "olga", 0, journal.OrderSeen)
	elsewhere.Issuer = "https://other.test"
	oldSeen, oldOther := approval("", "olga", time.Hour, journal.OrderSeen), approval("", "pia", 0, journal.OrderSeen)
	type orders = map[string]journal.Order
	twice := []Uncounted{{UncountedDuplicate, "olga", "olga@lab.test", "approval by olga@lab.test does not count: olga has approved the step already"}}
	alias := []Uncounted{{UncountedDuplicate, "olga", "OLGA@lab.test", "approval by OLGA@lab.test does not count: olga has approved the step already"}}
	old := []Uncounted{{UncountedDuplicate, "", "pia@lab.test", "approval by pia@lab.test does not count: the same person has approved the step already"}}
	author := []Uncounted{{UncountedAuthor, "olga", "olga@lab.test", "approval by olga@lab.test does not count: olga introduced the step, and trust.guards.separateApprover is true"}}
	role := []Uncounted{{UncountedRole, "ops", "pia@lab.test", "approval by pia@lab.test does not count: the entry ops of trust.signers lacks the role approve, which takes may: [..., approve]"}}
	oldRole := []Uncounted{{UncountedRole, "", "pia@lab.test", "approval by pia@lab.test does not count: its signer lacks the role approve, which takes may: [..., approve]"}}
	tests := map[string]struct {
		orders orders
		want   Tally
		author string
	}{
		"none":                  {},
		"one":                   {orders{"k": seen}, Tally{Keys: []string{"k"}, People: 1}, ""},
		"two_people":            {orders{"k2": seen, "k1": approval("pia", "pia", 0, journal.OrderSeen)}, Tally{Keys: []string{"k1", "k2"}, People: 2}, ""},
		"one_person_twice":      {orders{"k1": seen, "k2": approval("olga", "olga", 0, journal.OrderSeen)}, Tally{[]string{"k1", "k2"}, 1, twice}, ""},
		"one_person_two_forms":  {orders{"k1": seen, "k2": approval("olga", "OLGA", 0, journal.OrderSeen)}, Tally{[]string{"k1", "k2"}, 1, alias}, ""},
		"one_person_elsewhere":  {orders{"k1": seen, "k2": elsewhere}, Tally{[]string{"k1", "k2"}, 1, twice}, ""},
		"older_records":         {orders{"k1": oldSeen, "k2": oldOther}, Tally{[]string{"k1", "k2"}, 1, old}, ""},
		"older_record_and_name": {orders{"k1": seen, "k2": oldOther}, Tally{Keys: []string{"k1", "k2"}, People: 1}, ""},
		"older_record_alone":    {orders{"k1": oldSeen}, Tally{Keys: []string{"k1"}, People: 1}, ""},
		"author":                {orders{"k": seen}, Tally{Uncounted: author}, "olga"},
		"another_author":        {orders{"k": seen}, Tally{Keys: []string{"k"}, People: 1}, "pia"},
		"another_step":          {orders{"k": otherStep}, Tally{}, ""},
		"no_approval":           {orders{"k": run}, Tally{}, ""},
		"spent":                 {orders{"k": approval("olga", "olga", 0, journal.OrderRun)}, Tally{}, ""},
		"outcome_unknown":       {orders{"k": approval("olga", "olga", 0, journal.OrderUnknown)}, Tally{}, ""},
		"without_the_role":      {orders{"k": approval("ops", "pia", 0, journal.OrderRefused)}, Tally{Uncounted: role}, ""},
		"without_the_role_old":  {orders{"k": approval("", "pia", 0, journal.OrderRefused)}, Tally{Uncounted: oldRole}, ""},
		"expired_role":          {orders{"k": approval("ops", "pia", OrderLifetime, journal.OrderRefused)}, Tally{}, ""},
		"expired":               {orders{"k": approval("olga", "olga", OrderLifetime, journal.OrderSeen)}, Tally{}, ""},
		"about_to_expire":       {orders{"k": approval("olga", "olga", OrderLifetime-1, journal.OrderSeen)}, Tally{Keys: []string{"k"}, People: 1}, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var excluded map[string]bool
			if test.author != "" {
				excluded = map[string]bool{test.author: true}
			}
			if diff := cmp.Diff(test.want, NewApprovals(test.orders).For("d1", now, excluded, func(Approval) string { return "" })); diff != "" {
				t.Errorf("tally (-want +got):\n%s", diff)
			}
		})
	}
}
