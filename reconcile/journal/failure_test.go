package journal

import (
	"errors"
	"math/rand/v2"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// failing makes every operation of one kind fail from now on.
func (d *memDisk) failing(what, suffix string, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.fault = func(_ int, w, name string) error {
		if w == what && strings.HasSuffix(name, suffix) {
			return err
		}
		return nil
	}
}

// waitForWriter waits until the writer has finished the work after the last commit: a refused record takes the same way.
func waitForWriter(t *testing.T, j *Journal) {
	t.Helper()
	if err := j.Append(t.Context(), Ended{Step: "never begun", Result: Done}); !errors.Is(err, ErrRefused) {
		t.Fatalf("got %v, want ErrRefused", err)
	}
}

func (d *memDisk) operations() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.ops
}

// After a failed write or fsync the journal takes no more records, even if the disk works again, and no acknowledged record is lost.
// Half of the write is on the disk: the next start cuts it.
func TestFailedCommitStopsTheJournal(t *testing.T) {
	tests := map[string]struct {
		what string
		err  error
	}{
		"disk_full":    {"write", syscall.ENOSPC},
		"write_error":  {"write", syscall.EIO},
		"fsync_failed": {"sync", syscall.EIO},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			d := newMemDisk()
			j := openJournal(t, Options{disk: d})
			mustAppend(t, j, oneOfEach()...)
			want := j.State()

			d.failing(tt.what, segmentSuffix, tt.err)
			if err := j.Append(t.Context(), Event{Name: "lost"}); !errors.Is(err, tt.err) {
				t.Errorf("got %v, want %v", err, tt.err)
			}
			d.failing("", "", nil)
			before := d.operations()
			if err := j.Append(t.Context(), Event{Name: "later"}); !errors.Is(err, tt.err) {
				t.Errorf("later: got %v, want %v", err, tt.err)
			}
			if !errors.Is(j.Healthy(), tt.err) || d.operations() != before {
				t.Errorf("got %v after %d more operations, want %v and none", j.Healthy(), d.operations()-before, tt.err)
			}
			if diff := cmp.Diff(want, j.State()); diff != "" {
				t.Errorf("state (-want +got):\n%s", diff)
			}
			mustClose(t, j)

			j = openJournal(t, Options{disk: crashOutcomes["nothing_unsynced"](d, nil)})
			if diff := cmp.Diff(want, j.State()); diff != "" || j.Healthy() != nil {
				t.Errorf("after a crash: %v, state (-want +got):\n%s", j.Healthy(), diff)
			}
		})
	}
}

func TestTornCommitIsCutAndReported(t *testing.T) {
	d := newMemDisk()
	j := openJournal(t, Options{disk: d})
	mustAppend(t, j, Event{Name: "first"})
	d.failing("write", segmentSuffix, syscall.ENOSPC)
	_ = j.Append(t.Context(), Event{Name: "torn"})
	d.failing("", "", nil)
	mustClose(t, j)

	j = openJournal(t, Options{disk: d})
	r := j.Recovered()
	if r.TornBytes == 0 || r.TornFile != segmentName(1) || r.Records != 1 {
		t.Errorf("got %+v, want the torn bytes of %s", r, segmentName(1))
	}
	mustAppend(t, j, Event{Name: "second"})
	mustClose(t, j)
	var got []Body
	if _, err := read(d, func(r Record) error { got = append(got, r.Body); return nil }); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]Body{Event{Name: "first"}, Event{Name: "second"}}, got); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
}

// After a failed fsync the page cache may contain a commit that the disk never had. A start that folds the commit must make it durable
// before it takes new records.
func TestOpenConfirmsWhatItFolds(t *testing.T) {
	d := newMemDisk()
	j := openJournal(t, Options{disk: d})
	mustAppend(t, j, Event{Name: "first"})
	d.failing("sync", segmentSuffix, syscall.EIO)
	_ = j.Append(t.Context(), Begun{Step: "s", VMID: 1, Op: "start"})
	d.failing("", "", nil)
	mustClose(t, j)

	j = openJournal(t, Options{disk: d})
	want := j.State()
	if len(want.Open) != 1 {
		t.Fatalf("got %+v, want the step in the page cache", want)
	}
	mustClose(t, j)
	j = openJournal(t, Options{disk: crashOutcomes["nothing_unsynced"](d, nil)})
	if diff := cmp.Diff(want, j.State()); diff != "" {
		t.Errorf("state after a crash (-want +got):\n%s", diff)
	}
}

