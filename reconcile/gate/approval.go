package gate

import (
	"sort"
	"time"

	"gitops-agent/reconcile/journal"
)

// OrderLifetime is how long a signed order stays valid, counted from its proven time.
const OrderLifetime = 7 * 24 * time.Hour

// Approvals are the signed approvals that were accepted and are not spent, by step digest.
type Approvals map[string][]Approval

// Approval is one signed Gitops-Approve order.
type Approval struct {
	Key    string // of the order: SHA-256 of the signed payload, and its position
	Person string // issuer and subject of the signer
	Proven time.Time
}

// NewApprovals collects the unspent approvals of the journal.
func NewApprovals(orders map[string]journal.Order) Approvals {
	list := make(Approvals)
	for key, o := range orders {
		if digest, ok := approvedDigest(o.Order); ok && o.State == journal.OrderSeen {
			list[digest] = append(list[digest], Approval{Key: key, Person: o.Issuer + " " + o.Subject, Proven: o.ProvenTime})
		}
	}
	return list
}

// For returns the keys of the valid approvals of a step, sorted, and the number of distinct people who signed them.
func (a Approvals) For(digest string, now time.Time) (keys []string, people int) {
	seen := make(map[string]bool)
	for _, approval := range a[digest] {
		if now.Before(approval.Proven.Add(OrderLifetime)) {
			keys = append(keys, approval.Key)
			seen[approval.Person] = true
		}
	}
	sort.Strings(keys)
	return keys, len(seen)
}
