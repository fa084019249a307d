package queue

import (
	"context"
	"fmt"
	"maps"
	"math"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"gitops-agent/reconcile/object"
)

// Queue runs work in one lane per object: serial within an object and parallel across objects. At most Parallel items work at once, and no more
// than the limit of each resource allows. An item that only waits gives its slot back with WithoutSlot. A lane keeps one waiting item, the newest. A lane ends when it is idle. Only running work has a
// goroutine, and an item that ends looks only at the lanes that waited for what it used: the cost of an item does not depend on how many wait.
type Queue struct {
	opts Options

	mu      sync.Mutex
	lanes   map[object.Key]*lane
	running int                 // number of running items that have a slot
	back    []chan struct{}     // running items that want their slot back, in order
	held    map[object.Key]bool // objects that running work holds
	used    map[Resource]int    // number of running items by resource
	blocked blockedLanes
	closed  bool
	wg      sync.WaitGroup
}

// Options configures a Queue. The zero value is useful.
type Options struct {
	Parallel int                             // lanes that may work at once; 0 is 8
	Limit    func(r Resource) int            // number of items that may use the resource at once; no limit if nil
	OnWait   func(d time.Duration)           // called with the time that an item waited for its turn
	OnPanic  func(key object.Key, err error) // called for work that panicked
	OnIdle   func(key object.Key)            // called when a lane has ended
}

// Work is an item of the lane of an object. Run must return when ctx ends. Holds are the objects that no other item may hold meanwhile, the item's own
// included. Uses are the resources that the item shares with other items, each once.
type Work struct {
	Key   object.Key
	Holds []object.Key
	Uses  []Resource
	Run   func(ctx context.Context)
}

// lane is the work on one object. A lane with waiting work that does not run is blocked.
type lane struct {
	key     object.Key
	running bool
	waiting *Work
	ctx     context.Context // of the waiting work
	since   time.Time       // when the waiting work was offered
	on      blocker         // while blocked: what the lane waits for
}

// New returns an empty queue.
func New(opts Options) *Queue {
	if opts.Parallel <= 0 {
		opts.Parallel = 8
	}
	if opts.Limit == nil {
		opts.Limit = func(Resource) int { return math.MaxInt }
	}
	return &Queue{
		opts: opts, lanes: make(map[object.Key]*lane), held: make(map[object.Key]bool), used: make(map[Resource]int),
		blocked: blockedLanes{by: make(map[blocker][]*lane)},
	}
}

// Offer gives work to its lane and replaces work that still waits there. It returns false after Close.
func (q *Queue) Offer(ctx context.Context, work Work) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return false
	}
	l := q.lanes[work.Key]
	if l == nil {
		l = &lane{key: work.Key}
		q.lanes[work.Key] = l
	}
	wasWaiting := l.waiting != nil
	if !wasWaiting {
		l.since = time.Now()
	}
	l.waiting, l.ctx = &work, ctx
	switch {
	case l.running: // it begins when the running work has ended
	case wasWaiting && !q.isFree(l.on) && q.needs(&work, l.on): // it keeps its place
	default:
		if wasWaiting {
			q.blocked.remove(l)
		}
		q.begin(l)
	}
	return true
}

// Busy reports whether the object's lane has work running or waiting.
func (q *Queue) Busy(key object.Key) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.lanes[key] != nil
}

// Lanes returns the objects whose lanes have work running or waiting.
func (q *Queue) Lanes() []object.Key {
	q.mu.Lock()
	defer q.mu.Unlock()
	return slices.Collect(maps.Keys(q.lanes))
}

// Depth returns the number of lanes with work running or waiting.
func (q *Queue) Depth() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.lanes)
}

