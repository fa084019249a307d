package observe

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/internal/fixture"
)

// rows returns an inventory of running virtual machines.
func rows(vmids ...int) cluster.Inventory {
	var i cluster.Inventory
	for _, vmid := range vmids {
		i.Rows = append(i.Rows, cluster.Row{Kind: guest.VirtualMachine, VMID: vmid, Node: "pve1", Status: guest.StatusRunning})
	}
	return i
}

// seenAt returns a reading of a running guest.
func seenAt(vmid int, at time.Time) guest.Observed {
	return guest.Observed{Ref: guest.Ref{Kind: guest.VirtualMachine, VMID: vmid}, Status: guest.StatusRunning, ReadAt: at}
}

// TestReadAll checks that an error of one guest is reported for that guest only, and that an error never means that the guest is gone.
func TestReadAll(t *testing.T) {
	unreadable := errors.New("595 connection refused")
	reader := &fixture.FakeReader{Answers: fixture.Answers{
		Listed: rows(201, 202, 203, 204),
		Guests: map[int]guest.Observed{201: seenAt(201, time.Time{})},
		ObserveErr: map[int]error{
			202: unreadable,
			203: fmt.Errorf("read 203: %w", cluster.ErrNotExist), // destroyed after the list was made
			204: fmt.Errorf("read 204: %w", cluster.ErrNotExist), // moved, and the list does not show it yet
		},
		Taken: map[int]bool{204: true, 206: true},
	}}
	got, err := ReadAll(t.Context(), reader, []int{201, 202, 203, 204, 205, 206}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := cluster.Snapshot{
		Began:      true,
		Inventory:  rows(201, 202, 203, 204),
		Guests:     map[int]guest.Observed{201: seenAt(201, time.Time{})},
		Absent:     map[int]cluster.Absence{202: cluster.Unknown, 203: cluster.Gone, 204: cluster.Unknown, 205: cluster.Gone, 206: cluster.Hidden},
		ReadErrors: map[int]string{202: unreadable.Error(), 204: "read guest 204 on pve1: " + ErrMoved.Error()},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("reading differs (-want +got):\n%s", diff)
	}
}

func TestReadAllNeedsTheInventory(t *testing.T) {
	if _, err := ReadAll(t.Context(), &fixture.FakeReader{Answers: fixture.Answers{InventoryErr: cluster.ErrNotReady}}, []int{201}, nil, nil); !errors.Is(err, cluster.ErrNotReady) {
		t.Errorf("got %v, want ErrNotReady", err)
	}
}

func TestReadAllAsksForWhatIsNotListed(t *testing.T) {
	reader := &fixture.FakeReader{Answers: fixture.Answers{ExistsErr: cluster.ErrNotReady}}
	got, err := ReadAll(t.Context(), reader, []int{201}, nil, nil)
	if err != nil || got.Absent[201] != cluster.Unknown {
		t.Errorf("got %q, %v for a vmid without an answer, want it unknown", got.Absent[201], err)
	}
}

// TestObserverKeepsTheLastReading checks that a failed read keeps the last reading with its age, and that the guest stays due until a read
// succeeds.
func TestObserverKeepsTheLastReading(t *testing.T) {
	before := time.Now().Add(-time.Second)
	reader := &fixture.FakeReader{Answers: fixture.Answers{Listed: rows(201), Guests: map[int]guest.Observed{201: seenAt(201, before)}}}
	o := New(reader, time.Second, time.Hour)
	read := func() cluster.Snapshot {
		t.Helper()
		if err := o.Observe(t.Context(), []int{201}, nil); err != nil {
			t.Fatal(err)
		}
		return o.Snapshot()
	}
	read()
	reader.ObserveErr = map[int]error{201: cluster.ErrNotReady}
	o.DueAll()
	for range 2 {
		if got := read(); !got.Guests[201].ReadAt.Equal(before) || got.Absent[201] != cluster.Unknown || got.ReadErrors[201] == "" {
			t.Errorf("got %+v, %q, %q, want the old reading in doubt", got.Guests[201], got.Absent[201], got.ReadErrors[201])
		}
	}
	reader.ObserveErr = nil
	if got := read(); got.Absent[201] != "" || got.ReadErrors[201] != "" || len(o.due) != 0 {
		t.Errorf("got %q, %q and due %v after a successful read, want the guest known", got.Absent[201], got.ReadErrors[201], o.due)
	}
	if want := 4; len(reader.Asked) != want {
		t.Errorf("got %v asked, want %d reads", reader.Asked, want)
	}
}

// TestObserverAsksForAChangedRunState checks that the observer reads the guest if only the inventory shows another run state, because the inventory
// lags.
func TestObserverAsksForAChangedRunState(t *testing.T) {
	tests := map[string]struct {
		known  guest.Status // "" before the first read
		listed guest.Status
		want   []string
	}{
		"first":         {"", guest.StatusRunning, []string{"status 201", "observe 201"}},
		"first_unknown": {"", guest.StatusUnknown, []string{"status 201", "observe 201"}},
		"same":          {guest.StatusRunning, guest.StatusRunning, []string{"observe 201"}},
		"changed":       {guest.StatusRunning, guest.StatusStopped, []string{"status 201", "observe 201"}},
		"unknown":       {guest.StatusRunning, guest.StatusUnknown, []string{"status 201", "observe 201"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			reader := &fixture.FakeReader{Answers: fixture.Answers{Listed: rows(201), RunState: guest.StatusRunning, Guests: map[int]guest.Observed{201: seenAt(201, time.Now())}}}
			o := New(reader, time.Second, time.Hour)
			if test.known != "" {
				o.seen[201] = seenAt(201, time.Now())
			}
			reader.Listed.Rows[0].Status = test.listed
			if err := o.Observe(t.Context(), []int{201}, nil); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(reader.Asked, test.want) || o.seen[201].Status != guest.StatusRunning {
				t.Errorf("got %v asked and %s, want %v and running", reader.Asked, o.seen[201].Status, test.want)
			}
		})
	}
}

// TestObserverReadsTheOldestGuests checks that the observer reads changed guests at once and the others in turn, oldest first, so that no reading
// is older than resync.
func TestObserverReadsTheOldestGuests(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	o := New(nil, 15*time.Second, time.Minute)
	for i := range 8 {
		o.seen[200+i] = seenAt(200+i, now.Add(-time.Duration(i)*time.Second))
	}
	o.due[201] = true
	all := []int{200, 201, 202, 203, 204, 205, 206, 207, 208}
	if got, want := o.choose(all, now), []int{201, 208, 207, 206, 205}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v: due, never seen, and the tick's share of the oldest", got, want)
	}
	soon := now.Add(time.Second) // after a push, for example
	if got, want := o.choose(all[:8], soon), []int{201, 207}; !slices.Equal(got, want) {
		t.Errorf("got %v a second later, want %v: due, and one of the oldest", got, want)
	}
	late := now.Add(time.Hour)
	if got := o.choose(all, late); len(got) != len(all) {
		t.Errorf("got %v after an hour, want all of them", got)
	}
}

