package journal

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// story is a run of calls that touches every kind of record, fills several segments and compacts more than once.
func story() [][]Body {
	var calls [][]Body
	for i := range 14 {
		step, vmid, name := fmt.Sprintf("s%d", i), 100+i%5, fmt.Sprintf("web-%d", i%5)
		calls = append(calls,
			[]Body{Accepted{Commit: fmt.Sprintf("c%d", i), Sequence: uint64(i)}, Ordered{Key: fmt.Sprintf("k%d", i), State: OrderSeen}},
			[]Body{Assigned{Kind: "Container", Name: name, VMID: vmid}},
			[]Body{Begun{Step: step, VMID: vmid, Op: OpDestroy, Detail: map[string]string{"i": step}}},
		)
		if i%3 != 0 {
			calls = append(calls, []Body{Dispatched{Step: step, UPID: "UPID:" + step}})
		}
		if i%4 != 0 {
			calls = append(calls, []Body{
				Ended{Step: step, Result: Done},
				Owned{VMID: vmid, Identity: step, Origin: Created},
				Guarded{VMID: vmid, Destroy: "deny"},
				Ordered{Key: fmt.Sprintf("k%d", i), State: OrderRun},
			})
		}
		if i%3 == 1 {
			calls = append(calls, []Body{
				Applied{VMID: vmid, Identity: step, Fingerprints: map[string]string{"cipassword": step}},
				Futile{VMID: vmid, Revision: step, StepDigest: name},
			})
		}
		if i%5 == 4 {
			calls = append(calls, []Body{Disowned{VMID: vmid}, Assigned{Kind: "Container", Name: name}, Event{Name: "gone"}})
		}
	}
	return calls
}

// storyOptions make segments of a few records.
func storyOptions(d disk) Options {
	return Options{disk: d, SegmentSize: 1250, CompactAfter: 2, Retain: Retain{Records: 9}}
}

// tell makes the calls from the given one on, each at its own second of the bubble's clock, until one fails. It returns how
// many were made in all.
func tell(t *testing.T, j *Journal, calls [][]Body, done int) int {
	t.Helper()
	for ; done < len(calls); done++ {
		time.Sleep(time.Until(bubbleEpoch.Add(time.Duration(done) * time.Second)))
		if err := j.Append(t.Context(), calls[done]...); err != nil {
			return done
		}
	}
	return done
}

// bubbleEpoch is when a synctest bubble begins.
var bubbleEpoch = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// sameLife compares states of different lineages.
var sameLife = cmp.Options{cmpopts.IgnoreFields(State{}, "Lineage", "Since"), cmpopts.EquateEmpty()}

// storyStates are the states after each number of calls, and how many disk operations it took to come to the end.
func storyStates(t *testing.T, calls [][]Body) (states []State, d *memDisk) {
	t.Helper()
	d = newMemDisk()
	synctest.Test(t, func(t *testing.T) {
		compacted := 0
		opts := storyOptions(d)
		opts.OnCompact = func(c Compacted) {
			compacted++
			if c.Err != nil || c.Dropped == 0 {
				t.Errorf("compaction: got %+v, want records dropped", c)
			}
		}
		j := openJournal(t, opts)
		for i := range calls {
			states = append(states, j.State())
			tell(t, j, calls[:i+1], i)
		}
		states = append(states, j.State())
		mustClose(t, j)
		if compacted < 3 {
			t.Errorf("got %d compactions, want at least 3: the story is too short to crash in one", compacted)
		}
	})
	return states, d
}

// Whatever the power does at whatever instant, the journal comes back with every record whose Append returned, with a prefix
// of what was asked for, and goes on from there as if nothing had been.
func TestCrashAtEveryWrite(t *testing.T) {
	calls := story()
	states, d := storyStates(t, calls)
	for how, survive := range survivors {
		t.Run(how, func(t *testing.T) {
			for at := 1; at <= d.ops; at++ {
				synctest.Test(t, func(t *testing.T) {
					rng := rand.New(rand.NewPCG(uint64(at), 7))
					disk := newMemDisk()
					disk.crashAt(at)
					j := openJournal(t, storyOptions(disk))
					acked := tell(t, j, calls, 0)
					mustClose(t, j)
					disk = survive(disk, rng)

					disk.crashAt(1 + rng.IntN(6)) // recovery may be interrupted as well
					mustClose(t, openJournal(t, storyOptions(disk)))
					disk = survive(disk, rng)

					goesOn(t, disk, calls, states, acked, fmt.Sprintf("crash at operation %d", at))
				})
				if t.Failed() {
					return
				}
			}
		})
	}
}

