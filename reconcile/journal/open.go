package journal

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"
)

// Recovery says what Open found.
type Recovery struct {
	Created   bool   // there was no journal
	Files     int    // a base counts as one
	Records   int    // that were folded
	TornBytes int64  // that a crash left after the last commit and that were cut
	TornFile  string // where
	Removed   int    // files that an interrupted compaction or rotation left
	Duration  time.Duration
}

// Open locks opts.Dir, recovers the journal in it and folds its records. It fails with ErrLocked when another process has
// the directory, and with ErrNewerFormat when a newer release wrote it. Damage and a disk that does not take writes are no
// errors here: the journal that is returned shows the state up to that point, says why in Healthy and refuses Append, so
// that the agent can go on observing.
func Open(opts Options) (*Journal, error) {
	opts = opts.withDefaults()
	lock := io.Closer(nil)
	if opts.disk == nil {
		if err := os.MkdirAll(opts.Dir, 0o700); err != nil {
			return nil, fmt.Errorf("open journal: %w", err)
		}
		d, err := openDisk(opts.Dir)
		if err != nil {
			return nil, fmt.Errorf("open journal: %w", err)
		}
		if lock, err = d.lock(); err != nil {
			_ = d.root.Close()
			return nil, fmt.Errorf("open journal: %w", err)
		}
		lock = closers{lock, d.root}
		opts.disk = d
	}
	j := &Journal{
		opts:     opts,
		lock:     lock,
		fold:     newFold(),
		requests: make(chan *request),
		closing:  make(chan struct{}),
		stopped:  make(chan struct{}),
	}
	if err := j.recover(); err != nil {
		if lock != nil {
			_ = lock.Close()
		}
		return nil, fmt.Errorf("open journal: %w", err)
	}
	go j.write()
	return j, nil
}

type closers []io.Closer

func (c closers) Close() error {
	var errs []error
	for _, one := range c {
		errs = append(errs, one.Close())
	}
	return errors.Join(errs...)
}

// recover folds what is there and makes the last segment ready to go on. What stops it short of that, other than an
// unreadable directory or a newer format, becomes the journal's ill health.
func (j *Journal) recover() error {
	start := time.Now()
	names, err := j.opts.disk.list()
	if err != nil {
		return err
	}
	l := parseListing(names)
	r := replay{open: j.opts.disk.open, growing: l.growing(), visit: eachRecord(func(rec Record) error { j.fold.add(rec); return nil })}
	err = r.run(l)
	damage := (*DamageError)(nil)
	if err != nil && !errors.As(err, &damage) {
		return err
	}
	j.chain, j.stored, j.sealed = r.chain, r.records, max(len(l.segments)-1, 0)
	j.recovery = Recovery{Created: len(l.files()) == 0, Files: r.files, Records: r.records}
	if damage != nil {
		j.failed = damage
	} else {
		j.fold.seq = max(r.chain.next, 1) - 1 // the last records of a base may not have been worth keeping
		j.failed = j.resume(l, r.tail)
	}
	j.fold.forgetOrders(start, j.opts.Retain.Orders) // history may still tell of some that a compaction forgot
	j.lineage, j.since = j.chain.lineage(), j.chain.since()
	j.admission = j.fold.admission()
	j.recovery.Duration = time.Since(start)
	return nil
}

// resume removes what a crash left over and opens the tail for writing. The last commit is written once more and synced: a
// run that ended in a failed fsync may have left it in the page cache alone, where it looks durable and is not.
func (j *Journal) resume(l listing, t tail) error {
	for _, name := range append(l.covered, l.tmp...) {
		if err := j.opts.disk.remove(name); err != nil {
			return fmt.Errorf("remove %s: %w", name, err)
		}
		j.recovery.Removed++
	}
	if t.name == "" {
		if j.recovery.Created {
			j.chain = newChain(time.Now(), 1)
		}
		return errors.Join(j.opts.disk.sync(), j.begin())
	}
	f, err := j.opts.disk.resume(t.name)
	if err != nil {
		return fmt.Errorf("resume %s: %w", t.name, err)
	}
	j.active, j.size = f, t.size
	if t.torn > 0 {
		if err := f.Truncate(t.size); err != nil {
			return fmt.Errorf("cut torn commit off %s: %w", t.name, err)
		}
		j.recovery.TornBytes, j.recovery.TornFile = t.torn, t.name
	}
	if t.lastAt > 0 {
		if _, err := f.WriteAt(t.last.append(nil), t.lastAt); err != nil {
			return fmt.Errorf("confirm last commit of %s: %w", t.name, err)
		}
	}
	if err := f.Sync(); err != nil {
		return fmt.Errorf("confirm last commit of %s: %w", t.name, err)
	}
	return j.opts.disk.sync()
}

// begin starts the segment that the chain's next record goes to.
func (j *Journal) begin() error {
	h := header{role: roleSegment, chain: j.chain}
	f, err := writeFile(j.opts.disk, segmentName(j.chain.next), func(w io.WriterAt) error {
		_, err := w.WriteAt(h.bytes(), 0)
		return err
	})
	if err != nil {
		return err
	}
	j.active, j.size = f, headerSize
	return nil
}