// With a full disk at the start, the journal is readable and reports why it takes no records.
func TestOpenOnFailingDisk(t *testing.T) {
	for _, what := range []string{"create", "write", "sync", "rename", "syncdir", "truncate", "remove"} {
		t.Run(what, func(t *testing.T) {
			d := newMemDisk()
			j := openJournal(t, Options{disk: d})
			mustAppend(t, j, oneOfEach()...)
			want := j.State()
			mustClose(t, j)
			whole := d.names[segmentName(1)].cache
			switch what {
			case "create", "rename": // happen only in an empty directory
				d, want = newMemDisk(), State{}
			case "truncate":
				d.put(segmentName(1), append(whole, "torn"...))
			case "remove":
				d.put(segmentName(50)+tmpSuffix, nil)
			}
			d.failing(what, "", syscall.ENOSPC)
			j = openJournal(t, Options{disk: d})
			if !errors.Is(j.Healthy(), syscall.ENOSPC) {
				t.Errorf("got %v, want ENOSPC", j.Healthy())
			}
			if err := j.Append(t.Context(), Event{Name: "x"}); !errors.Is(err, syscall.ENOSPC) {
				t.Errorf("Append: got %v, want ENOSPC", err)
			}
			if diff := stateDiff(want, j.State()); diff != "" {
				t.Errorf("state (-want +got):\n%s", diff)
			}
		})
	}
}

// The commit that fills a segment is acknowledged even if the next segment cannot be created.
func TestFailedRotationStopsTheJournal(t *testing.T) {
	d := newMemDisk()
	j := openJournal(t, Options{disk: d, SegmentSize: 1})
	d.failing("create", segmentSuffix+tmpSuffix, syscall.ENOSPC)
	mustAppend(t, j, Event{Name: "first"})
	if err := j.Append(t.Context(), Event{Name: "second"}); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("got %v, want ENOSPC", err)
	}
	mustClose(t, j)
	d.failing("", "", nil)
	j = openJournal(t, Options{disk: d, SegmentSize: 1})
	if got := j.State().Seq; got != 1 || j.Healthy() != nil {
		t.Errorf("got seq %d, %v, want 1 and a healthy journal", got, j.Healthy())
	}
	mustAppend(t, j, Event{Name: "second"})
}

// A compaction without enough disk space changes nothing and is retried.
func TestFailedCompactionIsRetried(t *testing.T) {
	d := newMemDisk()
	var told []Compacted
	opts := Options{disk: d, SegmentSize: 1, CompactAfter: 2, Retain: Retain{Records: 1}, OnCompact: func(c Compacted) { told = append(told, c) }}
	j := openJournal(t, opts)
	d.failing("write", baseSuffix+tmpSuffix, syscall.ENOSPC)
	mustAppend(t, j, Accepted{Commit: "c1"})
	mustAppend(t, j, Event{Name: "x"})
	mustAppend(t, j, Event{Name: "y"})
	waitForWriter(t, j)
	d.failing("", "", nil)
	mustAppend(t, j, Event{Name: "z"})
	want := j.State()
	mustClose(t, j)
	if err := j.Healthy(); err != nil {
		t.Errorf("got %v, want a healthy journal", err)
	}
	if len(told) != 3 || !errors.Is(told[1].Err, syscall.ENOSPC) || told[2].Err != nil || told[2].Kept != 2 || told[2].Dropped != 2 {
		t.Errorf("got %+v, want two without disk space and one that kept 2 of 4", told)
	}
	names, _ := d.list()
	if diff := cmp.Diff([]string{baseName(4), segmentName(5)}, names); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	j = openJournal(t, opts)
	if diff := cmp.Diff(want, j.State()); diff != "" {
		t.Errorf("state (-want +got):\n%s", diff)
	}
}

// The number of full segments includes those from before a restart.
func TestCompactionAfterReopening(t *testing.T) {
	d := newMemDisk()
	compacted := 0
	opts := Options{disk: d, SegmentSize: 1, CompactAfter: 3, OnCompact: func(Compacted) { compacted++ }}
	for range 3 {
		j := openJournal(t, opts)
		mustAppend(t, j, Event{Name: "x"})
		mustClose(t, j)
	}
	if compacted != 1 {
		t.Errorf("got %d compactions of 3 full segments, want 1", compacted)
	}
}

