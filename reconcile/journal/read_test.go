package journal

import (
	"bytes"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRead(t *testing.T) {
	dir := t.TempDir()
	j := openJournal(t, Options{Dir: dir})
	want := oneOfEach()
	mustAppend(t, j, want...)
	var got []Body
	s, err := Read(dir, func(r Record) error { got = append(got, r.Body); return nil }) // beside the open journal
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
	state := j.State()
	if s.Lineage != state.Lineage || !s.Since.Equal(state.Since) || s.Files != 1 || s.Records != len(want) || s.Seq != uint64(len(want)) || s.Bytes <= headerSize || len(s.Head) != 64 {
		t.Errorf("got %+v, want what the journal holds", s)
	}
}

// Two different histories have different heads, and a compaction does not change the head.
func TestReadHead(t *testing.T) {
	d := newMemDisk()
	compacted := 0
	opts := Options{disk: d, SegmentSize: 1, CompactAfter: 3, Retain: Retain{Records: 1}, OnCompact: func(Compacted) { compacted++ }}
	j := openJournal(t, opts)
	heads := map[string]bool{}
	for range 6 {
		mustAppend(t, j, Event{Name: "x"})
		waitForWriter(t, j)
		s, err := read(d, func(Record) error { return nil })
		if err != nil {
			t.Fatal(err)
		}
		if s.Head != headOf(j) {
			t.Errorf("got head %s, want %s", s.Head, headOf(j))
		}
		if want := d.bytes(); s.Bytes != want {
			t.Errorf("got %d bytes, want the %d of the files", s.Bytes, want)
		}
		heads[s.Head] = true
	}
	if len(heads) != 6 || compacted != 2 {
		t.Errorf("got %d heads and %d compactions after 6 commits, want 6 and 2", len(heads), compacted)
	}
	s, err := read(d, func(Record) error { return nil })
	if err != nil || s.Records != 1 || s.Seq != 6 {
		t.Errorf("got %+v, %v, want 1 record of 6 left", s, err)
	}
}

func (d *memDisk) bytes() int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := 0
	for _, f := range d.names {
		n += len(f.cache)
	}
	return int64(n)
}

func headOf(j *Journal) string { return hex.EncodeToString(j.chain.link[:]) }

func TestReadStopsWithYield(t *testing.T) {
	dir := t.TempDir()
	mustAppend(t, openJournal(t, Options{Dir: dir}), oneOfEach()...)
	enough := errors.New("enough")
	seen := 0
	_, err := Read(dir, func(Record) error {
		if seen++; seen == 3 {
			return enough
		}
		return nil
	})
	if !errors.Is(err, enough) || seen != 3 {
		t.Errorf("got %v after %d records, want the caller's error after 3", err, seen)
	}
	var damage *DamageError
	if errors.As(err, &damage) {
		t.Errorf("got %v, want an error that is not damage", err)
	}
}

func TestReadNoJournal(t *testing.T) {
	for _, dir := range []string{t.TempDir(), t.TempDir() + "/missing"} {
		if _, err := Read(dir, func(Record) error { return nil }); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("got %v, want fs.ErrNotExist", err)
		}
	}
}

func TestReadReportsDamageAndTheValidPart(t *testing.T) {
	_, d := manySegments(t, "x")
	d.names[segmentName(4)].cache[headerSize+frameHead+3] ^= 1
	seen := 0
	s, err := read(d, func(Record) error { seen++; return nil })
	var damage *DamageError
	if !errors.As(err, &damage) || damage.File != segmentName(4) || damage.Offset != headerSize {
		t.Errorf("got %v, want damage in %s at %d", err, segmentName(4), headerSize)
	}
	if seen != 3 || s.Records != 3 || s.Seq != 3 {
		t.Errorf("got %d records, %+v, want the 3 before it", seen, s)
	}
}

// staleList is a disk whose directory changes while it is listed: the first list lacks new files and contains removed ones.
type staleList struct {
	*memDisk
	first []string
}

func (d *staleList) list() ([]string, error) {
	if names := d.first; names != nil {
		d.first = nil
		return names, nil
	}
	return d.memDisk.list()
}

func TestReadListsAgain(t *testing.T) {
	_, d := scenarioStates(t, scenario())
	names, _ := d.list()
	for name, first := range map[string][]string{
		"base_missed":      names[1:],
		"segments_removed": {segmentName(90), segmentName(95)},
	} {
		s, err := read(&staleList{d, first}, func(Record) error { return nil })
		if err != nil || s.Files != len(names) {
			t.Errorf("%s: got %+v, %v, want all files read", name, s, err)
		}
	}
}

// growing is a file that gets longer between two reads.
type growing struct {
	now, later []byte
	ended      bool
}

func (g *growing) ReadAt(b []byte, off int64) (int, error) {
	content := g.now
	if g.ended {
		content = g.later
	}
	n, err := bytes.NewReader(content).ReadAt(b, off)
	g.ended = g.ended || errors.Is(err, io.EOF)
	return n, err
}

func (*growing) Close() error { return nil }

// A commit that is partly written when it is read first, and complete with another one behind it a moment later, is not damage.
func TestReadOvertakenByWriter(t *testing.T) {
	d := newMemDisk()
	j := openJournal(t, Options{disk: d})
	for range 3 {
		mustAppend(t, j, Event{Name: "x"})
	}
	mustClose(t, j)
	content := d.names[segmentName(1)].cache
	ends := commitEnds(t, content)
	r := replay{
		open:   func(string) (reader, error) { return &growing{now: content[:ends[1]-5], later: content}, nil },
		active: segmentName(1),
		visit:  func(frame) error { return nil },
	}
	if err := r.run(listing{segments: []string{segmentName(1)}}); err != nil || r.records != 1 {
		t.Errorf("got %v after %d records, want the complete one", err, r.records)
	}
}

// Read works while the journal rotates and compacts.
func TestReadBesideWriter(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	j := openJournal(t, killOptions(dir))
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range 250 {
			if err := j.Append(t.Context(), oneOfEach()[5:]...); err != nil {
				t.Error(err)
			}
		}
	}()
	last, rounds := uint64(0), 0
	for running := true; running; rounds++ {
		select {
		case <-done:
			running = false
		default:
		}
		next := uint64(1)
		s, err := Read(dir, func(r Record) error {
			if r.Seq != next {
				return errors.New("records are missing")
			}
			next++
			return nil
		})
		if errors.Is(err, fs.ErrNotExist) && last == 0 {
			continue
		}
		if err != nil || s.Seq < last {
			t.Fatalf("got %v, %+v after record %d", err, s, last)
		}
		last = s.Seq
	}
	if want := uint64(250 * len(oneOfEach()[5:])); last != want {
		t.Errorf("got record %d as the last, want %d", last, want)
	}
}
