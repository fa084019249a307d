package journal

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"time"
)

// Summary describes the journal that Read has read.
type Summary struct {
	Lineage   string
	Since     time.Time // start of the lineage
	Files     int
	Records   int    // in the files; fewer than Seq after a compaction
	Seq       uint64 // of the last record
	Head      string // hex link of the last commit: one value for the whole history
	Bytes     int64  // valid ones
	TornBytes int64  // after the last commit: from a crash, or of a commit that is being written
}

// Read yields the journal's records in order and checks every checksum, link and count. It takes no lock and changes nothing, so
// it may be called while an agent runs. An error of yield ends the reading and is returned unchanged. The summary counts the valid part,
// also together with a *DamageError or ErrNewerFormat.
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
		return Summary{}, fmt.Errorf("read journal: no journal in this directory: %w", fs.ErrNotExist)
	}
	r := replay{open: snap.open, active: snap.listing.active(), visit: eachRecord(yield)}
	err = r.run(snap.listing)
	return r.summary(), err
}

// snapshot is the open files of a journal at one moment. It can still read a file that compaction removes later.
type snapshot struct {
	listing listing
	files   map[string]reader
}

// snapshotTries bounds how often a reader starts again because the agent has changed the set of files, which happens once in
// thousands of commits.
const snapshotTries = 10

// takeSnapshot opens every file. If the lists of names before and after are equal, the files belong together: a name is used again
// only for a segment that replaces the empty last one.
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
		err = fmt.Errorf("files changed while they were listed: %w", fs.ErrNotExist)
	}
	if err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// open returns a file whose Close does nothing: the snapshot closes the file.
func (s *snapshot) open(name string) (reader, error) { return nopCloser{s.files[name]}, nil }

func (s *snapshot) close() {
	for _, f := range s.files {
		_ = f.Close()
	}
}

type nopCloser struct{ io.ReaderAt }

func (nopCloser) Close() error { return nil }
