package journal

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"gitops-agent/internal/racecheck"
)

// acceptance returns the records of one accepted revision: the acceptance, its orders, and the guards of many guests with names of the
// greatest length.
func acceptance(commit string, orders, guards int) []Body {
	bodies := []Body{Accepted{
		Commit: commit, Tree: commit, Branch: "main", ProvenTime: noon, Sequence: 7, Subject: "ana@example.org", Issuer: "https://issuer.example",
	}}
	for i := range orders {
		bodies = append(bodies, Ordered{
			Key: fmt.Sprintf("%s-%064d", commit, i), Order: "approve " + strings.Repeat("d", 64), Subject: "ana@example.org", Issuer: "https://issuer.example",
			Commit: commit, ProvenTime: noon, State: OrderSeen,
		})
	}
	for i := range guards {
		bodies = append(bodies, Guarded{VMID: 999_900_000 + i, Kind: "VirtualMachine", Name: strings.Repeat("n", 253), Destroy: "approve"})
	}
	return bodies
}

// The acceptance, its orders and 20,000 guards are one commit, also while other callers share commits, and survive a restart, a
// compaction and a repair.
func TestLargeAppend(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var commits []Sync
	opts := Options{Dir: dir, CompactAfter: 2, OnSync: func(s Sync) { commits = append(commits, s) }}
	j := openJournal(t, opts)
	mustAppend(t, j, oneOfEach()...)
	bodies := acceptance("c1", 200, 20_000)
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Go(func() {
			if err := j.Append(t.Context(), Event{Name: "beside", VMID: i + 1}); err != nil {
				t.Error(err)
			}
		})
	}
	mustAppend(t, j, bodies...)
	wg.Wait()
	want := j.State()
	mustClose(t, j)
	if !slices.ContainsFunc(commits, func(s Sync) bool { return s.Records == len(bodies) }) {
		t.Errorf("got no commit of the %d records alone: %+v", len(bodies), commits)
	}

	j = openJournal(t, opts)
	if got := j.State(); !reflect.DeepEqual(got, want) {
		t.Errorf("got another state after reopening: %d guards and record %d, want %d and %d", len(got.Guarded), got.Seq, len(want.Guarded), want.Seq)
	}
	compacted := false
	opts.OnCompact = func(c Compacted) { compacted = c.Err == nil }
	mustClose(t, j)
	j = openJournal(t, opts)
	mustAppend(t, j, acceptance("c2", 0, 20_000)...)
	mustAppend(t, j, acceptance("c3", 0, 20_000)...)
	waitForWriter(t, j)
	want = j.State()
	mustClose(t, j)
	if !compacted {
		t.Error("got no compaction, want one")
	}
	summary, err := Read(dir, func(Record) error { return nil })
	if err != nil || summary.Seq != want.Seq {
		t.Errorf("got %+v, %v, want %d records", summary, err, want.Seq)
	}

	damageFirstCommit(t, dir)
	report, err := Repair(dir)
	if err != nil || report.Damage == nil {
		t.Fatalf("got %+v, %v, want damage repaired", report, err)
	}
	j = openJournal(t, Options{Dir: dir})
	if got := j.State(); len(got.Guarded) != len(want.Guarded) || got.Accepted.Commit != "c3" {
		t.Errorf("got %d guards of %s after the repair, want %d of c3", len(got.Guarded), got.Accepted.Commit, len(want.Guarded))
	}
}

// damageFirstCommit changes a byte in the first commit of the first file.
func damageFirstCommit(t *testing.T, dir string) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for i := range names {
		names[i] = filepath.Base(names[i])
	}
	path := filepath.Join(dir, parseListing(names).files()[0])
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	content[headerSize+frameHead+3] ^= 1
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
}

