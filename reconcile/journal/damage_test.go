package journal

import (
	"bytes"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"gitops-agent/internal/racecheck"
)

// atScenarioEnd runs check in a bubble at the time of the scenario's end.
func atScenarioEnd(t *testing.T, check func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Duration(len(scenario())) * time.Second)
		check(t)
	})
}

// openDamaged checks that Open reports damage in file, returns a state that existed once, and changes nothing on the disk.
func openDamaged(t *testing.T, d *memDisk, states []State, file string) {
	t.Helper()
	before := d.clone()
	j := openJournal(t, scenarioOptions(d))
	wantDamage(t, j, file)
	got := j.State()
	if got.Unread == nil {
		t.Error("got a state with all records, want that some are missing")
	}
	known := slices.IndexFunc(states, func(s State) bool { return s.Seq == got.Seq })
	if !partOfBase(d, got) && (known < 0 || stateDiff(states[known], got) != "") {
		t.Fatalf("got a state that never existed: %+v", got)
	}
	mustClose(t, j)
	for name, f := range before.names {
		if !bytes.Equal(f.cache, d.names[name].cache) {
			t.Fatalf("%s was changed", name)
		}
	}
	if d.ops != 0 {
		t.Fatalf("got %d operations on a damaged journal, want none", d.ops)
	}
}

// partOfBase reports whether a state is older than the end of the base. Such a state is not complete, because compaction kept only
// the records that mattered at the end.
func partOfBase(d *memDisk, got State) bool {
	names, _ := d.list()
	base, ok := parseName(parseListing(names).base, baseSuffix)
	return ok && got.Seq <= base
}

// A flipped bit is damage or, in the very last commit, a torn tail. Every flipped bit is detected.
func TestEveryFlippedBitIsDetected(t *testing.T) {
	t.Parallel()
	calls := scenario()
	states, whole := scenarioStates(t, calls)
	names, _ := whole.list()
	l := parseListing(names)
	for _, name := range l.files() {
		content := whole.names[name].cache
		lastCommit := len(content)
		if name == l.active() {
			ends := commitEnds(t, content)
			lastCommit = ends[len(ends)-2]
		}
		for at := 0; at < len(content); at += racecheck.Step() * (1 + at%3) { // every bit position is tested
			atScenarioEnd(t, func(t *testing.T) {
				d := whole.clone()
				d.names[name].cache[at] ^= 1 << (at % 8)
				if at < lastCommit {
					openDamaged(t, d, states, name)
					return
				}
				j := openJournal(t, scenarioOptions(d))
				if j.Healthy() != nil || j.Recovered().TornBytes != int64(len(content)-lastCommit) {
					t.Errorf("byte %d: got %v, %+v, want the last commit cut", at, j.Healthy(), j.Recovered())
				}
				if diff := stateDiff(states[len(calls)-1], j.State()); diff != "" {
					t.Errorf("byte %d: state (-want +got):\n%s", at, diff)
				}
			})
			if t.Failed() {
				t.Fatalf("with bit %d of byte %d of %s flipped", at%8, at, name)
			}
		}
	}
}