// goesOn opens the journal on disk, wants the first acked calls in it and at most one more, and tells the rest.
func goesOn(t *testing.T, disk *memDisk, calls [][]Body, states []State, acked int, when string) {
	t.Helper()
	j := openJournal(t, storyOptions(disk))
	if err := j.Healthy(); err != nil {
		t.Fatalf("%s: got %v, want a healthy journal", when, err)
	}
	got := j.State()
	prefix := slices.IndexFunc(states, func(s State) bool { return s.Seq == got.Seq })
	if prefix != acked && prefix != acked+1 {
		t.Fatalf("%s: got record %d as the last, want that of call %d or one more", when, got.Seq, acked)
	}
	if diff := cmp.Diff(states[prefix], got, sameLife); diff != "" {
		t.Fatalf("%s: state after %d calls (-want +got):\n%s", when, prefix, diff)
	}
	if end := tell(t, j, calls, prefix); end != len(calls) {
		t.Fatalf("%s: got stuck at call %d: %v", when, end, j.Healthy())
	}
	if diff := cmp.Diff(states[len(calls)], j.State(), sameLife); diff != "" {
		t.Errorf("%s: state at the end (-want +got):\n%s", when, diff)
	}
	mustClose(t, j)
	s, err := read(disk, func(Record) error { return nil })
	if err != nil || s.Seq != got.Seq+countFrom(calls, prefix) || s.TornBytes != 0 {
		t.Errorf("%s: got %+v, %v, want everything up to record %d", when, s, err, got.Seq+countFrom(calls, prefix))
	}
}

func countFrom(calls [][]Body, from int) uint64 {
	n := 0
	for _, c := range calls[from:] {
		n += len(c)
	}
	return uint64(n)
}

// A file that ends at any byte of the last segment's commits holds the commits before that byte.
func TestCutAtEveryByte(t *testing.T) {
	calls := story()
	states, whole := storyStates(t, calls)
	names, _ := whole.list()
	last := parseListing(names).active()
	content := whole.names[last].cache
	ends := commitEnds(t, content)
	if len(ends) < 3 {
		t.Fatalf("got %d commits in %s, want some to cut", len(ends), last)
	}
	for cut := range len(content) {
		synctest.Test(t, func(t *testing.T) {
			time.Sleep(time.Duration(len(calls)) * time.Second)
			disk := whole.clone()
			disk.put(last, content[:cut])
			j := openJournal(t, storyOptions(disk))
			left := len(slices.DeleteFunc(slices.Clone(ends), func(end int) bool { return end > cut }))
			if diff := cmp.Diff(states[len(calls)-len(ends)+left], j.State(), sameLife); diff != "" {
				t.Fatalf("cut at %d: state (-want +got):\n%s", cut, diff)
			}
			if cut < headerSize { // it is written before the file has its name, so a crash leaves it whole
				wantDamage(t, j, last)
				return
			}
			if j.Recovered().TornBytes == 0 != (cut == headerSize || slices.Contains(ends, cut)) {
				t.Errorf("cut at %d: got %+v, want the torn bytes told", cut, j.Recovered())
			}
			mustAppend(t, j, Event{Name: "next"})
		})
	}
}

// commitEnds returns where the commits of a file end.
func commitEnds(t *testing.T, content []byte) []int {
	t.Helper()
	var ends []int
	for at := headerSize; at < len(content); {
		f, err := readFrame(bytes.NewReader(content[at:]), maxPayload)
		if err != nil {
			t.Fatal(err)
		}
		at += int(f.size())
		ends = append(ends, at)
	}
	return ends
}

// wantDamage wants j to name file as damaged and to take nothing.
func wantDamage(t *testing.T, j *Journal, file string) {
	t.Helper()
	var damage *DamageError
	if err := j.Append(t.Context(), Event{Name: "x"}); !errors.As(err, &damage) {
		t.Fatalf("Append on a damaged journal: got %v, want the damage", err)
	}
	if err := j.Healthy(); !errors.As(err, &damage) || damage.File != file {
		t.Fatalf("got %v, want damage in %s", err, file)
	}
}
