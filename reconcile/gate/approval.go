package gate

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"gitops-agent/reconcile/journal"
	"gitops-agent/verify/role"
)

// OrderLifetime is how long a signed order stays valid, counted from its proven time.
const OrderLifetime = 7 * 24 * time.Hour

// Approvals are the signed approvals that were accepted and are not spent, by step digest. Approvals of signers without the role are among them:
// they never count, and the report shows them.
type Approvals map[string][]Approval

// Approval is one signed Gitops-Approve order.
type Approval struct {
	Key       string // of the order: SHA-256 of the signed payload, and its position
	Person    string // name of the signer in the trust policy; "" if an older release recorded the order without it
	Subject   string // of the certificate
	LacksRole bool   // the signer may not approve
	Ignored   string // why its commit may give no orders, "" if it may
	Proven    time.Time

	Entry         string   // of the signer in the trust policy; "" if an older release recorded the order
	Guests, Paths []string // the scope of the entry when the order was accepted; none for everything
}

func (a Approval) signature() signature {
	return signature{"approve", a.Person, a.Entry, a.Proven, a.Guests, a.Paths}
}

// UncountedReason is why an approval does not count.
type UncountedReason string

// Reasons why an approval does not count.
const (
	UncountedRole      UncountedReason = "role"        // the signer lacks the role approve
	UncountedDuplicate UncountedReason = "same-person" // the person approved the step already
	UncountedAuthor    UncountedReason = "author"      // the person introduced the step, and the policy asks for another one
	UncountedScope     UncountedReason = "scope"       // the step reaches something outside of the guests or paths of the signer
	UncountedIgnored   UncountedReason = "commit"      // its commit may give no orders, such as one that changes files
)

// Uncounted is an approval that names a held step and does not count.
type Uncounted struct {
	Reason  UncountedReason `json:"reason"`
	Signer  string          `json:"signer,omitempty"` // name in the trust policy
	Subject string          `json:"subject"`
	Message string          `json:"message"` // for people
}

// Tally is what the approvals of a step amount to.
type Tally struct {
	Keys      []string // of the orders that the step spends, sorted
	People    int      // who signed them, each counted once
	Uncounted []Uncounted
}

// NewApprovals collects the unspent approvals of the journal.
func NewApprovals(orders map[string]journal.Order) Approvals {
	list := make(Approvals)
	for key, o := range orders {
		digest, ok := ApprovedDigest(o.Order)
		if !ok || o.State != journal.OrderSeen && o.State != journal.OrderRefused {
			continue
		}
		list[digest] = append(list[digest], Approval{
			Key: key, Person: o.Signer, Subject: o.Subject, LacksRole: o.State == journal.OrderRefused && o.Why == "", Ignored: o.Why, Proven: o.ProvenTime,
			Entry: o.Entry, Guests: o.Guests, Paths: o.Paths,
		})
	}
	return list
}

// For returns what the valid approvals of a step amount to. Approvals of the people in excluded do not count, nor those for which outside returns why the step is outside
// of the scope of their signer. Approvals count people: a name in the trust policy counts once, regardless of the
// identities under which the person signed. Approvals without a name may all be from one person, also from one whose name is known.
func (a Approvals) For(digest string, now time.Time, excluded map[string]bool, outside func(Approval) string) Tally {
	valid := slices.DeleteFunc(slices.Clone(a[digest]), func(a Approval) bool { return !now.Before(a.Proven.Add(OrderLifetime)) })
	slices.SortFunc(valid, func(a, b Approval) int { return cmp.Or(a.Proven.Compare(b.Proven), cmp.Compare(a.Key, b.Key)) })
	var t Tally
	seen := make(map[string]bool)
	for _, approval := range valid {
		if approval.Ignored != "" {
			t.Uncounted = append(t.Uncounted, approval.uncounted(UncountedIgnored, approval.Ignored))
			continue
		}
		if approval.LacksRole {
			t.Uncounted = append(t.Uncounted, approval.uncounted(UncountedRole, role.Missing(approval.Person, nil, "approve")))
			continue
		}
		if why := outside(approval); why != "" {
			t.Uncounted = append(t.Uncounted, approval.uncounted(UncountedScope, why))
			continue
		}
		if excluded[approval.Person] || approval.Person == "" && len(excluded) > 0 {
			who := cmp.Or(approval.Person, "its signer may have")
			t.Uncounted = append(t.Uncounted, approval.uncounted(UncountedAuthor, who+" introduced the step, and trust.guards.separateApprover is true"))
			continue
		}
		t.Keys = append(t.Keys, approval.Key)
		if seen[approval.Person] {
			t.Uncounted = append(t.Uncounted, approval.uncounted(UncountedDuplicate, cmp.Or(approval.Person, "the same person")+" has approved the step already"))
		}
		seen[approval.Person] = true
	}
	slices.Sort(t.Keys)
	t.People = len(seen)
	if seen[""] && len(seen) > 1 {
		t.People--
	}
	return t
}

func (a Approval) uncounted(reason UncountedReason, why string) Uncounted {
	return Uncounted{Reason: reason, Signer: a.Person, Subject: a.Subject, Message: fmt.Sprintf("approval by %s does not count: %s", a.Subject, why)}
}
