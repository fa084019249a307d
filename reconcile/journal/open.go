package journal

import (
	"errors"
	"fmt"
	"time"
)

// Open locks opts.Dir, recovers the journal in it and folds its records. It returns ErrLocked if another process still has the
// directory after one second, and ErrNewerFormat if a newer release wrote the journal. Damage and a disk that cannot be written are not errors of
// Open: the returned journal has the state up to the damage, returns the reason from Healthy and refuses Append, so that the
// agent can continue to observe.
func Open(opts Options) (*Journal, error) {
	opts = opts.withDefaults()
	s, err := openStore(opts)
	if err != nil {
		return nil, fmt.Errorf("open journal: %w", err)
	}
	j := newJournal(opts, s)
	if err := j.recover(); err != nil {
		_ = s.close()
		return nil, fmt.Errorf("open journal: %w", err)
	}
	go j.write()
	return j, nil
}

func openStore(opts Options) (store, error) {
	if opts.Blocks != nil {
		return openBlocks(opts)
	}
	return openFiles(opts)
}

func newJournal(opts Options, s store) *Journal {
	return &Journal{
		opts:     opts,
		store:    s,
		fold:     newFold(),
		requests: make(chan *request),
		closing:  make(chan struct{}),
		stopped:  make(chan struct{}),
	}
}

// recover folds the records in the store and makes the store ready for the next commit. It returns an error only for a store that cannot be read, or
// a newer format. Every other obstacle becomes the error that Healthy returns.
func (j *Journal) recover() error {
	start := time.Now()
	j.opened = start
	found, err := j.store.load(eachRecord(func(rec Record) error {
		j.fold.add(rec)
		j.opts.OnRecord(rec)
		return nil
	}))
	damage := (*DamageError)(nil)
	if err != nil && !errors.As(err, &damage) {
		return err
	}
	j.chain, j.stored = found.chain, found.records
	j.recovery = Recovery{Created: damage == nil && found.files == 0, Files: found.files, Records: found.records}
	if damage != nil {
		j.failed = damage
	} else {
		j.failed = j.resume()
	}
	j.fold.forgetOrders(start, j.opts.Retain.Orders) // the history may still contain orders that a compaction has forgotten
	j.lineage, j.since = j.chain.lineage(), j.chain.since()
	j.admission = j.fold.admission()
	j.recovery.Duration = time.Since(start)
	return nil
}

// resume makes the store ready for the next commit. A store without a journal begins one.
func (j *Journal) resume() error {
	j.fold.seq = max(j.chain.next, 1) - 1 // a base may have dropped the last records
	if j.recovery.Created {
		j.chain = newChain(time.Now(), 1)
	}
	done, err := j.store.resume(j.chain)
	j.recovery.Removed, j.recovery.TornBytes, j.recovery.TornFile = done.removed, done.torn, done.tornPlace
	return err
}
