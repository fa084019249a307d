package queue

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"gitops-agent/reconcile/object"
)

// usage counts what running items use, and reports what exceeds a limit.
type usage struct {
	*testing.T
	mu      sync.Mutex
	limits  Limits
	most    int
	running int
	held    map[object.Key]int
	used    map[Resource]int
	ran     map[object.Key]int // newest offer that ran
}

func (u *usage) begin(work Work) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.running++; u.running > u.most {
		u.Errorf("got %d items at once, want at most %d", u.running, u.most)
	}
	for _, v := range work.Holds {
		if u.held[v]++; u.held[v] > 1 {
			u.Errorf("got two items that hold %s", v)
		}
	}
	for _, r := range work.Uses {
		if u.used[r]++; u.used[r] > u.limits.For(r) {
			u.Errorf("got %d items that use %v, want at most %d", u.used[r], r, u.limits.For(r))
		}
	}
}

// pause notes that an item gives its slot back, or has one again.
func (u *usage) pause(change int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.running += change; u.running > u.most {
		u.Errorf("got %d items that work at once, want at most %d", u.running, u.most)
	}
}

func (u *usage) end(work Work) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.running--
	for _, v := range work.Holds {
		u.held[v]--
	}
	for _, r := range work.Uses {
		u.used[r]--
	}
}

// TestQueueWithRandomWork offers random work, replaces waiting work by work that needs something else, and checks that no limit is exceeded and
// that the newest work of every object runs.
func TestQueueWithRandomWork(t *testing.T) {
	t.Parallel()
	for seed := range uint64(40) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { runRandomWork(t, rand.New(rand.NewPCG(seed, 1))) })
		})
	}
}

func runRandomWork(t *testing.T, random *rand.Rand) {
	t.Helper()
	limits := Limits{PerNode: 1 + random.IntN(4), PerStorage: 1 + random.IntN(2)}
	u := &usage{T: t, limits: limits, most: 1 + random.IntN(6), held: map[object.Key]int{}, used: map[Resource]int{}, ran: map[object.Key]int{}}
	var mu sync.Mutex
	ended := make(map[object.Key]int)
	q := New(Options{Parallel: u.most, Limit: limits.For, OnIdle: func(key object.Key) { mu.Lock(); ended[key]++; mu.Unlock() }})
	newest := make(map[object.Key]int)
	for i := range 300 {
		work := Work{Key: randomKey(random)}
		work.Holds = []object.Key{work.Key}
		if random.IntN(3) == 0 {
			work.Holds = append(work.Holds, object.Guest(9000+random.IntN(2))) // a template
		}
		work.Uses = []Resource{{Node: fmt.Sprint("pve", random.IntN(3))}}
		if random.IntN(2) == 0 {
			work.Uses = append(work.Uses, Resource{Storage: fmt.Sprint("lvm", random.IntN(2))})
		}
		length := time.Duration(random.IntN(50)) * time.Millisecond
		waits := random.IntN(3) == 0
		work.Run = func(ctx context.Context) {
			u.begin(work)
			time.Sleep(length)
			if waits {
				u.pause(-1)
				WithoutSlot(ctx, func() { time.Sleep(2 * length) })
				u.pause(1)
			}
			u.end(work)
			u.mu.Lock()
			defer u.mu.Unlock()
			u.ran[work.Key] = max(u.ran[work.Key], i)
		}
		newest[work.Key] = i
		q.Offer(t.Context(), work)
		time.Sleep(time.Duration(random.IntN(8)) * time.Millisecond)
	}
	time.Sleep(time.Minute)
	if got := q.Depth(); got != 0 {
		t.Errorf("got %d lanes after the work, want none", got)
	}
	q.Close()
	for key, i := range newest {
		if u.ran[key] != i {
			t.Errorf("%s: got item %d as the last one, want %d", key, u.ran[key], i)
		}
		if ended[key] == 0 {
			t.Errorf("%s: got no report of the end of its lane", key)
		}
	}
	if len(q.blocked.by) != 0 || len(q.held) != 0 || len(q.used) != 0 || q.running != 0 || len(q.back) != 0 {
		t.Errorf("got %v, %v, %v, %d, %d left in an idle queue, want nothing", q.blocked.by, q.held, q.used, q.running, len(q.back))
	}
}

// randomKey returns a guest, or an object without a vmid.
func randomKey(random *rand.Rand) object.Key {
	n := random.IntN(40)
	if n < 30 {
		return object.Guest(100 + n)
	}
	return object.KeyOf(0, fmt.Sprint("Image/debian-", n))
}

// BenchmarkQueue offers many items at once, which is what a changed class does.
func BenchmarkQueue(b *testing.B) {
	for _, n := range []int{100, 1000, 10000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				q := New(Options{Limit: Limits{}.For})
				var wg sync.WaitGroup
				for vmid := range n {
					wg.Add(1)
					q.Offer(b.Context(), Work{
						Key: object.Guest(100 + vmid), Holds: []object.Key{object.Guest(100 + vmid)}, Uses: []Resource{{Node: fmt.Sprint("pve", vmid%3)}}, Run: func(context.Context) { wg.Done() },
					})
				}
				wg.Wait()
				q.Close()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/item")
		})
	}
}
