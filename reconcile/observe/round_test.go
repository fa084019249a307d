package observe

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/internal/fixture"
)

// hangingNode is a FakeReader with one node whose guests do not answer until the node is released.
type hangingNode struct {
	*fixture.FakeReader
	node     string
	released chan struct{}
}

func (h *hangingNode) Observe(ctx context.Context, row cluster.Row) (guest.Observed, error) {
	seen, err := h.FakeReader.Observe(ctx, row)
	seen.ReadAt = time.Now()
	if row.Node == h.node {
		select {
		case <-h.released:
		case <-ctx.Done():
			return guest.Observed{}, ctx.Err()
		}
	}
	return seen, err
}

// hanging returns an observer of twenty guests on pve1, which does not answer, and one on pve2.
func hanging(t *testing.T) (*Observer, *hangingNode, []int) {
	t.Helper()
	var vmids []int
	for vmid := 201; vmid <= 221; vmid++ {
		vmids = append(vmids, vmid)
	}
	listed := moved(rows(vmids...), 221, "pve2")
	reader := &hangingNode{
		FakeReader: &fixture.FakeReader{Answers: fixture.Answers{Listed: listed, Guests: map[int]guest.Observed{}}},
		node:       "pve1", released: make(chan struct{}),
	}
	for _, vmid := range vmids {
		reader.Guests[vmid] = seenAt(vmid, time.Now())
	}
	return New(reader, 15*time.Second, time.Minute), reader, vmids
}

// takeAll takes the replies that arrive without the time passing.
func takeAll(t *testing.T, o *Observer) (all Progress) {
	t.Helper()
	for {
		synctest.Wait()
		select {
		case <-o.Bell():
		default:
			p := o.Take(t.Context())
			all.Listed, all.Ended, all.Err = all.Listed || p.Listed, all.Ended || p.Ended, errors.Join(all.Err, p.Err)
			return all
		}
		p := o.Take(t.Context())
		all.Listed, all.Ended, all.Err = all.Listed || p.Listed, all.Ended || p.Ended, errors.Join(all.Err, p.Err)
	}
}

// TestHungNodeDelaysNoOtherNode makes one of two nodes hang, with more guests than may be read at once. The guest of the other node is read in every
// round, no guest is asked for twice, and the readings are kept when they arrive.
func TestHungNodeDelaysNoOtherNode(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o, reader, vmids := hanging(t)
		for range 4 {
			asked := time.Now()
			o.DueAll()
			o.due[221] = true
			if !o.Begin(t.Context(), Request{VMIDs: vmids}) {
				t.Fatal("got no round, want one: the list answers")
			}
			if p := takeAll(t, o); !p.Listed || p.Err != nil {
				t.Fatalf("got %+v, want the list", p)
			}
			if got := o.Snapshot().Guests[221].ReadAt; got.Before(asked) {
				t.Errorf("got the guest of the other node read at %s, want %s", got, asked)
			}
			time.Sleep(15 * time.Second)
		}
		if got, want := len(reader.Asked), readsPerNode+4; got != want {
			t.Errorf("got %d readings asked for, want %d: %v", got, want, reader.Asked)
		}
		late := o.Pending(time.Now().Add(-5 * time.Second))
		if len(late) != 1 || late[0].Part != PartGuests || late[0].Node != "pve1" || late[0].Calls != 20 || time.Since(late[0].Since) != time.Minute {
			t.Errorf("got %+v late, want the 20 guests of pve1 for a minute", late)
		}
		close(reader.released)
		takeAll(t, o)
		if got := len(o.Snapshot().Guests); got != len(vmids) || len(o.Pending(time.Now().Add(time.Hour))) != 0 {
			t.Errorf("got %d guests read and %+v pending after the node answers, want %d and nothing", got, o.Pending(time.Now().Add(time.Hour)), len(vmids))
		}
	})
}