func TestObserverMarksWhatChanged(t *testing.T) {
	o := New(nil, time.Second, time.Minute)
	o.inventory = rows(201, 202, 203, 204, 205)
	for _, vmid := range []int{201, 202, 203, 204, 205} {
		o.seen[vmid] = seenAt(vmid, time.Now())
	}
	o.seen[205] = guest.Observed{Ref: guest.Ref{VMID: 205}, Status: guest.StatusStopped} // the agent stopped it meanwhile
	next := rows(201, 202, 204, 205, 206)
	next.Rows[1].Tags = "a"
	next.Rows[2].Node = "pve2"
	o.markChanged(next)
	want := map[int]bool{202: true, 203: true, 204: true, 205: true, 206: true}
	if diff := cmp.Diff(want, o.due); diff != "" {
		t.Errorf("due differs (-want +got):\n%s", diff)
	}
	o.forget([]int{201, 202})
	if diff := cmp.Diff(map[int]bool{202: true}, o.due); diff != "" || len(o.seen) != 2 {
		t.Errorf("got %d guests remembered, want 2; due differs (-want +got):\n%s", len(o.seen), diff)
	}
}

// TestObserverLearnsFromLanes checks that the reading of a lane is newer than any sweep.
func TestObserverLearnsFromLanes(t *testing.T) {
	now := time.Now()
	o := New(nil, time.Second, time.Minute)
	o.absent[201], o.trouble[201] = cluster.Unknown, "595"
	o.Learn(Sighting{VMID: 201, Seen: seenAt(201, now)})
	if _, doubt := o.absent[201]; doubt || o.trouble[201] != "" || !o.seen[201].ReadAt.Equal(now) || o.due[201] {
		t.Errorf("got %+v, %v, %v, want what the lane saw and no more to read", o.seen[201], o.absent, o.due)
	}
	o.Learn(Sighting{VMID: 201, Seen: seenAt(201, now), Again: true})
	if !o.due[201] {
		t.Error("got no read due after a step, want one")
	}
	o.Learn(Sighting{VMID: 201, Absence: cluster.Gone})
	if _, seen := o.seen[201]; seen || o.absent[201] != cluster.Gone {
		t.Errorf("got %v and %v after the guest was destroyed, want it gone", o.seen, o.absent)
	}
	o.Learn(Sighting{VMID: 202, Again: true})
	if !o.due[202] {
		t.Error("got no read due after a failure, want one")
	}
}

func TestObserverReadsGuestsOfANewRevision(t *testing.T) {
	want := func(vmid int, memory string) guest.Desired {
		return guest.Desired{Ref: guest.Ref{VMID: vmid}, Intents: []guest.Intent{{Key: "memory", Verb: guest.Want, Text: memory}}}
	}
	o := New(nil, time.Second, time.Minute)
	o.DueChanged([]guest.Desired{want(201, "1024"), want(202, "1024"), want(203, "1024")}, []guest.Desired{want(201, "1024"), want(202, "2048"), want(204, "1024")})
	if diff := cmp.Diff(map[int]bool{202: true, 203: true, 204: true}, o.due); diff != "" {
		t.Errorf("due differs (-want +got):\n%s", diff)
	}
}

// TestObserverReportsOldReadings checks that a reading is old after twice the time in which there should be a newer one.
func TestObserverReportsOldReadings(t *testing.T) {
	now := time.Now()
	o := New(nil, 15*time.Second, time.Minute)
	o.UseVMList(t.TempDir(), 10*time.Minute)
	o.seen[201], o.seen[202] = seenAt(201, now.Add(-3*time.Minute)), seenAt(202, now.Add(-3*time.Minute))
	o.list.before[202] = listed{node: "pve1", version: 7}
	if !o.Stale(201, now) || o.Stale(201, now.Add(-time.Minute)) || o.Stale(202, now) || !o.Stale(202, now.Add(18*time.Minute)) || o.Stale(203, now) {
		t.Error("got another answer, want old after two minutes, or after twenty where the list of guests vouches for it")
	}
}
