package queue

import (
	"context"

	"gitops-agent/reconcile/object"
)

// slotKey is the key of the queue whose slot the item of a context has.
type slotKey struct{}

// WithoutSlot runs wait, which does nothing but wait for something outside. Meanwhile the item that runs with ctx gives its slot back, so that another one can begin;
// it keeps the objects that it holds and the resources that it uses. It returns when the item has a slot again. Outside of an item it only runs wait. An item
// must not call it twice at the same time.
func WithoutSlot(ctx context.Context, wait func()) {
	q, _ := ctx.Value(slotKey{}).(*Queue)
	if q == nil {
		wait()
		return
	}
	q.giveBack()
	defer q.takeSlot() // also after a panic: the end of the item gives the slot back once more
	wait()
}

func (q *Queue) giveBack() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.running--
	q.fillSlots()
}

// takeSlot waits for a slot. Items that have a slot wait for nothing inside of the queue, so one gets free. Items come back before others begin.
func (q *Queue) takeSlot() {
	q.mu.Lock()
	if q.running < q.opts.Parallel && len(q.back) == 0 {
		q.running++
		q.mu.Unlock()
		return
	}
	free := make(chan struct{})
	q.back = append(q.back, free)
	q.mu.Unlock()
	<-free
}

// Wait is what a lane with waiting work waits for: an object that other work holds, a resource at its limit, or, if both are zero, a slot.
type Wait struct {
	Object   object.Key
	Resource Resource
}

// WaitOf returns what the object's lane waits for, and whether it has work that waits and none that runs.
func (q *Queue) WaitOf(key object.Key) (on Wait, waits bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	l := q.lanes[key]
	if l == nil || l.running || l.waiting == nil {
		return Wait{}, false
	}
	return Wait{Object: l.on.key, Resource: l.on.resource}, true
}
