package intake

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"gitops-agent/gitsource"
	"gitops-agent/reconcile/gate"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/order"
	"gitops-agent/reconcile/rollout"
	"gitops-agent/verify"
	"gitops-agent/verify/role"
)

// newOrders returns the journal records of the new orders in an accepted revision, whose guests are those of the scope. An order whose signer lacks the role, and a one-shot
// operation that is refused, are recorded as refused, so that the report can show the outcome. An order that was signed before this journal began is
// recorded as expired, because it may have run while an earlier, lost journal was in use.
func newOrders(rev verify.Revision, memory journal.State, scope gate.Scope) []journal.Body {
	var records []journal.Body
	for _, commit := range rev.Commits() {
		if o, isIgnored := ignoredOrder(commit); isIgnored {
			if _, seen := memory.Orders[o.Key]; !seen {
				records = append(records, o)
			}
		}
		for _, o := range commit.Orders {
			if _, seen := memory.Orders[o.Key]; seen {
				continue
			}
			ordered := journal.Ordered{
				Key: o.Key, Order: gate.ApprovePrefix + o.Value, Subject: commit.Subject, Issuer: commit.Issuer, Signer: commit.Signer,
				Commit: string(commit.ID), ProvenTime: commit.ProvenTime, State: journal.OrderSeen,
				Entry: commit.Entry, Guests: commit.Guests, Paths: commit.Paths,
			}
			switch {
			case o.Kind != verify.OrderApprove:
				ordered = newRun(ordered, o, commit, memory, scope)
			case !o.Allowed:
				ordered.State = journal.OrderRefused
			case gate.MalformedApproval(o.Value) != "":
				ordered.State, ordered.Why = journal.OrderRefused, gate.MalformedApproval(o.Value)
			}
			// Logs prove times in whole seconds.
			if commit.ProvenTime.Before(memory.Since.Truncate(time.Second)) && ordered.State == journal.OrderSeen {
				ordered.State = journal.OrderExpired
			}
			records = append(records, ordered)
		}
	}
	return records
}

// ignoredOrder returns the record of an order that is refused because its commit may give none, and whether there is one: the commit changes files as well, or
// the order is not where orders are. The revision is accepted without it, and the person who signed it waits for an effect.
func ignoredOrder(commit verify.SignedCommit) (journal.Ordered, bool) {
	if commit.Mention == "" || len(commit.Orders) > 0 || commit.Ignored == "" {
		return journal.Ordered{}, false
	}
	return journal.Ordered{
		Key: fmt.Sprintf("%x:0", commit.PayloadDigest), Order: commit.Mention, Subject: commit.Subject, Issuer: commit.Issuer, Signer: commit.Signer, Commit: string(commit.ID),
		ProvenTime: commit.ProvenTime, State: journal.OrderRefused, Why: commit.Ignored + "; " + verify.OrderAlone,
	}, true
}

// newRun returns the record of a new one-shot operation: the guest that it means from now on, or why it is refused.
func newRun(ordered journal.Ordered, o verify.Order, commit verify.SignedCommit, memory journal.State, scope gate.Scope) journal.Ordered {
	ordered.Order = order.RunPrefix + o.Value
	ordered.Limited = len(commit.Guests) > 0
	if rollout.IsOrder(o.Value) {
		return newRolloutOrder(ordered, o, commit, memory, scope)
	}
	r, err := order.Parse(o.Value)
	switch {
	case !o.Allowed:
		ordered.Why = role.Missing(commit.Signer, commit.Roles, verify.RoleOperate)
	case o.Problem != "":
		ordered.Why = o.Problem
	case err != nil:
		ordered.Why = err.Error()
	default:
		var d *guest.Desired
		d, ordered.Why = order.Check(r, scope.Guests, memory)
		if ordered.Why == "" {
			ordered.VMID, ordered.Identity = d.VMID, memory.Owned[d.VMID].Identity
			ordered.Why = scope.Order(ordered, d.Ref)
		}
	}
	if ordered.Why != "" {
		ordered.State = journal.OrderRefused
	}
	return ordered
}

// newRolloutOrder returns the record of a new order about a rollout, or why it is refused. The signer may touch every guest of the rollout.
func newRolloutOrder(ordered journal.Ordered, o verify.Order, commit verify.SignedCommit, memory journal.State, scope gate.Scope) journal.Ordered {
	r, err := rollout.ParseOrder(o.Value)
	switch {
	case !o.Allowed:
		ordered.Why = role.Missing(commit.Signer, commit.Roles, verify.RoleOperate)
	case o.Problem != "":
		ordered.Why = o.Problem
	case err != nil:
		ordered.Why = err.Error()
	default:
		ordered.Why = cmp.Or(rollout.Refuse(r, memory.Rollouts), scope.Order(ordered, rollout.Guests(r.Name, memory.Staged)...))
	}
	if ordered.Why != "" {
		ordered.State = journal.OrderRefused
	}
	return ordered
}

// renamedApprovals returns the unspent orders whose signer has another name in the present policy, with that name: approvals count people by
// name, older releases recorded none, and a person's names may have become one. It does the same for the entry of a signer, by which the present policy narrows the scope at the acceptance.
// An order of an older release gets the present scope of its signer.
func renamedApprovals(memory journal.State, policy *verify.Policy) []journal.Body {
	var records []journal.Body
	entries := policy.Limits()
	for _, o := range memory.Orders {
		if o.State != journal.OrderSeen {
			continue
		}
		renamed, changed := o.Ordered, false
		if name := policy.SignerName(o.Issuer, o.Subject, o.ProvenTime); name != "" && name != o.Signer {
			renamed.Signer, changed = name, true
		}
		if len(entries[o.Entry]) == 0 {
			if signer, found := policy.SignerOf(o.Issuer, o.Subject, o.ProvenTime); found {
				renamed.Entry, changed = signer.Entry(), true
				if o.Entry == "" {
					renamed.Guests, renamed.Paths = signer.Guests, signer.Paths
				}
			}
		}
		if changed {
			records = append(records, renamed)
		}
	}
	return records
}

// knownOrders returns the records that bring the orders of the journal in line with the present policy.
func (in *Intake) knownOrders(ctx context.Context, memory journal.State, policy *verify.Policy) []journal.Body {
	denied := func(id gitsource.ID) error { return policy.Denied(ctx, in.source.Repository(), id) }
	return append(renamedApprovals(memory, policy), deniedOrders(memory, denied)...) // the last record of an order counts
}

// deniedOrders expires the unspent orders whose commit is on the deny list of the present policy.
func deniedOrders(memory journal.State, denied func(gitsource.ID) error) []journal.Body {
	return memory.ExpiredOrders("its commit is on trust.deny", func(o journal.Order) bool {
		return o.State == journal.OrderSeen && denied(gitsource.ID(o.Commit)) != nil
	})
}

// voidOrders expires every order that an older local state still contains as unspent: the order may have run after that state was saved.
func voidOrders(memory journal.State) []journal.Body {
	return memory.ExpiredOrders("the state directory was older than the floor in the cluster, so it may have been used", func(o journal.Order) bool { return o.State.IsOpen() })
}
