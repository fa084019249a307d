package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"reflect"
	"slices"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/edge"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/kind"
	"gitops-agent/reconcile/kinds"
	"gitops-agent/reconcile/object"
	"gitops-agent/reconcile/reason"
)

// managesContent reports whether the manifest describes the list that the object contains.
func (o objectPlan) managesContent() bool {
	if o.kind.Content == nil {
		return false
	}
	_, managed := o.desired.Text(o.kind.Content.Key)
	return managed
}

// contentDiffers reports whether the list that the object contains differs from the wanted one.
func (o objectPlan) contentDiffers() bool {
	return o.managesContent() && len(o.kind.Content.Changes(o.desired, o.live)) > 0
}

// contentChanges notes what differs in the list that the object contains.
func (o objectPlan) contentChanges() {
	if o.managesContent() {
		o.Changes = append(o.Changes, o.kind.Content.Changes(o.desired, o.live)...)
	}
}

// contentStep adds the step with the next call about an item of the object. The following calls are planned from new readings.
func (o objectPlan) contentStep() {
	if !o.managesContent() {
		return
	}
	content := o.kind.Content
	if content.Unsafe != nil {
		if why := content.Unsafe(o.desired, o.live); why != "" {
			o.Conditions = append(o.Conditions, Condition{
				Type: Blocked, Reason: reason.Impossible, Message: why, Hint: reason.SeveralCommits.Text,
			})
			return
		}
	}
	next, more := content.Next(o.desired, o.live)
	if !more {
		return
	}
	loses, whole := o.contentWeakenings(next)
	o.Steps = append(o.Steps, Step{
		Guest: o.Ref, Op: cluster.OpObjectSet, Class: guest.Live, Changes: o.Changes, Calls: []cluster.Call{next.Call}, Reason: "its " + content.Key + " differ from its manifest", File: o.desired.Origin.File,
		Object: &ObjectStep{
			ID: o.desired.ID, Identity: o.owned.Identity, Observe: o.desired.Observe, Seen: &o.live, Effect: map[string]string{content.Key: next.After}, Fills: true, Whole: whole,
			Guarded: changedGuardKeys(o.kind, o.contentChange()), Reaches: o.kind.ReachedBy(o.desired, o.live), Forces: o.kind.ForcedBy(o.desired, o.live),
		},
		Loses: loses,
	})
}

// contentChange returns the change of the whole list that the object contains.
func (o objectPlan) contentChange() kind.Change {
	content := o.kind.Content
	return kind.Change{
		Op: cluster.OpObjectSet, ID: o.desired.ID, Got: o.live, Set: map[string]string{content.Key: content.Final(o.desired, o.live)}, Agreed: sureTexts(o.owned),
	}
}

// ContentChange is the change of a list that an object contains, of which a step makes the next call. One approval covers all of its calls: it names the list at the
// end, which stays the same from call to call, and the guests that the list concerns. In between, the list admits what it did before or shall at the end.
type ContentChange struct {
	Final    string      // the list after all calls
	Concerns []guest.Ref // the guests with guards, sorted
	Goes     bool        // a later call takes something from guests too, so the approval stays valid after this one
}

// contentWeakenings returns what the whole change of the list takes from guests with guards, and what an approval of it names. Both are empty if it takes nothing.
func (o objectPlan) contentWeakenings(next kind.ItemCall) ([]kind.Weakening, *ContentChange) {
	if !mayWeaken(o.kind, o.want.Objects) {
		return nil, nil
	}
	content := o.kind.Content
	change := o.contentChange()
	final := change.Set[content.Key]
	loses := func(from cluster.Object) []kind.Weakening {
		change := change
		change.Got = from
		return weakenings(o.kind, change, o.want, o.got)
	}
	now := loses(o.live)
	if len(now) == 0 {
		return nil, nil
	}
	after := o.live
	after.Keys = maps.Clone(o.live.Keys)
	after.Keys[content.Key] = next.After
	return now, &ContentChange{Final: final, Concerns: o.guardedBy(), Goes: len(loses(after)) > 0}
}

// guardedBy returns the guests with guards that depend on the object, sorted.
func (o objectPlan) guardedBy() []guest.Ref {
	world := around(o.kind, o.desired.ID, o.want, o.got)
	guards := edge.New(o.kind.EdgesOf(kind.Want{Desired: o.desired, Live: o.live}, world))
	var refs []guest.Ref
	reached := o.kind.ReachedBy(o.desired, o.live)
	for _, g := range world.Guests {
		pool := kind.PlaceOf(g.VMID, o.got).Pool
		isReached := func(to object.Key) bool { return edge.IsAt(to, g.VMID, pool) }
		switch {
		case o.kind.Guard != "" && g.Has(o.kind.Guard) && slices.ContainsFunc(reached, isReached):
			refs = append(refs, g.Ref)
		default:
			for range guards.From(object.Guest(g.VMID), edge.Guards) {
				refs = append(refs, g.Ref)
			}
		}
	}
	return refs
}

// NewListChange returns what identifies the change of the list of an object to a final list.
func NewListChange(of guest.Kind, id, final string) journal.ListChange {
	sum := sha256.Sum256([]byte(final))
	return journal.ListChange{Kind: string(of), ID: id, Final: hex.EncodeToString(sum[:])}
}

// HasListChangeEnded reports whether a change of a list has ended: the manifests want another list or none, or the list is as it was to become. An object that was not read, or that
// does not exist, does not show that.
func HasListChangeEnded(change journal.ListChange, wanted []kind.Desired, read cluster.Objects) bool {
	at := slices.IndexFunc(wanted, func(d kind.Desired) bool { return objectID(d) == change.Object() })
	if at < 0 {
		return true
	}
	k, known := kinds.Of(wanted[at].Kind)
	if !known {
		return false
	}
	o := objectPlan{kind: k, desired: wanted[at]}
	if !o.managesContent() {
		return true
	}
	var exists bool
	if o.live, exists = read.ByID[change.ID]; !exists {
		return false
	}
	return NewListChange(o.desired.Kind, o.desired.ID, k.Content.Final(o.desired, o.live)) != change || !o.contentDiffers()
}

// KeepsApprovals reports whether the approvals that release the step release a later one too.
func (s Step) KeepsApprovals() bool {
	return s.Object != nil && s.Object.Whole != nil && s.Object.Whole.Goes
}

// removalCalls returns the calls of a removal, and the content of the object after each of them but the last one.
func removalCalls(k *kind.Kind, c kind.Change) (calls []cluster.Call, emptied []string) {
	if k.Content != nil && k.Content.Empty != nil {
		for _, item := range k.Content.Empty(c.Got) {
			calls, emptied = append(calls, item.Call), append(emptied, item.After)
		}
	}
	return append(calls, objectCalls(k, c)...), emptied
}

// IsAboutItem reports whether the step makes calls about items of an object.
func (s Step) IsAboutItem() bool { return len(s.Calls) > 0 && s.Calls[0].IsAboutItem() }

// FillsObject reports whether calls about items of an object follow from the step, which adopts the object or sets its keys, or are made by it.
func (s Step) FillsObject() bool { return s.Object != nil && s.Object.Fills }

// IsEmptiedTo reports whether a live object has what the calls of a removal before one of its calls have left of it. It is true for other steps.
func (s Step) IsEmptiedTo(live cluster.Object, call cluster.Call) bool {
	if len(s.Object.Emptied) == 0 {
		return true
	}
	at := slices.IndexFunc(s.Calls, func(c cluster.Call) bool { return reflect.DeepEqual(c, call) })
	return at > 0 && live.Keys[s.Object.Content] == s.Object.Emptied[at-1]
}