func TestMissingOrForeignFilesAreDamage(t *testing.T) {
	_, foreign := manySegments(t, "foreign")
	states, whole := manySegments(t, "ours")
	tests := map[string]struct {
		change func(d *memDisk)
		file   string
	}{
		"first_missing":  {func(d *memDisk) { delete(d.names, segmentName(1)) }, segmentName(2)},
		"middle_missing": {func(d *memDisk) { delete(d.names, segmentName(3)) }, segmentName(4)},
		"swapped": {func(d *memDisk) {
			d.names[segmentName(2)], d.names[segmentName(3)] = d.names[segmentName(3)], d.names[segmentName(2)]
		}, segmentName(2)},
		"renamed": {func(d *memDisk) {
			d.names[segmentName(30)] = d.names[segmentName(3)]
			delete(d.names, segmentName(3))
		}, segmentName(4)},
		"last_renamed": {func(d *memDisk) {
			d.names[segmentName(60)] = d.names[segmentName(6)]
			delete(d.names, segmentName(6))
		}, segmentName(60)},
		"foreign":       {func(d *memDisk) { d.names[segmentName(3)] = foreign.names[segmentName(3)] }, segmentName(3)},
		"foreign_first": {func(d *memDisk) { d.names[segmentName(1)] = foreign.names[segmentName(1)] }, segmentName(2)},
		"foreign_empty": {func(d *memDisk) { d.names[segmentName(6)] = foreign.names[segmentName(6)] }, segmentName(6)},
		"segment_for_base": {func(d *memDisk) {
			d.names[baseName(2)] = d.names[segmentName(2)]
		}, baseName(2)},
		"sealed_cut_at_commit": {func(d *memDisk) {
			f := d.names[segmentName(3)]
			f.cache = f.cache[:headerSize]
		}, segmentName(4)},
		"sealed_cut_in_commit": {func(d *memDisk) {
			f := d.names[segmentName(3)]
			f.cache = f.cache[:len(f.cache)-1]
		}, segmentName(3)},
		"commit_twice": {func(d *memDisk) {
			f := d.names[segmentName(3)]
			f.cache = append(f.cache, f.cache[headerSize:]...)
		}, segmentName(3)},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			d := whole.clone()
			tt.change(d)
			openDamaged(t, d, states, tt.file)
		})
	}
}

// A forged or misplaced commit is damage even with correct checksums.
func TestForgeryIsDamage(t *testing.T) {
	c := newChain(time.Now(), 1)
	commit := func(seq uint64, name string) frame {
		return frame{seq: seq, count: 1, payload: encodeAll(t, []Body{Event{Name: name}})}
	}
	one := commit(1, "one").after(c.link)
	two := commit(2, "two").after(one.link)
	forged := commit(1, "forged")
	forged.link = one.link // the next commit still follows it
	base := func(kept uint64, next uint64, commits ...frame) []byte {
		h := header{role: roleBase, chain: c, kept: kept, end: commits[len(commits)-1].link}
		h.chain.next = next
		return inFile(h, commits...)
	}
	segment := header{role: roleSegment, chain: c}
	twice := one.after(one.link)
	tests := map[string]struct {
		name    string
		content []byte
	}{
		"payload":             {segmentName(1), inFile(segment, forged, two)},
		"order":               {segmentName(1), inFile(segment, two, one)},
		"number_skipped":      {segmentName(1), inFile(segment, one, commit(3, "three").after(one.link))},
		"number_again":        {segmentName(1), inFile(segment, one, twice)},
		"too_few_bodies":      {segmentName(1), inFile(segment, frame{seq: 1, count: 2, payload: one.payload}.after(c.link), two)},
		"lineage_without_it":  {segmentName(1), inFile(header{role: roleSegment, chain: newChainLinked(one.link)}, commit(1, "one").after(one.link))},
		"base_count":          {baseName(2), base(3, 3, one, two)},
		"base_end":            {baseName(2), inFile(header{role: roleBase, chain: atSeq(c, 3), kept: 2, end: one.link}, one, two)},
		"base_renamed":        {baseName(3), base(2, 3, one, two)},
		"base_number_again":   {baseName(2), base(2, 3, one, twice)},
		"base_number_too_far": {baseName(1), base(2, 2, one, two)},
		"base_cut_at_commit":  {baseName(2), inFile(header{role: roleBase, chain: atSeq(c, 3), kept: 2, end: two.link}, one)},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			d := newMemDisk()
			d.put(tt.name, tt.content)
			wantDamage(t, openJournal(t, Options{disk: d}), tt.name)
		})
	}
}

func inFile(h header, commits ...frame) []byte {
	b := h.bytes()
	for _, f := range commits {
		b = f.append(b)
	}
	return b
}

func atSeq(c chain, next uint64) chain {
	c.next = next
	return c
}

// newChainLinked returns a chain that does not start at the link of its lineage.
func newChainLinked(link [32]byte) chain {
	c := newChain(time.Now(), 1)
	c.link = link
	return c
}

