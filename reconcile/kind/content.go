package kind

import (
	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
)

// Content describes a list within the objects of a kind that Proxmox changes by one call for each item: the rules of a security group. Its text is that of one
// key of a cluster.Object and of a Desired, in a canonical form of the kind. No call sets this key: each call about an item is a step of its own, which is planned
// from a new reading. The functions are pure.
type Content struct {
	Key string
	// Changes returns how the list of a live object differs from the wanted one, for people. It is empty exactly if Next returns no call.
	Changes func(d Desired, live cluster.Object) []guest.Change
	// Next returns the next call about an item of a live object, and false if nothing differs.
	Next func(d Desired, live cluster.Object) (ItemCall, bool)
	// Final returns the list after all calls that follow from Next.
	Final func(d Desired, live cluster.Object) string
	// Unsafe returns why no order of calls is safe, "" if Next has one. Nothing is changed then.
	Unsafe func(d Desired, live cluster.Object) string
	// Empty returns the calls that remove all items, since Proxmox refuses to remove an object that has some. Nil if it does not.
	Empty func(live cluster.Object) []ItemCall
}

// ItemCall is a call about one item, with the operation object-set, and the text of the list after it.
type ItemCall struct {
	Call  cluster.Call
	After string
}

// ContentKey returns the key of the list that objects of the kind contain, "" if there is none.
func (k *Kind) ContentKey() string {
	if k.Content == nil {
		return ""
	}
	return k.Content.Key
}
