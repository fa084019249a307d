package plan

import (
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/kinds"
	"gitops-agent/reconcile/reason"
)

// withoutUnread makes every guest and object unknown that has no record in a journal that was not read in full: the agent may own it, and may have done
// since what the plan would do.
func withoutUnread(p Plan, want Desired) Plan {
	if want.Unread == nil {
		return p
	}
	for i, g := range p.Guests {
		if !hasRecord(want, g) {
			p.Guests[i] = Guest{
				Ref: g.Ref, Node: g.Node, Wave: g.Wave, Origin: g.Origin, Managed: g.Managed, Present: g.Present, ReadAt: g.ReadAt,
				Conditions: []Condition{{
					Type: NotObserved, Reason: reason.WritesStopped, Message: "the journal was not read in full, so it is unknown whether the agent owns it: " + want.Unread.Error(),
				}},
			}
		}
	}
	return p
}

// hasRecord reports whether the records show that the agent owns a guest or an object. An Image that is as wanted needs no other record.
func hasRecord(want Desired, g Guest) bool {
	if g.Ref.Kind.IsGuest() {
		_, isOwned := want.Owned[g.Ref.VMID]
		return isOwned
	}
	if _, isObject := kinds.Of(g.Ref.Kind); !isObject {
		return g.Empty()
	}
	for id, owned := range want.Objects.Owned {
		if guest.Kind(id.Kind) == g.Ref.Kind && refOf(owned) == g.Ref {
			return true
		}
	}
	return false
}