// A call above MaxAppend is refused, and the journal stays healthy.
func TestAppendBoundsACall(t *testing.T) {
	j := openJournal(t, Options{Dir: t.TempDir()})
	if err := j.Append(t.Context(), acceptance("c1", 0, 30_000)...); !errors.Is(err, ErrRefused) || !errors.Is(err, ErrAppend) {
		t.Errorf("got %v, want ErrRefused in ErrAppend", err)
	}
	mustAppend(t, j, Event{Name: "next"})
	if got := j.State(); got.Seq != 1 || got.Accepted != nil {
		t.Errorf("got %+v, want only the event", got)
	}
}

// A thousand guests with one guarded firewall of 32 KiB are one commit, which contains the firewall once, also after a compaction.
func TestSharedFirewalls(t *testing.T) {
	t.Parallel()
	dir, firewall := t.TempDir(), strings.Repeat("f", 32<<10)
	bodies := []Body{Accepted{Commit: "c1"}}
	for i := range 1000 {
		bodies = append(bodies, guardedBy(i+1, firewall))
	}
	bodies = append(bodies, guardedBy(500, "another one")) // so that the compaction leaves a record out
	opts := Options{Dir: dir, SegmentSize: 8 << 10, CompactAfter: 1, Retain: Retain{Records: 1, Age: time.Nanosecond}}
	compacted := 0
	opts.OnCompact = func(c Compacted) {
		if c.Err == nil {
			compacted++
		}
	}
	j := openJournal(t, opts)
	mustAppend(t, j, bodies...)
	for i := range 100 {
		mustAppend(t, j, Event{Name: "later", Message: strings.Repeat("x", 1000), VMID: i + 1})
	}
	waitForWriter(t, j)
	want := j.State()
	mustClose(t, j)
	if compacted == 0 {
		t.Fatal("got no compaction, want some")
	}
	if size := bytesIn(t, dir); size > 256<<10 {
		t.Errorf("got %d bytes on disk, want the firewall once", size)
	}
	j = openJournal(t, Options{Dir: dir})
	defer mustClose(t, j)
	got := j.State()
	if !reflect.DeepEqual(got.Guarded, want.Guarded) || got.Guarded[1000].Rules.Firewall != firewall {
		t.Errorf("got %d guards, want the %d as before", len(got.Guarded), len(want.Guarded))
	}
}

// bytesIn returns the size of the files in a folder.
func bytesIn(t *testing.T, dir string) (size int64) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		size += info.Size()
	}
	return size
}

// Only the segment of a large commit has version 2, so that an older release can read the journal before and refuses it afterwards.
func TestLargeCommitHasItsOwnVersion(t *testing.T) {
	d := newMemDisk()
	j := openJournal(t, Options{disk: d, SegmentSize: 3 << 20})
	mustAppend(t, j, Event{Name: "before"})
	mustAppend(t, j, Event{Name: "large", Message: strings.Repeat("x", 3<<20)})
	waitForWriter(t, j)
	mustAppend(t, j, Event{Name: "after"})
	mustClose(t, j)
	versions := map[string]byte{segmentName(1): 1, segmentName(2): 2, segmentName(3): 1}
	names, _ := d.list()
	if len(names) != len(versions) {
		t.Errorf("got files %v, want three segments", names)
	}
	for name, want := range versions {
		if got := d.names[name].cache[8]; got != want {
			t.Errorf("%s: got version %d, want %d", name, got, want)
		}
	}
	f, err := readFrame(streamFrom(memReaderOf(d, segmentName(2)), headerSize), maxLargePayload)
	if err != nil || !f.large() {
		t.Errorf("got %v, want the large commit", err)
	}
}

