package journal

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"
)

// Open locks opts.Dir, recovers the journal in it and folds its records. It returns ErrLocked if another process still has the
// directory after one second, and ErrNewerFormat if a newer release wrote the journal. Damage and a disk that cannot be written are not errors of
// Open: the returned journal has the state up to the damage, returns the reason from Healthy and refuses Append, so that the
// agent can continue to observe.
func Open(opts Options) (*Journal, error) {
	opts = opts.withDefaults()
	lock := io.Closer(nil)
	lockPresent := func() error { return nil }
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
		if held, locked := lock.(dirLock); locked {
			lockPresent = presence(opts.Dir, held.File)
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

		lockPresent: lockPresent,
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
	for _, closer := range c {
		errs = append(errs, closer.Close())
	}
	return errors.Join(errs...)
}

// recover folds the records on disk and prepares the last segment for writing. It returns an error only for an unreadable directory or
// a newer format. Every other obstacle becomes the error that Healthy returns.
func (j *Journal) recover() error {
	start := time.Now()
	j.opened = start
	names, err := j.opts.disk.list()
	if err != nil {
		return err
	}
	l := parseListing(names)
	r := replay{open: j.opts.disk.open, active: l.active(), visit: eachRecord(func(rec Record) error {
		j.fold.add(rec)
		j.opts.OnRecord(rec)
		return nil
	})}
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
		j.fold.seq = max(r.chain.next, 1) - 1 // a base may have dropped the last records
		j.failed = j.resume(l, r.tail)
	}
	j.fold.forgetOrders(start, j.opts.Retain.Orders) // the history may still contain orders that a compaction has forgotten
	j.lineage, j.since = j.chain.lineage(), j.chain.since()
	j.admission = j.fold.admission()
	j.recovery.Duration = time.Since(start)
	return nil
}

// resume removes the files that a crash left over and opens the tail for writing. It writes the last commit once more and syncs it: a
// run that ended with a failed fsync may have left the commit only in the page cache, where it looks durable but is not.
func (j *Journal) resume(l listing, t tail) error {
	for _, name := range append(l.obsolete, l.unfinished...) {
		if err := j.opts.disk.remove(name); err != nil {
			return fmt.Errorf("remove %s: %w", name, err)
		}
		j.recovery.Removed++
	}
	if t.name == "" {
		if j.recovery.Created {
			j.chain = newChain(time.Now(), 1)
		}
		return errors.Join(j.opts.disk.sync(), j.begin(false))
	}
	f, err := j.opts.disk.resume(t.name)
	if err != nil {
		return fmt.Errorf("resume %s: %w", t.name, err)
	}
	j.active, j.large, j.size = f, t.large, t.size
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
