package observe

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/internal/fixture"
)

// watched is an observer of virtual machines on pve1 with a list of guests that a test writes.
type watched struct {
	testing.TB
	o        *Observer
	reader   *fixture.FakeReader
	path     string
	version  int
	versions map[int]int
}

// watch runs a test in virtual time, with a tick of 15 s, a resync of 60 s and a check of 600 s.
func watch(t *testing.T, vmids []int, test func(t *testing.T, w *watched)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &watched{TB: t, path: filepath.Join(t.TempDir(), ".vmlist"), versions: make(map[int]int)}
		w.reader = &fixture.FakeReader{Answers: fixture.Answers{Listed: rows(vmids...), Guests: make(map[int]guest.Observed)}}
		for _, vmid := range vmids {
			w.set(vmid, "first")
			w.touch(vmid)
		}
		w.o = New(w.reader, 15*time.Second, time.Minute)
		w.o.UseVMList(w.path, 10*time.Minute)
		w.write()
		test(t, w)
	})
}

// set changes what a full reading of a guest shows.
func (w *watched) set(vmid int, digest string) {
	w.reader.Guests[vmid] = guest.Observed{Ref: guest.Ref{Kind: guest.VirtualMachine, VMID: vmid}, Digest: digest}
}

// touch raises a guest's version.
func (w *watched) touch(vmid int) {
	w.version++
	w.versions[vmid] = w.version
}

func (w *watched) write() {
	w.Helper()
	var rows []string
	for vmid, version := range w.versions {
		rows = append(rows, fmt.Sprintf(`"%d": {"node": "pve1", "type": "qemu", "version": %d}`, vmid, version))
	}
	slices.Sort(rows)
	write(w, w.path, fmt.Sprintf(`{"version": %d, "ids": {%s}}`, w.version, strings.Join(rows, ",\n")))
}

// tick runs the observer once and returns the guests that it read.
func (w *watched) tick() []int {
	w.Helper()
	w.reader.Asked = nil
	var vmids []int
	for _, row := range w.reader.Listed.Rows {
		vmids = append(vmids, row.VMID)
	}
	now := time.Now()
	for vmid, seen := range w.reader.Guests {
		seen.ReadAt = now
		w.reader.Guests[vmid] = seen
	}
	if err := w.o.Observe(w.Context(), vmids, nil); err != nil {
		w.Fatal(err)
	}
	var read []int
	for _, asked := range w.reader.Asked {
		var vmid int
		if _, err := fmt.Sscanf(asked, "observe %d", &vmid); err == nil {
			read = append(read, vmid)
		}
	}
	slices.Sort(read)
	time.Sleep(15 * time.Second)
	return read
}

// ticks runs the observer n times and returns each guest that it read, once.
func (w *watched) ticks(n int) []int {
	w.Helper()
	var read []int
	for range n {
		read = append(read, w.tick()...)
	}
	slices.Sort(read)
	return slices.Compact(read)
}

func (w *watched) want(what string, got []int, want ...int) {
	w.Helper()
	if !slices.Equal(got, want) {
		w.Errorf("%s: got guests %v read, want %v (list: %q)", what, got, want, w.o.list.trouble)
	}
}

// wantRejected fails the test unless the observer rejects the list for a reason with these words.
func (w *watched) wantRejected(words string) {
	w.Helper()
	report := w.o.list.status()
	if !strings.Contains(report.Error, words) || report.Skipped != 0 {
		w.Errorf("got %q with %d skipped, want it not used because of %q", report.Error, report.Skipped, words)
	}
}

var four = []int{201, 202, 203, 204}

func TestVMListReplacesTheSweep(t *testing.T) {
	watch(t, four, func(t *testing.T, w *watched) {
		w.want("the first read", w.tick(), four...)
		w.want("nothing new", w.ticks(30))
		w.touch(203)
		w.set(203, "second")
		w.write()
		w.want("one change", w.tick(), 203)
		w.want("nothing new", w.ticks(5))
		if r := w.o.list.status(); r.Error != "" || r.Skipped != 4 {
			t.Errorf("got %+v, want the list used and four guests spared", r)
		}
		w.want("the slow check of those not read since", w.ticks(8), 201, 202, 204)
	})
}

// TestVMListDoesNotHideAFailure checks that a guest that cannot be read stays due, also if the list has not changed.
func TestVMListDoesNotHideAFailure(t *testing.T) {
	watch(t, four, func(_ *testing.T, w *watched) {
		w.tick()
		w.touch(203)
		w.write()
		w.reader.ObserveErr = map[int]error{203: cluster.ErrNotReady}
		w.want("the failure", w.ticks(3), 203)
		w.reader.ObserveErr = nil
		w.want("the first read that succeeds", w.tick(), 203)
		w.want("nothing new", w.ticks(3))
	})
}

