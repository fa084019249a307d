package queue

import (
	"context"
	"fmt"
	"math"
	"runtime/debug"
	"slices"
	"sync"
	"time"
)

// Queue runs work in one lane per vmid: serial within a guest and parallel across guests. At most Parallel items run at once, and no more
// than the limit of each resource allows. A lane keeps one waiting item, the newest. A lane ends when it is idle.
type Queue struct {
	opts  Options
	slots chan struct{}

	mu     sync.Mutex
	lanes  map[int]*lane
	held   map[int]bool     // vmids that running work holds
	used   map[Resource]int // number of running items by resource
	freed  *sync.Cond       // held, used or closed changed
	closed bool
	wg     sync.WaitGroup
}

// Options configures a Queue. The zero value is useful.
type Options struct {
	Parallel int                       // lanes that may work at once; 0 is 8
	Limit    func(r Resource) int      // number of items that may use the resource at once; no limit if nil
	OnWait   func(d time.Duration)     // called with the time that an item waited for its turn
	OnPanic  func(vmid int, err error) // called for work that panicked
	OnIdle   func(vmid int)            // called when a lane has ended
}

// Work is an item of a lane. Run must return when ctx ends. Holds are the vmids that no other item may hold meanwhile, the item's own
// included. Uses are the resources that the item shares with other items, each once.
type Work struct {
	VMID  int
	Holds []int
	Uses  []Resource
	Run   func(ctx context.Context)
}

type lane struct {
	waiting *Work
	since   time.Time
}

// New returns an empty queue.
func New(opts Options) *Queue {
	if opts.Parallel <= 0 {
		opts.Parallel = 8
	}
	if opts.Limit == nil {
		opts.Limit = func(Resource) int { return math.MaxInt }
	}
	q := &Queue{opts: opts, slots: make(chan struct{}, opts.Parallel), lanes: make(map[int]*lane), held: make(map[int]bool), used: make(map[Resource]int)}
	q.freed = sync.NewCond(&q.mu)
	return q
}

// Offer gives work to its lane and replaces work that still waits there. It returns false after Close.
func (q *Queue) Offer(ctx context.Context, work Work) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return false
	}
	if l, ok := q.lanes[work.VMID]; ok {
		if l.waiting == nil {
			l.since = time.Now()
		}
		l.waiting = &work
		return true
	}
	l := &lane{waiting: &work, since: time.Now()}
	q.lanes[work.VMID] = l
	q.wg.Go(func() { q.drain(ctx, work.VMID, l) })
	return true
}

// Busy reports whether the vmid's lane has work running or waiting.
func (q *Queue) Busy(vmid int) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.lanes[vmid] != nil
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
	for _, l := range q.lanes {
		l.waiting = nil
	}
	q.freed.Broadcast()
	q.mu.Unlock()
	q.wg.Wait()
}

// drain runs the items of a lane until no item waits.
func (q *Queue) drain(ctx context.Context, vmid int, l *lane) {
	for {
		work, since := q.next(vmid, l)
		if work == nil {
			if q.opts.OnIdle != nil {
				q.opts.OnIdle(vmid)
			}
			return
		}
		q.slots <- struct{}{}
		if q.opts.OnWait != nil {
			q.opts.OnWait(time.Since(since))
		}
		q.run(ctx, *work)
		<-q.slots
		q.release(work)
	}
}

// next takes the lane's waiting item as soon as its vmids and resources are free. It returns nil when the lane has ended.
func (q *Queue) next(vmid int, l *lane) (*Work, time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for l.waiting != nil && !q.free(l.waiting) {
		q.freed.Wait()
	}
	if l.waiting == nil {
		delete(q.lanes, vmid)
		return nil, time.Time{}
	}
	work := l.waiting
	l.waiting = nil
	for _, v := range work.Holds {
		q.held[v] = true
	}
	for _, s := range work.Uses {
		q.used[s]++
	}
	return work, l.since
}

// free reports whether no running item holds the vmids of the work, and every resource of the work is below its limit.
func (q *Queue) free(work *Work) bool {
	return !slices.ContainsFunc(work.Holds, func(v int) bool { return q.held[v] }) &&
		!slices.ContainsFunc(work.Uses, func(s Resource) bool { return q.used[s] >= q.opts.Limit(s) })
}

func (q *Queue) release(work *Work) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, v := range work.Holds {
		delete(q.held, v)
	}
	for _, s := range work.Uses {
		if q.used[s]--; q.used[s] == 0 {
			delete(q.used, s)
		}
	}
	q.freed.Broadcast()
}

// run passes a panic to OnPanic, so that work on one guest cannot end the agent.
func (q *Queue) run(ctx context.Context, work Work) {
	defer func() {
		if r := recover(); r != nil && q.opts.OnPanic != nil {
			q.opts.OnPanic(work.VMID, fmt.Errorf("panic: %v\n%s", r, debug.Stack()))
		}
	}()
	work.Run(ctx)
}
