package reconcile

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gitops-agent/reconcile/guest"
)

// rows returns an inventory of running virtual machines.
func rows(vmids ...int) Inventory {
	var i Inventory
	for _, vmid := range vmids {
		i.Rows = append(i.Rows, Row{Kind: guest.VirtualMachine, VMID: vmid, Node: "pve1", Status: guest.StatusRunning})
	}
	return i
}

// seenAt returns a reading of a running guest.
func seenAt(vmid int, at time.Time) guest.Observed {
	return guest.Observed{Ref: guest.Ref{Kind: guest.VirtualMachine, VMID: vmid}, Status: guest.StatusRunning, ReadAt: at}
}

// One guest's trouble is told of that guest alone, and no kind of silence counts as absence.
func TestReadAll(t *testing.T) {
	unreadable := errors.New("595 connection refused")
	reader := &fakeReader{answers: answers{
		inventory: rows(201, 202, 203, 204),
		guests:    map[int]guest.Observed{201: seenAt(201, time.Time{})},
		observeErr: map[int]error{
			202: unreadable,
			203: fmt.Errorf("read 203: %w", ErrNotExist), // destroyed since the list was made
			204: fmt.Errorf("read 204: %w", ErrNotExist), // moved, and the list does not know yet
		},
		taken: map[int]bool{204: true, 206: true},
	}}
	got, err := ReadAll(t.Context(), reader, []int{201, 202, 203, 204, 205, 206}, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := Observed{
		Inventory: rows(201, 202, 203, 204),
		Guests:    map[int]guest.Observed{201: seenAt(201, time.Time{})},
		Absent:    map[int]Absence{202: Unknown, 203: Gone, 204: Unknown, 205: Gone, 206: Hidden},
		Trouble:   map[int]string{202: unreadable.Error(), 204: "read guest 204 on pve1: " + errAstray.Error()},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("reading differs (-want +got):\n%s", diff)
	}
}

func TestReadAllNeedsTheInventory(t *testing.T) {
	if _, err := ReadAll(t.Context(), &fakeReader{answers: answers{inventoryErr: ErrNotReady}}, []int{201}, nil); !errors.Is(err, ErrNotReady) {
		t.Errorf("got %v, want ErrNotReady", err)
	}
}

func TestReadAllAsksForWhatIsNotListed(t *testing.T) {
	reader := &fakeReader{answers: answers{existsErr: ErrNotReady}}
	got, err := ReadAll(t.Context(), reader, []int{201}, nil)
	if err != nil || got.Absent[201] != Unknown {
		t.Errorf("got %q, %v for a vmid that nobody answered for, want it unknown", got.Absent[201], err)
	}
}

// A failed look leaves the last reading in place, with its age, and the guest due until one succeeds.
func TestObserverKeepsTheLastReading(t *testing.T) {
	before := time.Now().Add(-time.Second)
	reader := &fakeReader{answers: answers{inventory: rows(201), guests: map[int]guest.Observed{201: seenAt(201, before)}}}
	o := newObserver(reader, time.Second, time.Hour)
	look := func() Observed {
		t.Helper()
		if err := o.observe(t.Context(), []int{201}, nil); err != nil {
			t.Fatal(err)
		}
		return o.observed()
	}
	look()
	reader.observeErr = map[int]error{201: ErrNotReady}
	o.dueAll()
	for range 2 {
		if got := look(); !got.Guests[201].ReadAt.Equal(before) || got.Absent[201] != Unknown || got.Trouble[201] == "" {
			t.Errorf("got %+v, %q, %q, want the old reading in doubt", got.Guests[201], got.Absent[201], got.Trouble[201])
		}
	}
	reader.observeErr = nil
	if got := look(); got.Absent[201] != "" || got.Trouble[201] != "" || len(o.due) != 0 {
		t.Errorf("got %q, %q and due %v after a good look, want no doubt left", got.Absent[201], got.Trouble[201], o.due)
	}
	if want := 4; len(reader.asked) != want {
		t.Errorf("got %v asked, want %d reads", reader.asked, want)
	}
}

// The inventory lags, so a run state that it alone reports is asked of the guest.
func TestObserverAsksForAChangedRunState(t *testing.T) {
	tests := map[string]struct {
		known  guest.Status // "" before the first look
		listed guest.Status
		want   []string
	}{
		"first":         {"", guest.StatusRunning, []string{"observe 201"}},
		"first_unknown": {"", guest.StatusUnknown, []string{"status 201", "observe 201"}},
		"same":          {guest.StatusRunning, guest.StatusRunning, []string{"observe 201"}},
		"changed":       {guest.StatusRunning, guest.StatusStopped, []string{"status 201", "observe 201"}},
		"unknown":       {guest.StatusRunning, guest.StatusUnknown, []string{"status 201", "observe 201"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			reader := &fakeReader{answers: answers{inventory: rows(201), status: guest.StatusRunning, guests: map[int]guest.Observed{201: seenAt(201, time.Now())}}}
			o := newObserver(reader, time.Second, time.Hour)
			if test.known != "" {
				o.seen[201] = seenAt(201, time.Now())
			}
			reader.inventory.Rows[0].Status = test.listed
			if err := o.observe(t.Context(), []int{201}, nil); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(reader.asked, test.want) || o.seen[201].Status != guest.StatusRunning {
				t.Errorf("got %v asked and %s, want %v and running", reader.asked, o.seen[201].Status, test.want)
			}
		})
	}
}

// What changed is read at once, the rest in turn and oldest first, so that nothing is older than resync.
func TestObserverChooses(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	o := newObserver(nil, 15*time.Second, time.Minute)
	for i := range 8 {
		o.seen[200+i] = seenAt(200+i, now.Add(-time.Duration(i)*time.Second))
	}
	o.due[201] = true
	all := []int{200, 201, 202, 203, 204, 205, 206, 207, 208}
	if got, want := o.choose(all, now), []int{201, 208, 207, 206, 205}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v: due, never seen, and the tick's share of the oldest", got, want)
	}
	late := now.Add(time.Hour)
	if got := o.choose(all, late); len(got) != len(all) {
		t.Errorf("got %v after an hour, want all of them", got)
	}
}

