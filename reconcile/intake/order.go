package intake

import (
	"time"

	"gitops-agent/reconcile/gate"
	"gitops-agent/reconcile/journal"
	"gitops-agent/verify"
)

// newOrders returns the journal records of the new orders in an accepted revision. An order whose signer lacks the role is recorded as
// refused, so that the report can show its outcome. An order that was signed before this journal began is recorded as expired, because it
// may have run while an earlier, lost journal was in use.
func newOrders(rev verify.Revision, memory journal.State) []journal.Body {
	var records []journal.Body
	for _, commit := range rev.Commits() {
		for _, order := range commit.Orders {
			if _, seen := memory.Orders[order.Key]; seen {
				continue
			}
			state, prefix := journal.OrderSeen, gate.ApprovePrefix
			if order.Kind != verify.OrderApprove {
				prefix = gate.RunPrefix
			}
			if !order.Allowed || prefix == gate.RunPrefix {
				state = journal.OrderRefused // an order must not wait forever: one-shot operations are not supported
			}
			// Logs prove times in whole seconds.
			if commit.ProvenTime.Before(memory.Since.Truncate(time.Second)) && state == journal.OrderSeen {
				state = journal.OrderExpired
			}
			records = append(records, journal.Ordered{
				Key: order.Key, Order: prefix + order.Value, Subject: commit.Subject, Issuer: commit.Issuer, Signer: commit.Signer,
				Commit: string(commit.ID), ProvenTime: commit.ProvenTime, State: state,
			})
		}
	}
	return records
}

// renamedApprovals returns the unspent orders whose signer has another name in the present policy, with that name: approvals count people by
// name, older releases recorded none, and a person's names may have become one.
func renamedApprovals(memory journal.State, policy *verify.Policy) []journal.Body {
	var records []journal.Body
	for _, o := range memory.Orders {
		if o.State != journal.OrderSeen {
			continue
		}
		if name := policy.SignerName(o.Issuer, o.Subject, o.ProvenTime); name != "" && name != o.Signer {
			renamed := o.Ordered
			renamed.Signer = name
			records = append(records, renamed)
		}
	}
	return records
}

// voidOrders expires every order that an older local state still contains as unspent: the order may have run after that state was saved.
func voidOrders(memory journal.State) []journal.Body {
	return memory.ExpiredOrders(func(o journal.Order) bool { return o.State == journal.OrderSeen || o.State == journal.OrderReleased })
}
