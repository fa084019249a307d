package journal

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"time"
)

// Summary says what Read went through.
type Summary struct {
	Lineage   string
	Since     time.Time
	Files     int
	Records   int    // that are kept; fewer than Seq once records were compacted
	Seq       uint64 // of the last record
	Head      string // hex link of the last commit: the whole history in one value
	Bytes     int64  // that hold
	TornBytes int64  // after the last commit: a crash, or a commit that is being written
}

// Read yields the journal's records in order and checks every checksum, link and count. It takes no lock and changes
// nothing, so it may run beside the agent. What yield returns ends the reading and is returned as it is. The summary counts
// what held, also beside a *DamageError or ErrNewerFormat.
func Read(dir string, yield func(Record) error) (Summary, error) {
	d, err := openDisk(dir)
	if err != nil {
		return Summary{}, fmt.Errorf("read journal: %w", err)
	}
	defer d.root.Close()
	return read(d, yield)
}

func read(d disk, yield func(Record) error) (Summary, error) {
	snap, err := takeSnapshot(d)
	if err != nil {
		return Summary{}, fmt.Errorf("read journal: %w", err)
	}
	defer snap.close()
	if len(snap.listing.files()) == 0 {
		return Summary{}, fmt.Errorf("read journal: no journal here: %w", fs.ErrNotExist)
	}
	r := replay{open: snap.open, growing: snap.listing.growing(), visit: eachRecord(yield)}
	err = r.run(snap.listing)
	s := Summary{
		Lineage:   r.chain.lineage(),
		Since:     r.chain.since(),
		Files:     r.files,
		Records:   r.records,
		Seq:       max(r.chain.next, 1) - 1,
		Head:      fmt.Sprintf("%x", r.chain.link),
		Bytes:     r.bytes,
		TornBytes: r.tail.torn,
	}
	return s, err
}

// snapshot is the files of a journal opened together. A file that compaction removes meanwhile stays readable through it.
type snapshot struct {
	listing listing
	files   map[string]reader
}

// snapshotTries bounds how often a reader begins anew because the agent changed the set of files under it, which it does
// once in thousands of commits.
const snapshotTries = 10

// takeSnapshot opens every file. No name is ever used twice, so two equal lists mean that nothing changed in between.
func takeSnapshot(d disk) (*snapshot, error) {
	var err error
	for range snapshotTries {
		var s *snapshot
		if s, err = trySnapshot(d); err == nil {
			return s, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	return nil, err
}

func trySnapshot(d disk) (*snapshot, error) {
	names, err := d.list()
	if err != nil {
		return nil, err
	}
	s := &snapshot{listing: parseListing(names), files: map[string]reader{}}
	for _, name := range s.listing.files() {
		if s.files[name], err = d.open(name); err != nil {
			delete(s.files, name)
			s.close()
			return nil, err
		}
	}
	again, err := d.list()
	if err == nil && !slices.Equal(parseListing(again).files(), s.listing.files()) {
		err = fmt.Errorf("files change while they are listed: %w", fs.ErrNotExist)
	}
	if err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// open lends a file; the snapshot closes it.
func (s *snapshot) open(name string) (reader, error) { return lent{s.files[name]}, nil }

func (s *snapshot) close() {
	for _, f := range s.files {
		_ = f.Close()
	}
}

type lent struct{ io.ReaderAt }

func (lent) Close() error { return nil }