// A large commit to an empty segment replaces the segment. A reader that opened the empty one still reads a valid journal.
func TestLargeCommitReplacesAnEmptySegment(t *testing.T) {
	dir := t.TempDir()
	j := openJournal(t, Options{Dir: dir, largePayload: 100})
	d, err := openDisk(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer d.root.Close()
	snap, err := takeSnapshot(d)
	if err != nil {
		t.Fatal(err)
	}
	defer snap.close()
	mustAppend(t, j, acceptance("c1", 1, 1)...)
	mustClose(t, j)
	empty := replay{open: snap.open, active: snap.listing.active(), visit: func(frame) error { return nil }}
	if err := empty.run(snap.listing); err != nil || empty.records != 0 {
		t.Errorf("got %v and %d records through the files opened before, want none", err, empty.records)
	}
	names, err := d.list()
	if diff := cmp.Diff([]string{segmentName(1), lockName}, names); diff != "" || err != nil {
		t.Errorf("files: %v (-want +got):\n%s", err, diff)
	}
	j = openJournal(t, Options{Dir: dir})
	stored := j.store.(*files)
	if got := j.State(); got.Seq != 3 || !stored.large || stored.sealed != 0 {
		t.Errorf("got record %d as the last, version 2 %t, %d sealed segments, want 3, true and 0", got.Seq, stored.large, stored.sealed)
	}
}

// A large commit in a file of version 1 is not a commit, because no release writes it there.
func TestLargeCommitNeedsItsVersion(t *testing.T) {
	c := newChain(noon, 1)
	large := frame{seq: 1, count: 1, payload: encodeAll(t, []Body{Event{Name: "x", Message: strings.Repeat("x", 3<<20)}})}.after(c.link)
	for version, want := range map[bool]uint64{false: 0, true: 1} {
		d := newMemDisk()
		d.put(segmentName(1), inFile(header{large: version, role: roleSegment, chain: c}, large))
		j := openJournal(t, Options{disk: d})
		if got := j.State().Seq; got != want {
			t.Errorf("version 2 %t: got record %d as the last, want %d", version, got, want)
		}
	}
	over := frame{seq: 1, count: 1, payload: []byte(strings.Repeat("x", maxLargePayload+1))}.after(c.link)
	if _, err := readFrame(strings.NewReader(string(over.append(nil))), maxLargePayload); !errors.Is(err, errFrame) {
		t.Errorf("got %v, want a payload above the limit refused", err)
	}
}

// The memory for a payload of the greatest length is bounded, also if the records are as short as possible or not valid.
func TestDecodeBoundsMemory(t *testing.T) {
	for name, record := range map[string]string{"empty": `{}`, "null": `{"begun":null}`, "short": `{"begun":{}}`, "deep": `{"begun":[[[[[[[[`} {
		t.Run(name, func(t *testing.T) {
			count := maxLargePayload / (len(record) + 1)
			payload := []byte(`{"v":1,"records":[` + strings.Repeat(record+",", count-10) + record + "]}")
			if len(payload) > maxLargePayload {
				t.Fatalf("got a payload of %d bytes, want at most %d", len(payload), maxLargePayload)
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := decodePayload(payload)
			runtime.ReadMemStats(&after)
			if got, want := after.TotalAlloc-before.TotalAlloc, uint64(96*len(payload)); got > want {
				t.Errorf("got %d bytes allocated (%v), want at most %d", got, err, want)
			}
		})
	}
}

// The file is cut at every byte of an append with an acceptance, orders and guards: recovery returns all of its records or none, in a
// segment of version 1 and in one of version 2.
func TestCutAtEveryByteOfAnAcceptance(t *testing.T) {
	t.Parallel()
	for name, largePayload := range map[string]int{"version_1": maxPayload, "version_2": 600} {
		t.Run(name, func(t *testing.T) {
			d := newMemDisk()
			opts := Options{disk: d, largePayload: largePayload}
			j := openJournal(t, opts)
			mustAppend(t, j, Accepted{Commit: "c1"}, Guarded{VMID: 999_900_001, Destroy: "deny"})
			before := j.State()
			mustAppend(t, j, acceptance("c2", 2, 3)...)
			after := j.State()
			mustClose(t, j)
			names, _ := d.list()
			last := parseListing(names).active()
			content := d.names[last].cache
			ends := commitEnds(t, content)
			start := headerSize
			if len(ends) > 1 {
				start = ends[len(ends)-2]
			}
			for cut := start; cut <= len(content); cut++ {
				cutDisk := d.clone()
				cutDisk.put(last, content[:cut])
				j := openJournal(t, Options{disk: cutDisk, largePayload: largePayload})
				want := before
				if cut == len(content) {
					want = after
				}
				if diff := cmp.Diff(want, j.State()); diff != "" || j.Healthy() != nil {
					t.Fatalf("cut at %d of %d: %v, state (-want +got):\n%s", cut, len(content), j.Healthy(), diff)
				}
				mustAppend(t, j, Event{Name: "next"})
				mustClose(t, j)
			}
		})
	}
}

// The power fails at every operation of the disk while commits change between the versions: recovery returns every acknowledged append
// and at most one more, each as a whole.
func TestCrashAtEveryWriteOfLargeCommits(t *testing.T) {
	t.Parallel()
	options := func(d disk) Options {
		return Options{disk: d, SegmentSize: 4000, CompactAfter: 3, Retain: Retain{Records: 12}, largePayload: 700}
	}
	var calls [][]Body
	for i := range 12 {
		calls = append(calls, []Body{Event{Name: fmt.Sprint("small ", i)}}, acceptance(fmt.Sprintf("c%d", i), 1, 1+i%4))
	}
	states, ops := largeStates(t, options, calls)
	for how, survive := range crashOutcomes {
		t.Run(how, func(t *testing.T) {
			for at := 1; at <= ops; at += racecheck.Step() {
				synctest.Test(t, func(t *testing.T) {
					rng := rand.New(rand.NewPCG(uint64(at), 11))
					d := newMemDisk()
					d.crashAt(at)
					j := openJournal(t, options(d))
					acked := appendFrom(t, j, calls, 0)
					mustClose(t, j)
					j = openJournal(t, options(survive(d, rng)))
					got := j.State()
					n := slices.IndexFunc(states, func(s State) bool { return s.Seq == got.Seq })
					if j.Healthy() != nil || n != acked && n != acked+1 {
						t.Fatalf("crash at operation %d: got %v and record %d as the last, want that of call %d or one more", at, j.Healthy(), got.Seq, acked)
					}
					if diff := stateDiff(states[n], got); diff != "" {
						t.Fatalf("crash at operation %d: state after %d calls (-want +got):\n%s", at, n, diff)
					}
					if end := appendFrom(t, j, calls, n); end != len(calls) {
						t.Fatalf("crash at operation %d: stopped at call %d: %v", at, end, j.Healthy())
					}
				})
				if t.Failed() {
					return
				}
			}
		})
	}
}

// largeStates returns the states after each number of calls, and the number of disk operations.
func largeStates(t *testing.T, options func(disk) Options, calls [][]Body) (states []State, ops int) {
	t.Helper()
	d := newMemDisk()
	synctest.Test(t, func(t *testing.T) {
		opts := options(d)
		compactions := 0
		opts.OnCompact = func(Compacted) { compactions++ }
		j := openJournal(t, opts)
		states = append(states, j.State())
		for i := range calls {
			appendFrom(t, j, calls[:i+1], i)
			states = append(states, j.State())
		}
		mustClose(t, j)
		if compactions < 2 {
			t.Errorf("got %d compactions, want at least 2", compactions)
		}
	})
	return states, d.ops
}

// A large append costs about the same per record as a small one.
func BenchmarkAppend20k(b *testing.B) {
	j := openJournal(b, Options{Dir: b.TempDir()})
	bodies := acceptance("c1", 200, 20_000)
	for i := 0; b.Loop(); i++ {
		bodies[0] = Accepted{Commit: fmt.Sprint(i), ProvenTime: time.Now()}
		mustAppend(b, j, bodies...)
	}
	b.ReportMetric(float64(b.N*len(bodies))/b.Elapsed().Seconds(), "records/s")
}

func memReaderOf(d *memDisk, name string) reader {
	r, err := d.open(name)
	if err != nil {
		panic(err)
	}
	return r
}
