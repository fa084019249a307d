package plan

import (
	"fmt"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/kind"
	"gitops-agent/reconcile/kinds"
	"gitops-agent/reconcile/reason"
)

// planObjectRemoval plans an owned object that no manifest describes any more. It needs record and marker; without the marker the engine gives up the
// record, and the object stays.
func planObjectRemoval(want Desired, owned journal.OwnedObject, got cluster.Snapshot) Guest {
	p := Guest{Ref: refOf(owned)}
	k, known := kinds.Of(p.Ref.Kind)
	live, exists, doubt := readObject(p.Ref.Kind, owned.ID, got)
	switch {
	case want.NoRevision:
		p.Conditions = append(p.Conditions, Condition{
			Type: NotObserved, Reason: reason.WritesStopped, Message: "no revision is in force, so the wanted state of this object is unknown",
		})
		return p
	case !known:
		p.Conditions = append(p.Conditions, Condition{Type: NotObserved, Reason: reason.NotObserved, Message: "this release does not know its kind"})
		return p
	case doubt != nil:
		p.Conditions = append(p.Conditions, *doubt)
		return p
	case !exists || !IsOwnedObject(k, owned, live):
		return p
	case k.Leaving(live) != "":
		p.Present, p.ReadAt = true, got.Objects[p.Ref.Kind].ReadAt
		p.Conditions = append(p.Conditions, leavingCondition(k, owned.ID, live))
		return p
	}
	p.Present, p.ReadAt = true, got.Objects[p.Ref.Kind].ReadAt
	p.Conditions = append(p.Conditions, Condition{Type: Orphaned, Reason: reason.LeftOver, Message: fmt.Sprintf("no manifest describes the %s %s any more", k.Noun, owned.ID)})
	if by, isKept := k.KeptBy(owned.ID, kind.World{Observed: got}); isKept {
		p.Conditions = append(p.Conditions, Condition{Type: Blocked, Reason: reason.InUse, Message: fmt.Sprintf("the %s %s is not removed: %s", k.Noun, owned.ID, by.Text)})
		return p
	}
	c := kind.Change{Op: cluster.OpObjectRemove, ID: owned.ID, Got: live}
	calls, emptied := removalCalls(k, c)
	p.Steps = append(p.Steps, Step{
		Guest: p.Ref, Op: c.Op, Class: guest.Destructive, Calls: calls, Reason: "removed from the repository",
		Object: &ObjectStep{ID: owned.ID, Identity: owned.Identity, Seen: &live, Destroy: guest.Permission(owned.Destroy), Emptied: emptied, Content: k.ContentKey(), Reaches: k.ReachedBy(kind.Desired{Kind: k.Name, ID: owned.ID}, live)}, Loses: weakenings(k, c, want, got),
	})
	return p
}

func leavingCondition(k *kind.Kind, id string, live cluster.Object) Condition {
	return Condition{Type: Blocked, Reason: reason.Locked, Message: fmt.Sprintf("the %s %s is being removed: %s", k.Noun, id, k.Leaving(live))}
}
