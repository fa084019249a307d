package journal

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"gitops-agent/internal/racecheck"
)

// scenario returns Append calls with every kind of record, which fill several segments and start more than one compaction.
func scenario() [][]Body {
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
				IneffectiveRestart{VMID: vmid, Revision: step, StepDigest: name},
				Attached{VMID: vmid, Identity: step},
			})
		}
		if i%5 == 4 {
			calls = append(calls, []Body{Disowned{VMID: vmid}, Assigned{Kind: "Container", Name: name}, Event{Name: "gone"}})
		}
	}
	return calls
}

// scenarioOptions returns options with segments of a few records.
func scenarioOptions(d disk) Options {
	return Options{disk: d, SegmentSize: 1250, CompactAfter: 2, Retain: Retain{Records: 9}}
}

// appendFrom makes the calls from number done on, each at its own second of the bubble's clock, until one fails. It returns the number
// of all completed calls.
func appendFrom(t *testing.T, j *Journal, calls [][]Body, done int) int {
	t.Helper()
	for ; done < len(calls); done++ {
		time.Sleep(time.Until(bubbleEpoch.Add(time.Duration(done) * time.Second)))
		if err := j.Append(t.Context(), calls[done]...); err != nil {
			return done
		}
	}
	return done
}

// bubbleEpoch is the time at which a synctest bubble starts.
var bubbleEpoch = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// stateDiff describes the differences of two states of any lineages, and is empty if there is none. It looks for them only in states that are not the same, because that
// takes much longer.
func stateDiff(want, got State) string {
	want.Lineage, want.Since, want.Unread = "", time.Time{}, nil
	got.Lineage, got.Since, got.Unread = "", time.Time{}, nil
	if reflect.DeepEqual(want, got) {
		return ""
	}
	return cmp.Diff(want, got, cmpopts.EquateEmpty())
}

// scenarioStates returns the states after each number of calls, and the disk at the end.
func scenarioStates(t *testing.T, calls [][]Body) (states []State, d *memDisk) {
	t.Helper()
	d = newMemDisk()
	synctest.Test(t, func(t *testing.T) {
		compacted := 0
		opts := scenarioOptions(d)
		opts.OnCompact = func(c Compacted) {
			compacted++
			if c.Err != nil || c.Dropped == 0 {
				t.Errorf("compaction: got %+v, want records dropped", c)
			}
		}
		j := openJournal(t, opts)
		for i := range calls {
			states = append(states, j.State())
			appendFrom(t, j, calls[:i+1], i)
		}
		states = append(states, j.State())
		mustClose(t, j)
		if compacted < 3 {
			t.Errorf("got %d compactions, want at least 3: the scenario is too short to crash in a compaction", compacted)
		}
	})
	return states, d
}

// crashSeeds is how often TestCrashAtEveryWrite fails the power at each disk operation, each time with another loss. .ci/long asks for more.
var crashSeeds = flag.Int("crash-seeds", 1, "number of losses for each disk operation")

// The power fails at every disk operation. The recovered journal has every record whose Append returned, is a prefix of the calls, and
// continues from there normally.
func TestCrashAtEveryWrite(t *testing.T) {
	t.Parallel()
	calls := scenario()
	states, d := scenarioStates(t, calls)
	for how, survive := range crashOutcomes {
		t.Run(how, func(t *testing.T) {
			for run := 0; run < d.ops**crashSeeds; run += racecheck.Step() {
				at, seed := 1+run%d.ops, 7+uint64(run/d.ops)
				synctest.Test(t, func(t *testing.T) {
					rng := rand.New(rand.NewPCG(uint64(at), seed))
					disk := newMemDisk()
					disk.crashAt(at)
					j := openJournal(t, scenarioOptions(disk))
					acked := appendFrom(t, j, calls, 0)
					mustClose(t, j)
					disk = survive(disk, rng)

					disk.crashAt(1 + rng.IntN(6)) // recovery may be interrupted as well
					mustClose(t, openJournal(t, scenarioOptions(disk)))
					disk = survive(disk, rng)

					checkRecovery(t, disk, calls, states, acked, fmt.Sprintf("crash at operation %d with seed %d", at, seed))
				})
				if t.Failed() {
					return
				}
			}
			t.Logf("journal crashes: %d operations with %d losses each", d.ops, *crashSeeds)
		})
	}
}

// checkRecovery opens the journal on disk, checks that it contains the first acked calls and at most one more, and makes the other calls.
func checkRecovery(t *testing.T, disk *memDisk, calls [][]Body, states []State, acked int, when string) {
	t.Helper()
	j := openJournal(t, scenarioOptions(disk))
	if err := j.Healthy(); err != nil {
		t.Fatalf("%s: got %v, want a healthy journal", when, err)
	}
	got := j.State()
	prefix := slices.IndexFunc(states, func(s State) bool { return s.Seq == got.Seq })
	if prefix != acked && prefix != acked+1 {
		t.Fatalf("%s: got record %d as the last, want that of call %d or one more", when, got.Seq, acked)
	}
	if diff := stateDiff(states[prefix], got); diff != "" {
		t.Fatalf("%s: state after %d calls (-want +got):\n%s", when, prefix, diff)
	}
	if end := appendFrom(t, j, calls, prefix); end != len(calls) {
		t.Fatalf("%s: stopped at call %d: %v", when, end, j.Healthy())
	}
	if diff := stateDiff(states[len(calls)], j.State()); diff != "" {
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

// The last segment is cut at every byte. The journal then contains the commits before that byte.
func TestCutAtEveryByte(t *testing.T) {
	t.Parallel()
	calls := scenario()
	states, whole := scenarioStates(t, calls)
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
			j := openJournal(t, scenarioOptions(disk))
			left := len(slices.DeleteFunc(slices.Clone(ends), func(end int) bool { return end > cut }))
			if diff := stateDiff(states[len(calls)-len(ends)+left], j.State()); diff != "" {
				t.Fatalf("cut at %d: state (-want +got):\n%s", cut, diff)
			}
			if cut < headerSize { // the header is written before the file has its name, so a crash leaves the header whole
				wantDamage(t, j, last)
				return
			}
			if j.Recovered().TornBytes == 0 != (cut == headerSize || slices.Contains(ends, cut)) {
				t.Errorf("cut at %d: got %+v, want the torn bytes reported", cut, j.Recovered())
			}
			mustAppend(t, j, Event{Name: "next"})
		})
	}
}

// commitEnds returns the offsets at which the commits of a file end.
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

// wantDamage checks that j reports damage in file and takes no records.
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