// Compaction detects a segment that was removed while the agent runs, before it writes a base without that segment.
func TestCompactionDetectsMissingSegment(t *testing.T) {
	d := newMemDisk()
	j := openJournal(t, Options{disk: d, SegmentSize: 1, CompactAfter: 3})
	mustAppend(t, j, Event{Name: "x"})
	mustAppend(t, j, Event{Name: "y"})
	waitForWriter(t, j)
	d.mu.Lock()
	delete(d.names, segmentName(3)) // still open for writing, so the next commit is written to it
	d.mu.Unlock()
	mustAppend(t, j, Event{Name: "z"})
	wantDamage(t, j, segmentName(2))
	mustClose(t, j)
	names, _ := d.list()
	if diff := cmp.Diff([]string{segmentName(1), segmentName(2), segmentName(4)}, names); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

// manySegments returns a journal with one record in each of five segments and none in the sixth, and its states.
func manySegments(t *testing.T, name string) ([]State, *memDisk) {
	t.Helper()
	d := newMemDisk()
	j := openJournal(t, Options{disk: d, SegmentSize: 1, CompactAfter: 100})
	states := []State{j.State()}
	for range 5 {
		mustAppend(t, j, Event{Name: name})
		states = append(states, j.State())
	}
	mustClose(t, j)
	return states, d.clone()
}

// Bad bytes before a later commit were valid once: cutting them would lose acknowledged records.
func TestTornTailIsNotDamage(t *testing.T) {
	d := newMemDisk()
	j := openJournal(t, Options{disk: d})
	for range 3 {
		mustAppend(t, j, Event{Name: "x"})
	}
	mustClose(t, j)
	content := d.names[segmentName(1)].cache
	ends := commitEnds(t, content)
	second := content[ends[0]:ends[1]]
	tests := map[string]struct {
		content []byte
		damaged bool
	}{
		"garbage":         {append(slices.Clone(content), "\x00\x00garbage"...), false},
		"half_a_commit":   {content[:ends[2]-3], false},
		"hole_before_one": {append(append(slices.Clone(content[:ends[0]]), make([]byte, 90)...), content[ends[1]:]...), true},
		"old_block":       {append(append(slices.Clone(content), make([]byte, 90)...), second...), false},
		"one_replayed":    {append(slices.Clone(content), second...), true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			d := newMemDisk()
			d.put(segmentName(1), tt.content)
			j := openJournal(t, Options{disk: d})
			var damage *DamageError
			if got := errors.As(j.Healthy(), &damage); got != tt.damaged {
				t.Errorf("got %v, want damage: %t", j.Healthy(), tt.damaged)
			}
			if torn := j.Recovered().TornBytes > 0; torn == tt.damaged {
				t.Errorf("got %+v, want torn bytes: %t", j.Recovered(), !tt.damaged)
			}
		})
	}
}

// The journal of a newer release is not cut, not compacted and not repaired.
func TestNewerFormatIsNotChanged(t *testing.T) {
	link := func(c chain, payload string) []byte {
		return frame{seq: 1, count: 1, payload: []byte(payload)}.after(c.link).append(nil)
	}
	c := newChain(time.Now(), 1)
	h := header{role: roleSegment, chain: c}.bytes()
	newer := reseal(func(b []byte) { b[8] = largeFileVersion + 1 }, h)
	tests := map[string][]byte{
		"file":    newer,
		"kind":    append(slices.Clone(h), link(c, `{"v":99,"records":[{"moved":{"vmid":1}}]}`)...),
		"field":   append(slices.Clone(h), link(c, `{"v":99,"records":[{"event":{"name":"x","colour":"red"}}]}`)...),
		"version": append(slices.Clone(h), link(c, `{"v":99,"records":[{"event":{"name":"x"}}]}`)...),
	}
	for name, content := range tests {
		t.Run(name, func(t *testing.T) {
			d := newMemDisk()
			d.put(segmentName(1), content)
			if _, err := Open(Options{disk: d}); !errors.Is(err, ErrNewerFormat) {
				t.Errorf("Open: got %v, want ErrNewerFormat", err)
			}
			if _, err := read(d, func(Record) error { return nil }); !errors.Is(err, ErrNewerFormat) {
				t.Errorf("Read: got %v, want ErrNewerFormat", err)
			}
			if _, err := repair(d, time.Now()); !errors.Is(err, ErrNewerFormat) {
				t.Errorf("Repair: got %v, want ErrNewerFormat", err)
			}
			if d.ops != 0 {
				t.Errorf("got %d operations, want none", d.ops)
			}
		})
	}
}
