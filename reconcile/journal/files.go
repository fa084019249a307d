package journal

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"syscall"
)

// files is the store of a journal in a directory: segments, and a base after a compaction.
type files struct {
	disk         disk
	lock         io.Closer // nil with a test's disk
	here         stateDir
	segmentSize  int64
	compactAfter int
	largePayload int

	// Of load, for resume.
	listing listing
	tail    tail

	active file  // the segment that is written to; nil if there is none
	large  bool  // the active segment has version 2
	size   int64 // of the active segment
	sealed int   // number of segments before the active one

	mu      sync.Mutex
	removed error // the last segment was removed
}

// openFiles locks the directory of a journal, and makes it if it is missing.
func openFiles(opts Options) (*files, error) {
	s := &files{
		disk: opts.disk, here: nothingChanges,
		segmentSize: opts.SegmentSize, compactAfter: opts.CompactAfter, largePayload: opts.largePayload,
	}
	if s.disk != nil {
		return s, nil
	}
	d, lock, here, err := lockDirectory(opts.Dir)
	s.disk, s.lock, s.here = d, lock, here
	return s, err
}

// lockDirectory opens and locks a directory, and makes it if it is missing.
func lockDirectory(dir string) (osDisk, io.Closer, stateDir, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return osDisk{}, nil, stateDir{}, err
	}
	d, err := openDisk(dir)
	if err != nil {
		return osDisk{}, nil, stateDir{}, err
	}
	lock, err := d.lock()
	if err != nil {
		_ = d.root.Close()
		return osDisk{}, nil, stateDir{}, err
	}
	here := nothingChanges
	if held, locked := lock.(dirLock); locked {
		here = stateDir{presence(dir, held.File), writability(d)}
	}
	return d, closers{lock, d.root}, here, nil
}

type closers []io.Closer

func (c closers) Close() error {
	var errs []error
	for _, closer := range c {
		errs = append(errs, closer.Close())
	}
	return errors.Join(errs...)
}

func (s *files) load(visit func(frame) error) (loaded, error) {
	names, err := s.disk.list()
	if err != nil {
		return loaded{}, err
	}
	s.listing = parseListing(names)
	r := replay{open: s.disk.open, active: s.listing.active(), visit: visit}
	err = r.run(s.listing)
	s.tail, s.sealed = r.tail, max(len(s.listing.segments)-1, 0)
	return loaded{chain: r.chain, files: r.files, records: r.records}, err
}

// resume opens the tail for writing. It writes the last commit once more and syncs it: a run that ended with a failed fsync may have left the commit only in
// the page cache, where it looks durable but is not.
func (s *files) resume(next chain) (cleaned, error) {
	var done cleaned
	for _, name := range append(s.listing.obsolete, s.listing.unfinished...) {
		if err := s.disk.remove(name); err != nil {
			return done, fmt.Errorf("remove %s: %w", name, err)
		}
		done.removed++
	}
	t := s.tail
	if t.name == "" {
		return done, errors.Join(s.disk.sync(), s.begin(next, false))
	}
	f, err := s.disk.resume(t.name)
	if err != nil {
		return done, fmt.Errorf("resume %s: %w", t.name, err)
	}
	s.active, s.large, s.size = f, t.large, t.size
	if t.torn > 0 {
		if err := f.Truncate(t.size); err != nil {
			return done, fmt.Errorf("cut torn commit off %s: %w", t.name, err)
		}
		done.torn, done.tornPlace = t.torn, t.name
	}
	if t.lastAt > 0 {
		if _, err := f.WriteAt(t.last.append(nil), t.lastAt); err != nil {
			return done, fmt.Errorf("confirm last commit of %s: %w", t.name, err)
		}
	}
	if err := f.Sync(); err != nil {
		return done, fmt.Errorf("confirm last commit of %s: %w", t.name, err)
	}
	return done, s.disk.sync()
}

