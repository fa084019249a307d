package journal

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
)

// salvage is what can be read of a damaged journal: every commit whose own checksum holds, wherever it stands.
type salvage struct {
	lineage   string // that of most files
	foreign   []string
	records   map[uint64]Record
	last      uint64 // highest seq that is known to have been given out
	lostBytes int64
	lostKept  int // records that a base counted and that are gone
}

// remains is one file of a damaged journal.
type remains struct {
	name    string
	header  header
	intact  bool // the header is
	records []Record
	lost    int64
}

// gatherRemains reads every file of the journal in d, those that compaction had left behind included.
func gatherRemains(d disk, l listing) (salvage, error) {
	var files []remains
	for _, name := range l.all() {
		f, err := readRemains(d, name)
		if err != nil {
			return salvage{}, err
		}
		files = append(files, f)
	}
	s := salvage{lineage: commonLineage(files), records: map[uint64]Record{}}
	for _, f := range files {
		if f.intact && f.header.chain.lineage() != s.lineage {
			s.foreign = append(s.foreign, f.name)
			continue
		}
		s.add(f)
	}
	return s, nil
}

func (s *salvage) add(f remains) {
	for _, r := range f.records {
		s.records[r.Seq] = r
		s.last = max(s.last, r.Seq)
	}
	s.lostBytes += f.lost
	if seq, ok := parseName(f.name, baseSuffix); ok {
		s.last = max(s.last, seq)
	}
	if first, ok := parseName(f.name, segmentSuffix); ok {
		s.last = max(s.last, first-1)
	}
	if f.intact && f.header.role == roleBase {
		s.lostKept += max(int(f.header.kept)-len(f.records), 0) //nolint:gosec // a wrong count is only reported
	}
}

// readRemains takes the frames that hold out of one file. Bytes that the disk does not give back are lost like bad ones.
func readRemains(d disk, name string) (remains, error) {
	src, err := d.open(name)
	if err != nil {
		return remains{}, fmt.Errorf("open %s: %w", name, err)
	}
	defer src.Close()
	b, readErr := io.ReadAll(from(src, 0))
	f := remains{name: name}
	f.header, err = readHeader(bytes.NewReader(b))
	if errors.Is(err, ErrNewerFormat) {
		return remains{}, fmt.Errorf("read %s: %w", name, err)
	}
	if f.intact = err == nil; f.intact {
		b = b[headerSize:]
	}
	for {
		frame, at := findFrame(b)
		if at < 0 {
			break
		}
		f.lost += int64(at)
		b = b[at+int(frame.size()):]
		records, err := frame.records()
		switch {
		case errors.Is(err, ErrNewerFormat):
			return remains{}, fmt.Errorf("read %s: %w", name, err)
		case err != nil:
			f.lost += frame.size()
		default:
			f.records = append(f.records, records...)
		}
	}
	f.lost += int64(len(b))
	if readErr != nil && f.lost == 0 {
		f.lost = 1 // how much it was, only the disk knows
	}
	return f, nil
}

func commonLineage(files []remains) string {
	votes := map[string]int{}
	best := ""
	for _, f := range files {
		if !f.intact {
			continue
		}
		id := f.header.chain.lineage()
		if votes[id]++; votes[id] > votes[best] {
			best = id
		}
	}
	return best
}

// inOrder returns what was saved, oldest first.
func (s *salvage) inOrder() []Record {
	out := make([]Record, 0, len(s.records))
	for _, r := range s.records {
		out = append(out, r)
	}
	slices.SortFunc(out, func(a, b Record) int { return cmp.Compare(a.Seq, b.Seq) })
	return out
}

// gaps returns the records after compacted that are missing. Those up to there may be missing for good reason.
func (s *salvage) gaps(compacted uint64) []Gap {
	var gaps []Gap
	next := compacted + 1
	for _, r := range s.inOrder() {
		if r.Seq > next {
			gaps = append(gaps, Gap{next, r.Seq - 1})
		}
		next = max(next, r.Seq+1)
	}
	if next <= s.last {
		gaps = append(gaps, Gap{next, s.last})
	}
	return gaps
}