// Close rejects new work, drops waiting work and returns when the running work has ended.
func (q *Queue) Close() {
	q.mu.Lock()
	q.closed = true
	var ended []object.Key
	for key, l := range q.lanes {
		l.waiting = nil
		if !l.running {
			delete(q.lanes, key)
			ended = append(ended, key)
		}
	}
	q.blocked.clear()
	q.mu.Unlock()
	for _, key := range ended {
		q.laneEnded(key)
	}
	q.wg.Wait()
}

// begin starts the lane's waiting work, or blocks the lane until the work can start. The caller holds mu.
func (q *Queue) begin(l *lane) {
	if on, blocked := q.blockerOf(l.waiting); blocked {
		q.blocked.add(on, l)
		return
	}
	work, ctx, since := *l.waiting, l.ctx, l.since
	l.waiting, l.ctx, l.running = nil, nil, true
	q.running++
	for _, v := range work.Holds {
		q.held[v] = true
	}
	for _, r := range work.Uses {
		q.used[r]++
	}
	q.wg.Go(func() {
		defer q.end(l, work)
		if q.opts.OnWait != nil {
			q.opts.OnWait(time.Since(since))
		}
		q.run(ctx, work)
	})
}

// end releases what the work used, and begins the work that waited for it.
func (q *Queue) end(l *lane, work Work) {
	q.mu.Lock()
	q.running--
	for _, v := range work.Holds {
		delete(q.held, v)
		q.blocked.wake(objectBlocker(v))
	}
	for _, r := range work.Uses {
		if q.used[r]--; q.used[r] == 0 {
			delete(q.used, r)
		}
		q.blocked.wake(resourceBlocker(r))
	}
	l.running = false
	ended := l.waiting == nil
	if ended {
		delete(q.lanes, l.key)
	} else {
		q.blocked.add(slots, l) // after the lanes that already wait
	}
	q.fillSlots()
	q.mu.Unlock()
	if ended {
		q.laneEnded(l.key)
	}
}

// fillSlots gives free slots to the items that want theirs back, and then to blocked lanes. The caller holds mu.
func (q *Queue) fillSlots() {
	for q.running < q.opts.Parallel {
		if len(q.back) > 0 {
			close(q.back[0])
			q.back = q.back[1:]
			q.running++
			continue
		}
		next := q.blocked.next(q.isFree)
		if next == nil {
			return
		}
		q.begin(next)
	}
}

func (q *Queue) laneEnded(key object.Key) {
	if q.opts.OnIdle != nil {
		q.opts.OnIdle(key)
	}
}

// blockerOf returns the first thing that the work has to wait for, and whether there is one. Slots are last, so that only work that could
// run otherwise waits for a slot.
func (q *Queue) blockerOf(work *Work) (blocker, bool) {
	for _, v := range work.Holds {
		if b := objectBlocker(v); !q.isFree(b) {
			return b, true
		}
	}
	for _, r := range work.Uses {
		if b := resourceBlocker(r); !q.isFree(b) {
			return b, true
		}
	}
	return slots, !q.isFree(slots)
}

// isFree reports whether no work has to wait for b now.
func (q *Queue) isFree(b blocker) bool {
	switch b.kind {
	case heldObject:
		return !q.held[b.key]
	case fullResource:
		return q.used[b.resource] < q.opts.Limit(b.resource)
	case noSlot:
	}
	return q.running < q.opts.Parallel
}

// needs reports whether work cannot run before b is free.
func (q *Queue) needs(work *Work, b blocker) bool {
	switch b.kind {
	case heldObject:
		return slices.Contains(work.Holds, b.key)
	case fullResource:
		return slices.Contains(work.Uses, b.resource)
	case noSlot:
	}
	return true
}

// run passes a panic to OnPanic, so that work on one object cannot end the agent.
func (q *Queue) run(ctx context.Context, work Work) {
	defer func() {
		if r := recover(); r != nil && q.opts.OnPanic != nil {
			q.opts.OnPanic(work.Key, fmt.Errorf("panic: %v\n%s", r, debug.Stack()))
		}
	}()
	work.Run(context.WithValue(ctx, slotKey{}, q))
}
