package journal

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
)

// salvage is the readable part of a damaged journal: every commit with a valid checksum, in any place.
type salvage struct {
	lineage   string   // of most files
	foreign   []string // files of other lineages
	records   map[uint64]Record
	last      uint64 // highest number that was certainly used
	lostBytes int64
	lostKept  int // records that a base counted and that cannot be read
}

// Gap is a range of missing records.
type Gap struct{ First, Last uint64 }

// salvagedFile is one file of a damaged journal.
type salvagedFile struct {
	name    string
	header  header
	intact  bool // the header is valid
	records []Record
	lost    int64 // bytes
}

// salvageAll reads every file of the journal in d, including the files that an interrupted compaction left behind.
func salvageAll(d disk, l listing) (salvage, error) {
	var files []salvagedFile
	for _, name := range l.all() {
		f, err := salvageFile(d, name)
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

func (s *salvage) add(f salvagedFile) {
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

// salvageFile reads the valid frames of one file. Bytes that the disk cannot read are lost like bad bytes.
func salvageFile(d disk, name string) (salvagedFile, error) {
	src, err := d.open(name)
	if err != nil {
		return salvagedFile{}, fmt.Errorf("open %s: %w", name, err)
	}
	defer src.Close()
	b, readErr := io.ReadAll(streamFrom(src, 0))
	f := salvagedFile{name: name}
	f.header, err = readHeader(bytes.NewReader(b))
	if errors.Is(err, ErrNewerFormat) {
		return salvagedFile{}, fmt.Errorf("read %s: %w", name, err)
	}
	limit := maxLargePayload
	if f.intact = err == nil; f.intact {
		b, limit = b[headerSize:], f.header.limit()
	}
	for {
		frame, at := findFrame(b, limit)
		if at < 0 {
			break
		}
		f.lost += int64(at)
		b = b[at+int(frame.size()):]
		records, err := frame.records()
		switch {
		case errors.Is(err, ErrNewerFormat):
			return salvagedFile{}, fmt.Errorf("read %s: %w", name, err)
		case err != nil:
			f.lost += frame.size()
		default:
			f.records = append(f.records, records...)
		}
	}
	f.lost += int64(len(b))
	if readErr != nil && f.lost == 0 {
		f.lost = 1 // the real number is unknown
	}
	return f, nil
}

func commonLineage(files []salvagedFile) string {
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

// inOrder returns the records, oldest first.
func (s *salvage) inOrder() []Record {
	out := make([]Record, 0, len(s.records))
	for _, r := range s.records {
		out = append(out, r)
	}
	slices.SortFunc(out, func(a, b Record) int { return cmp.Compare(a.Seq, b.Seq) })
	return out
}

// gaps returns the missing records after the record compacted. Earlier ones may be missing because compaction dropped them.
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