// append writes one frame and syncs it. A frame that exceeds the limit of version 1 needs a segment of version 2: older releases then
// report a newer format. Without the new version they would take the frame for a torn commit and cut it.
func (s *files) append(at chain, f frame) error {
	if !s.large && len(f.payload) > s.largePayload {
		if err := s.seal(at, true); err != nil {
			return err
		}
	}
	if _, err := s.active.WriteAt(f.append(make([]byte, 0, f.size())), s.size); err != nil {
		return fmt.Errorf("write segment: %w", err)
	}
	if err := s.active.Sync(); err != nil {
		return fmt.Errorf("sync segment: %w", err)
	}
	s.size += f.size()
	return nil
}

// begin starts the segment for the next record of a chain. A large segment has version 2.
func (s *files) begin(at chain, large bool) error {
	h := header{role: roleSegment, chain: at, large: large}
	f, err := writeFile(s.disk, segmentName(at.next), func(w io.WriterAt) error {
		_, err := w.WriteAt(h.bytes(), 0)
		return err
	})
	if err != nil {
		return err
	}
	s.active, s.large, s.size = f, large, headerSize
	return nil
}

// seal closes the active segment and starts the next one. If the active segment is empty, the next one has its name and replaces it.
func (s *files) seal(at chain, large bool) error {
	full, empty := s.active, s.size == headerSize
	if err := s.begin(at, large); err != nil {
		return fmt.Errorf("begin segment: %w", err)
	}
	if err := full.Close(); err != nil {
		return fmt.Errorf("close segment: %w", err)
	}
	if !empty {
		s.sealed++
	}
	return nil
}

// rotate begins the next segment if the active one is full. The commit that filled it is already durable: a failure here does not undo the commit.
func (s *files) rotate(at chain) (full bool, err error) {
	if s.size < s.segmentSize {
		return false, nil
	}
	err = s.seal(at, false)
	return err == nil && s.sealed >= s.compactAfter, err
}

// compact replaces every file before the active segment, which is empty, with a base. The base is written under another name, synced and renamed, and its
// name is synced, before the first old file is removed: a crash at any point leaves the old files, or the base and old files that resume removes.
func (s *files) compact(at chain, pick func(frame, func(frame) error) error) (records int, replaced bool, err error) {
	names, err := s.disk.list()
	if err != nil {
		return 0, false, err
	}
	l := parseListing(names)
	l.segments = l.segments[:max(len(l.segments)-1, 0)]
	h := header{role: roleBase, chain: at}
	base, err := writeFile(s.disk, baseName(at.next-1), func(w io.WriterAt) error {
		return fillBase(w, &h, func(add func(frame) error) error {
			r := replay{open: s.disk.open, visit: func(f frame) error { return pick(f, add) }}
			if err := r.run(l); err != nil {
				return err
			}
			return endsAt(r.chain, at, l)
		})
	})
	if err != nil {
		return 0, false, err
	}
	s.sealed = 0
	err = base.Close()
	for _, name := range l.all() {
		err = errors.Join(err, s.disk.remove(name))
	}
	return int(h.kept), true, err //nolint:gosec // a count of records that fit into memory
}

// takesCommits also notices that the active segment was removed while it is open.
func (s *files) takesCommits() error {
	if err := s.present(); err != nil {
		return err
	}
	f, isFile := s.active.(*os.File)
	if !isFile {
		return nil
	}
	info, err := f.Stat()
	if err != nil {
		return nil // the write reports it
	}
	if stat, known := info.Sys().(*syscall.Stat_t); known && stat.Nlink == 0 {
		err := fmt.Errorf("%w: %s has no name any more", ErrGone, f.Name())
		s.mu.Lock()
		defer s.mu.Unlock()
		s.removed = err // the segment does not get its name back
		return err
	}
	return nil
}

func (s *files) present() error {
	if err := s.here.present(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.removed
}

func (s *files) writable() error { return s.here.writable() }

func (s *files) close() error {
	var errs []error
	if s.active != nil {
		errs = append(errs, s.active.Close())
	}
	if s.lock != nil {
		errs = append(errs, s.lock.Close())
	}
	return errors.Join(errs...)
}
