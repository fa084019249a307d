package queue

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"gitops-agent/reconcile/object"
)

// TestWaitingItemsGiveTheirSlotsBack fills two nodes and all slots with items that only wait for a quarter of an hour. An item on a third node begins at once, those of
// the full nodes wait for them, and say so.
func TestWaitingItemsGiveTheirSlotsBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(Options{Parallel: 8, Limit: Limits{PerNode: 4}.For})
		defer q.Close()
		offer := func(vmid int, node string, run func(context.Context)) {
			q.Offer(t.Context(), Work{Key: object.Guest(vmid), Holds: []object.Key{object.Guest(vmid)}, Uses: []Resource{{Node: node}}, Run: run})
		}
		hangs := func(ctx context.Context) { WithoutSlot(ctx, func() { time.Sleep(15 * time.Minute) }) }
		for i := range 8 {
			offer(100+i, []string{"pve1", "pve2"}[i%2], hangs)
		}
		synctest.Wait()
		began := make(map[int]time.Duration)
		var mu sync.Mutex
		offered := time.Now()
		note := func(vmid int) func(context.Context) {
			return func(context.Context) { mu.Lock(); defer mu.Unlock(); began[vmid] = time.Since(offered) }
		}
		offer(200, "pve3", note(200))
		offer(201, "pve1", note(201))
		synctest.Wait()
		if on, waits := q.WaitOf(object.Guest(201)); !waits || on.Resource.Node != "pve1" {
			t.Errorf("got %+v, waits %t, want the wait for pve1", on, waits)
		}
		for _, vmid := range []int{100, 200, 300} {
			if on, waits := q.WaitOf(object.Guest(vmid)); waits {
				t.Errorf("%d: got a wait for %+v, want none: it runs, or has ended", vmid, on)
			}
		}
		time.Sleep(20 * time.Minute)
		mu.Lock()
		defer mu.Unlock()
		if _, ran := began[200]; !ran || began[200] != 0 {
			t.Errorf("got the item of the free node after %s, want it at once", began[200])
		}
		if began[201] != 15*time.Minute {
			t.Errorf("got the item of the full node after %s, want it when one of the others has ended", began[201])
		}
	})
}

// TestItemsComeBackFirst lets an item wait, while others fill the slots: it gets the next free slot, before work that has not begun, and never more items work than there
// are slots.
func TestItemsComeBackFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(Options{Parallel: 1})
		defer q.Close()
		var mu sync.Mutex
		var log []string
		note := func(s string) { mu.Lock(); defer mu.Unlock(); log = append(log, s) }
		offer := func(vmid int, run func(context.Context)) {
			q.Offer(t.Context(), Work{Key: object.Guest(vmid), Holds: []object.Key{object.Guest(vmid)}, Run: run})
		}
		offer(1, func(ctx context.Context) {
			note("1 begins")
			WithoutSlot(ctx, func() { time.Sleep(time.Second) })
			note("1 is back")
		})
		synctest.Wait()
		for vmid := 2; vmid <= 3; vmid++ {
			offer(vmid, func(context.Context) { note(fmt.Sprint(vmid, " begins")); time.Sleep(time.Minute) })
		}
		synctest.Wait()
		if on, waits := q.WaitOf(object.Guest(3)); !waits || on != (Wait{}) {
			t.Errorf("got %+v, waits %t, want the wait for a slot", on, waits)
		}
		time.Sleep(time.Hour)
		mu.Lock()
		defer mu.Unlock()
		if want := []string{"1 begins", "2 begins", "1 is back", "3 begins"}; !slices.Equal(log, want) {
			t.Errorf("got %v, want %v", log, want)
		}
	})
}

// TestPanicWithoutASlot checks that an item that panics while it waits leaves the slots as they were.
func TestPanicWithoutASlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(Options{Parallel: 1})
		for range 3 {
			q.Offer(t.Context(), Work{Key: object.Guest(1), Holds: []object.Key{object.Guest(1)}, Run: func(ctx context.Context) {
				WithoutSlot(ctx, func() { panic("boom") })
			}})
			synctest.Wait()
		}
		if q.running != 0 || len(q.back) != 0 {
			t.Errorf("got %d running and %d that come back, want none", q.running, len(q.back))
		}
		q.Close()
	})
	ran := false
	if WithoutSlot(t.Context(), func() { ran = true }); !ran {
		t.Error("got nothing run outside of an item, want it run")
	}
}