// Compaction drops the old history, and the numbers continue.
func TestCompactionDropsOldHistory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newMemDisk()
		opts := Options{disk: d, SegmentSize: 1, CompactAfter: 3, Retain: Retain{Age: time.Hour, Orders: 2 * time.Hour}}
		opts.OnCompact = func(c Compacted) {
			if c.Kept != 2 || c.Dropped != 3 {
				t.Errorf("got %+v, want 2 of 5 kept", c)
			}
		}
		j := openJournal(t, opts)
		mustAppend(t, j, Accepted{Commit: "c1"}, Ordered{Key: "ran", State: OrderRun}, Ordered{Key: "waits", State: OrderSeen})
		time.Sleep(90 * time.Minute)
		mustAppend(t, j, Event{Name: "x"})
		waitForWriter(t, j)
		time.Sleep(90 * time.Minute)
		d.mu.Lock()
		d.fault = func(int, string, string) error { time.Sleep(10 * time.Minute); return nil } // the last commit gets older while it is written
		d.mu.Unlock()
		mustAppend(t, j, Event{Name: "y"})
		want := j.State()
		mustClose(t, j)
		d.fault = nil

		j = openJournal(t, opts)
		got := j.State()
		if len(want.Orders) != 2 || len(got.Orders) != 1 || got.Orders["waits"].State != OrderSeen {
			t.Errorf("got orders %+v, want only the one that has not ended", got.Orders)
		}
		if got.Seq != 5 || got.Accepted.Commit != "c1" {
			t.Errorf("got %+v, want c1 and record 5", got)
		}
		s, err := read(d, func(Record) error { return nil })
		if err != nil || s.Seq != 5 || s.Records != 2 {
			t.Errorf("got %+v, %v, want 2 records of 5", s, err)
		}
	})
}

// If it is unknown whether the base has its name, the content of the directory is uncertain.
func TestUncertainBaseStopsTheJournal(t *testing.T) {
	d := newMemDisk()
	j := openJournal(t, Options{disk: d, SegmentSize: 1, CompactAfter: 1})
	d.failing("rename", baseSuffix, syscall.EIO)
	mustAppend(t, j, Event{Name: "x"})
	if err := j.Append(t.Context(), Event{Name: "y"}); !errors.Is(err, syscall.EIO) {
		t.Errorf("got %v, want EIO", err)
	}
}

// If compaction finds damage in old segments, it stops the journal and does not replace the segments.
func TestCompactionRefusesDamage(t *testing.T) {
	d := newMemDisk()
	j := openJournal(t, Options{disk: d, SegmentSize: 1, CompactAfter: 2})
	mustAppend(t, j, Event{Name: "x"})
	waitForWriter(t, j)
	d.mu.Lock()
	d.names[segmentName(1)].cache[headerSize+frameHead+3] ^= 1
	d.mu.Unlock()
	mustAppend(t, j, Event{Name: "y"})
	wantDamage(t, j, segmentName(1))
	mustClose(t, j)
	names, _ := d.list()
	if diff := cmp.Diff([]string{segmentName(1), segmentName(2), segmentName(3)}, names); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

// Files of an interrupted compaction are ignored, and the next start removes them.
func TestOpenRemovesLeftovers(t *testing.T) {
	calls := scenario()
	states, d := scenarioStates(t, calls)
	old := newMemDisk()
	j := openJournal(t, Options{disk: old})
	mustAppend(t, j, Event{Name: "older than the base"})
	mustClose(t, j)
	want, _ := d.list()
	d.put(segmentName(1), old.names[segmentName(1)].cache)
	d.put(baseName(3), nil)
	d.put(baseName(500)+tmpSuffix, nil)
	j = openJournal(t, Options{disk: d})
	if got := j.State().Seq; got != states[len(calls)].Seq || j.Recovered().Removed != 3 {
		t.Errorf("got seq %d, %+v, want %d and 3 files removed", got, j.Recovered(), states[len(calls)].Seq)
	}
	names, _ := crashOutcomes["nothing_unsynced"](d, rand.New(rand.NewPCG(1, 1))).list()
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}
