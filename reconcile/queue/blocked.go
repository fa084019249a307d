package queue

import (
	"slices"

	"gitops-agent/reconcile/object"
)

// blocker is what a lane waits for: an object that other work holds, a resource at its limit, or a slot among the parallel items.
type blocker struct {
	kind     blockerKind
	key      object.Key // of a heldObject
	resource Resource   // of a fullResource
}

type blockerKind int

const (
	noSlot blockerKind = iota
	heldObject
	fullResource
)

// slots is the blocker of lanes that wait only for running work to end.
var slots = blocker{kind: noSlot}

func objectBlocker(key object.Key) blocker { return blocker{kind: heldObject, key: key} }

func resourceBlocker(r Resource) blocker { return blocker{kind: fullResource, resource: r} }

// blockedLanes are the lanes that wait, in order of arrival, by what they wait for.
type blockedLanes struct {
	by     map[blocker][]*lane
	woken  []blocker // blockers that were released, whose lanes were not looked at yet
	isTurn bool      // of a woken blocker; the slots are next otherwise
}

// add makes the lane the last one that waits for b.
func (l *blockedLanes) add(b blocker, blocked *lane) {
	blocked.on = b
	l.by[b] = append(l.by[b], blocked)
}

// remove drops a lane.
func (l *blockedLanes) remove(blocked *lane) {
	b := blocked.on
	l.set(b, slices.DeleteFunc(l.by[b], func(other *lane) bool { return other == blocked }))
}

// wake notes that b was released.
func (l *blockedLanes) wake(b blocker) {
	if len(l.by[b]) > 0 && !slices.Contains(l.woken, b) {
		l.woken = append(l.woken, b)
	}
}

// next removes and returns a lane whose blocker is free, or nil. Lanes that wait for a slot and lanes that waited for something else take turns,
// so that neither of them waits forever.
func (l *blockedLanes) next(isFree func(blocker) bool) *lane {
	l.isTurn = !l.isTurn
	if l.isTurn {
		if next := l.nextWoken(isFree); next != nil {
			return next
		}
		return l.pop(slots)
	}
	if next := l.pop(slots); next != nil {
		return next
	}
	return l.nextWoken(isFree)
}

// nextWoken removes and returns the first lane of a woken blocker that is still free, or nil.
func (l *blockedLanes) nextWoken(isFree func(blocker) bool) *lane {
	for len(l.woken) > 0 {
		if b := l.woken[0]; isFree(b) && len(l.by[b]) > 0 {
			return l.pop(b)
		}
		l.woken = l.woken[1:]
	}
	return nil
}

// pop removes and returns the first lane that waits for b, or nil.
func (l *blockedLanes) pop(b blocker) *lane {
	list := l.by[b]
	if len(list) == 0 {
		return nil
	}
	l.set(b, list[1:])
	return list[0]
}

func (l *blockedLanes) set(b blocker, list []*lane) {
	if len(list) == 0 {
		delete(l.by, b)
		return
	}
	l.by[b] = list
}

func (l *blockedLanes) clear() {
	clear(l.by)
	l.woken = nil
}