// TestOldReadingOfAHungNodeIsDoubted checks that a guest counts as unknown while its reading is too old and the new one does not arrive.
func TestOldReadingOfAHungNodeIsDoubted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o, reader, vmids := hanging(t)
		reader.node = ""
		o.Begin(t.Context(), Request{VMIDs: vmids})
		takeAll(t, o)
		reader.node = "pve1"
		o.DueAll()
		o.Begin(t.Context(), Request{VMIDs: vmids})
		takeAll(t, o)
		o.DoubtLate(time.Now())
		if got := o.Snapshot().Absent[201]; got != "" {
			t.Errorf("got %q at once, want the last reading used", got)
		}
		time.Sleep(2*time.Minute + time.Second)
		o.DoubtLate(time.Now())
		if got := o.Snapshot(); got.Absent[201] != cluster.Unknown || got.ReadErrors[201] != "read guest 201 on pve1: no reply for 2m1s" || got.Absent[221] != "" {
			t.Errorf("got %q because of %q, and %q on the other node, want 201 alone unknown", got.Absent[201], got.ReadErrors[201], got.Absent[221])
		}
		close(reader.released)
		takeAll(t, o)
		if got := o.Snapshot(); got.Absent[201] != "" || got.ReadErrors[201] != "" {
			t.Errorf("got %q after the reading arrived, want it known", got.Absent[201])
		}
	})
}

// TestLateReadingReplacesNoNewerOne lets a lane change and read a guest while a reading of the observer hangs.
func TestLateReadingReplacesNoNewerOne(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		lane Sighting
		seen bool
	}{
		"newer":     {Sighting{VMID: 201, Seen: guest.Observed{Ref: guest.Ref{VMID: 201}, Digest: "lane"}, Again: true}, true},
		"destroyed": {Sighting{VMID: 201, Absence: cluster.Gone}, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			o, reader, vmids := hanging(t)
			o.Begin(t.Context(), Request{VMIDs: vmids})
			takeAll(t, o)
			time.Sleep(time.Second)
			test.lane.Seen.ReadAt = time.Now()
			o.Learn(test.lane)
			close(reader.released)
			takeAll(t, o)
			got, seen := o.Snapshot().Guests[201]
			if seen != test.seen || got.Digest != test.lane.Seen.Digest || o.due[201] != test.lane.Again {
				t.Errorf("%s: got %t, digest %q, due %t, want what the lane found", name, seen, got.Digest, o.due[201])
			}
		})
	}
}

// TestReadyIsAskedWhenANodeIsOffline checks that a round asks whether the cluster may be written to if a node is offline or the engine wants to know, and
// not else: it would be one more call in each tick.
func TestReadyIsAskedWhenANodeIsOffline(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		offline []string
		ready   bool
		want    bool
	}{
		"all_online":     {nil, false, false},
		"one_offline":    {[]string{"pve3"}, false, true},
		"engine_asks":    {nil, true, true},
		"asks_only_once": {[]string{"pve3"}, true, true},
	} {
		reader := &fixture.FakeReader{Answers: fixture.Answers{Listed: rows(201), Guests: map[int]guest.Observed{201: seenAt(201, time.Now())}}}
		reader.Listed.Offline = test.offline
		o := New(reader, time.Second, time.Second)
		o.Begin(t.Context(), Request{VMIDs: []int{201}, Ready: test.ready})
		asked, ended := false, false
		for !ended {
			<-o.Bell()
			p := o.Take(t.Context())
			asked, ended = asked || p.AskedReady, p.Ended
		}
		if asked != test.want {
			t.Errorf("%s: got asked %t, want %t", name, asked, test.want)
		}
	}
}

// TestBeginWaitsForTheList checks that a list that hangs is not asked for a second time.
func TestBeginWaitsForTheList(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reader := &fixture.FakeReader{}
		held := &heldList{FakeReader: reader, released: make(chan struct{})}
		o := New(held, time.Second, time.Second)
		for range 3 {
			o.Begin(t.Context(), Request{})
			synctest.Wait()
		}
		if got := o.Pending(time.Now().Add(time.Second)); held.calls != 1 || len(got) != 1 || got[0].Part != PartList {
			t.Errorf("got %d calls and %+v pending, want one call for the list", held.calls, got)
		}
		close(held.released)
		if p := takeAll(t, o); !p.Ended {
			t.Errorf("got %+v, want the round ended", p)
		}
	})
}

type heldList struct {
	*fixture.FakeReader
	calls    int
	released chan struct{}
}

func (h *heldList) Inventory(ctx context.Context) (cluster.Inventory, error) {
	h.calls++
	<-h.released
	return h.FakeReader.Inventory(ctx)
}
