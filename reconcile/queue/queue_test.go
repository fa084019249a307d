package queue

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"gitops-agent/reconcile/object"
)

func TestQueueIsSerialWithinAGuest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(Options{Parallel: 4})
		defer q.Close()
		var running, most atomic.Int32
		var ran atomic.Int32
		work := Work{Key: object.Guest(1), Holds: []object.Key{object.Guest(1)}, Run: func(context.Context) {
			most.Store(max(most.Load(), running.Add(1)))
			time.Sleep(time.Second)
			running.Add(-1)
			ran.Add(1)
		}}
		for range 4 {
			q.Offer(t.Context(), work)
			time.Sleep(300 * time.Millisecond)
		}
		time.Sleep(10 * time.Second)
		if got := most.Load(); got != 1 {
			t.Errorf("got %d items of one guest at once, want 1", got)
		}
		if got := ran.Load(); got != 2 {
			t.Errorf("got %d runs of 4 offers within a second, want 2: the one that ran and the newest that waited", got)
		}
		if got := q.Depth(); got != 0 {
			t.Errorf("got %d lanes after the work, want none", got)
		}
	})
}

func TestQueueIsParallelAcrossGuests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(Options{Parallel: 3})
		defer q.Close()
		var running, most atomic.Int32
		for vmid := range 9 {
			q.Offer(t.Context(), Work{Key: object.Guest(vmid), Holds: []object.Key{object.Guest(vmid)}, Run: func(context.Context) {
				most.Store(max(most.Load(), running.Add(1)))
				time.Sleep(time.Second)
				running.Add(-1)
			}})
		}
		started := time.Now()
		for q.Depth() > 0 {
			time.Sleep(100 * time.Millisecond)
		}
		if got := most.Load(); got != 3 {
			t.Errorf("got %d guests at once, want 3", got)
		}
		if got := time.Since(started); got > 3500*time.Millisecond {
			t.Errorf("got %s for nine items of a second in three lanes, want about 3 s", got)
		}
	})
}

func TestQueueHoldsTheTemplateOfAClone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(Options{Parallel: 8})
		defer q.Close()
		var mu sync.Mutex
		var log []string
		note := func(s string) { mu.Lock(); defer mu.Unlock(); log = append(log, s) }
		clone := func(name string, vmid int) {
			q.Offer(t.Context(), Work{Key: object.Guest(vmid), Holds: []object.Key{object.Guest(vmid), object.Guest(9000)}, Run: func(context.Context) {
				note("begin " + name)
				time.Sleep(time.Second)
				note("end " + name)
			}})
		}
		clone("a", 1)
		time.Sleep(time.Millisecond)
		clone("b", 2)
		q.Offer(t.Context(), Work{Key: object.Guest(3), Holds: []object.Key{object.Guest(3)}, Run: func(context.Context) { note("other") }})
		time.Sleep(5 * time.Second)
		want := []string{"begin a", "other", "end a", "begin b", "end b"}
		mu.Lock()
		defer mu.Unlock()
		if !slices.Equal(log, want) {
			t.Errorf("got %v, want %v", log, want)
		}
	})
}

func TestQueueSurvivesAPanic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told atomic.Int32
		q := New(Options{OnPanic: func(key object.Key, _ error) { told.Store(int32(key.VMID)) }})
		defer q.Close()
		q.Offer(t.Context(), Work{Key: object.Guest(7), Holds: []object.Key{object.Guest(7)}, Run: func(context.Context) { panic("boom") }})
		synctest.Wait()
		if got := told.Load(); got != 7 {
			t.Errorf("got a panic reported for %d, want 7", got)
		}
		var ran atomic.Bool
		q.Offer(t.Context(), Work{Key: object.Guest(7), Holds: []object.Key{object.Guest(7)}, Run: func(context.Context) { ran.Store(true) }})
		synctest.Wait()
		if !ran.Load() {
			t.Error("got the lane stuck after a panic, want it free")
		}
	})
}

func TestQueueCloseWaitsForRunningWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(Options{Parallel: 1})
		var ended, waiting atomic.Bool
		q.Offer(t.Context(), Work{Key: object.Guest(1), Holds: []object.Key{object.Guest(1)}, Run: func(context.Context) { time.Sleep(time.Minute); ended.Store(true) }})
		synctest.Wait()
		q.Offer(t.Context(), Work{Key: object.Guest(1), Holds: []object.Key{object.Guest(1)}, Run: func(context.Context) { waiting.Store(true) }})
		q.Close()
		if !ended.Load() || waiting.Load() {
			t.Errorf("got running work ended %t and waiting work run %t after Close, want true and false", ended.Load(), waiting.Load())
		}
		if q.Offer(t.Context(), Work{Key: object.Guest(2)}) {
			t.Error("got work accepted after Close, want it rejected")
		}
	})
}

// TestQueueRespectsResourceLimits runs more lanes than two storages allow, and one guest that uses neither storage.
func TestQueueRespectsResourceLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limits := Limits{PerStorage: 2, PerNode: 100}
		q := New(Options{Parallel: 4, Limit: limits.For})
		defer q.Close()
		var mu sync.Mutex
		running, most := make(map[string]int), make(map[string]int)
		for vmid := range 40 {
			storage := []string{"lvm", "ceph"}[vmid%2]
			q.Offer(t.Context(), Work{Key: object.Guest(vmid), Holds: []object.Key{object.Guest(vmid)}, Uses: []Resource{{Node: "pve1"}, {Storage: storage}}, Run: func(context.Context) {
				mu.Lock()
				running[storage]++
				most[storage] = max(most[storage], running[storage])
				mu.Unlock()
				time.Sleep(time.Second)
				mu.Lock()
				running[storage]--
				mu.Unlock()
			}})
		}
		time.Sleep(100 * time.Millisecond)
		waited := make(chan time.Duration, 1)
		offered := time.Now()
		q.Offer(t.Context(), Work{Key: object.Guest(100), Holds: []object.Key{object.Guest(100)}, Uses: []Resource{{Node: "pve1"}}, Run: func(context.Context) { waited <- time.Since(offered) }})
		if got := <-waited; got > 2*time.Second {
			t.Errorf("got a guest that needs no storage waiting for %s, want it among the first", got)
		}
		for q.Depth() > 0 {
			time.Sleep(100 * time.Millisecond)
		}
		if most["lvm"] != 2 || most["ceph"] != 2 {
			t.Errorf("got %v copies at once, want two per storage", most)
		}
	})
}