func TestObserverMarksWhatChanged(t *testing.T) {
	o := newObserver(nil, time.Second, time.Minute)
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

// What a lane saw is newer than any sweep.
func TestObserverLearnsFromLanes(t *testing.T) {
	now := time.Now()
	o := newObserver(nil, time.Second, time.Minute)
	o.absent[201], o.trouble[201] = Unknown, "595"
	o.learn(sighting{vmid: 201, seen: seenAt(201, now)})
	if _, doubt := o.absent[201]; doubt || o.trouble[201] != "" || !o.seen[201].ReadAt.Equal(now) || o.due[201] {
		t.Errorf("got %+v, %v, %v, want what the lane saw and no more to read", o.seen[201], o.absent, o.due)
	}
	o.learn(sighting{vmid: 201, seen: seenAt(201, now), again: true})
	if !o.due[201] {
		t.Error("got no read due after a step, want one")
	}
	o.learn(sighting{vmid: 201, absence: Gone})
	if _, seen := o.seen[201]; seen || o.absent[201] != Gone {
		t.Errorf("got %v and %v after the guest was destroyed, want it gone", o.seen, o.absent)
	}
	o.learn(sighting{vmid: 202, again: true})
	if !o.due[202] {
		t.Error("got no read due after a failure, want one")
	}
}

func TestObserverReadsWhatAnotherRevisionWants(t *testing.T) {
	want := func(vmid int, memory string) guest.Desired {
		return guest.Desired{Ref: guest.Ref{VMID: vmid}, Intents: []guest.Intent{{Key: "memory", Verb: guest.Want, Text: memory}}}
	}
	o := newObserver(nil, time.Second, time.Minute)
	o.dueChanged([]guest.Desired{want(201, "1024"), want(202, "1024"), want(203, "1024")}, []guest.Desired{want(201, "1024"), want(202, "2048"), want(204, "1024")})
	if diff := cmp.Diff(map[int]bool{202: true, 203: true, 204: true}, o.due); diff != "" {
		t.Errorf("due differs (-want +got):\n%s", diff)
	}
}

// A reading is old after twice the time in which there should be a newer one.
func TestObserverTellsOldReadings(t *testing.T) {
	now := time.Now()
	o := newObserver(nil, 15*time.Second, time.Minute)
	o.trust(t.TempDir(), 10*time.Minute)
	o.seen[201], o.seen[202] = seenAt(201, now.Add(-3*time.Minute)), seenAt(202, now.Add(-3*time.Minute))
	o.list.before[202] = listed{node: "pve1", version: 7}
	if !o.stale(201, now) || o.stale(201, now.Add(-time.Minute)) || o.stale(202, now) || !o.stale(202, now.Add(18*time.Minute)) || o.stale(203, now) {
		t.Error("got another answer, want old after two minutes, or after twenty where the list of guests vouches for it")
	}
}