func TestVMListFallsBackToTheSweep(t *testing.T) {
	tests := map[string]struct {
		breaks func(w *watched)
		why    string
		after  []int // what is read when the list is whole again
	}{
		"unparsable":             {func(w *watched) { write(w, w.path, "{") }, "parse list of guests", four},
		"unreadable":             {func(w *watched) { w.o.list.file.path += ".gone" }, "no such file", four},
		"versions_restart":       {func(w *watched) { w.version = 1; w.write() }, "start again from a lower number", nil},
		"guest_version_restarts": {func(w *watched) { w.versions[202] = 1; w.version++; w.write() }, "start again from a lower number", nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			watch(t, four, func(_ *testing.T, w *watched) {
				w.tick()
				w.want("before", w.ticks(3))
				path := w.o.list.file.path
				test.breaks(w)
				w.ticks(1)
				w.wantRejected(test.why)
				w.want("a resync", w.ticks(3), four...)
				w.o.list.file.path = path
				w.version += 10
				w.write()
				w.want("readings that the list can replace", w.ticks(4), test.after...)
				w.want("after", w.ticks(8))
			})
		})
	}
}

// TestVMListOutOfDateByTheInventory uses a node that is disconnected from the others and keeps its last copy of the list.
func TestVMListOutOfDateByTheInventory(t *testing.T) {
	watch(t, four, func(t *testing.T, w *watched) {
		w.tick()
		w.reader.Listed.Rows = slices.Clone(w.reader.Listed.Rows)
		w.reader.Listed.Rows[1].Node = "pve2"
		w.tick()
		if why := w.o.list.trouble; why != "" {
			t.Errorf("got %q at the first sight of a guest elsewhere, want patience: it may just have moved", why)
		}
		w.tick()
		w.wantRejected("does not have guest 202 on pve2")
		w.want("a resync", w.ticks(5), four...)
		w.wantRejected("does not have guest 202 on pve2")
		w.reader.Listed.Rows[1].Node = "pve1"
		w.touch(201)
		w.write()
		w.ticks(6)
		w.want("after", w.ticks(8))
	})
}

// TestVMListOutOfDateByTheCheck checks that the next list must contain a change that the slow check finds: a guest may always change after the list
// was read.
func TestVMListOutOfDateByTheCheck(t *testing.T) {
	watch(t, four, func(t *testing.T, w *watched) {
		w.tick()
		w.set(203, "second") // without a change of the list
		w.want("the slow check", w.ticks(41), four...)
		w.tick()
		w.wantRejected("does not show that guest 203 changed")
	})
	watch(t, four, func(t *testing.T, w *watched) {
		w.tick()
		w.set(203, "second")
		w.o.due[203] = true
		w.want("read for another reason", w.tick(), 203)
		w.touch(203)
		w.write()
		w.want("the change in the list, a moment later", w.tick(), 203)
		if why := w.o.list.trouble; why != "" {
			t.Errorf("got %q, want the list used", why)
		}
	})
}

func TestVMListChangedSinceLastRead(t *testing.T) {
	watch(t, four, func(t *testing.T, w *watched) {
		w.tick()
		w.touch(204)
		w.write()
		if w.o.list.changedSinceLastRead([]int{201, 202}) {
			t.Error("got a change of guests that were not asked for, want none")
		}
		for range 2 {
			if !w.o.list.changedSinceLastRead(four) {
				t.Error("got no change of a changed guest, want one until the next read")
			}
		}
		w.reader.ObserveErr = map[int]error{204: cluster.ErrNotReady}
		w.tick()
		if w.o.list.changedSinceLastRead(four) {
			t.Error("got the same change again after the read, want none although the guest could not be read")
		}
	})
}

// TestObserverKeepsTheNewerReading checks that a lane's reading that is older than the sweep's does not replace it: the list was compared with the
// newer reading.
func TestObserverKeepsTheNewerReading(t *testing.T) {
	watch(t, four, func(t *testing.T, w *watched) {
		old := w.reader.Guests[201]
		old.ReadAt = time.Now()
		time.Sleep(time.Second)
		w.set(201, "second")
		w.tick()
		w.o.Learn(Sighting{VMID: 201, Seen: old})
		if got := w.o.seen[201].Digest; got != "second" {
			t.Errorf("got digest %q, want the newer reading's", got)
		}
	})
}
