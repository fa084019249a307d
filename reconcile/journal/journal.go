package journal

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Journal is an open journal. Its methods may be called from any number of goroutines.
type Journal struct {
	opts     Options
	store    store
	recovery Recovery
	opened   time.Time // with the reading of the monotonic clock
	requests chan *request
	closing  chan struct{}
	stopped  chan struct{}
	close    sync.Once
	closeErr error

	// Used only by the writer.
	admission *admission
	chain     chain
	stored    int // records in the store

	mu     sync.Mutex
	fold   *fold // of the durable records
	failed error

	standby bool   // the journal of another process
	told    uint64 // the last record that a follower passed to OnRecord

	// Constant after Open; a follower's may change, under mu.
	lineage string
	since   time.Time
}

// Recovery is what Open found.
type Recovery struct {
	Created   bool   // there was no journal
	Files     int    // including the base
	Records   int    // folded into the state
	TornBytes int64  // left by a crash after the last commit, and cut
	TornFile  string // the file that was cut
	Removed   int    // files left by an interrupted compaction or rotation
	Duration  time.Duration
}

// Append makes bodies durable in this order, without other records between them, all or none of them. MaxAppend bounds their size. If
// Append returns nil, the records are on disk and part of State. Every error wraps ErrAppend. With ErrRefused and ErrClosed, nothing
// was written. With any other error, the next start may or may not find the records: after a failed write or fsync the journal takes no
// more records until the next start, and Append does not wait for the outcome if ctx ends while the disk is busy. Records that must
// be written while the agent shuts down need a ctx of their own.
func (j *Journal) Append(ctx context.Context, bodies ...Body) error {
	if len(bodies) == 0 {
		return nil
	}
	if err := j.append(ctx, bodies); err != nil {
		return fmt.Errorf("%w: %w", ErrAppend, err)
	}
	return nil
}

func (j *Journal) append(ctx context.Context, bodies []Body) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if j.standby {
		return ErrStandby
	}
	req, err := newRequest(bodies)
	if err != nil {
		return err
	}
	select {
	case j.requests <- req:
	case <-j.closing:
		return ErrClosed
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case err := <-req.done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// steady returns the earlier one of the host's time and the time by the monotonic clock since the journal was opened. A step of the host's clock forward
// must not end a window early: the limit of destroys in a day would count less than there were.
func (j *Journal) steady(now time.Time) time.Time {
	now = now.Round(0)
	if byProcess := j.opened.Add(time.Since(j.opened)).Round(0); byProcess.Before(now) {
		return byProcess
	}
	return now
}

// State returns the state that the durable records add up to. It also works after Close and on a journal that is not healthy.
func (j *Journal) State() State {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.fold.forgetPast(j.steady(time.Now()))
	s := j.fold.state()
	s.Lineage, s.Since, s.Unread = j.lineage, j.since, j.unread()
	return s
}

// Healthy returns nil, or the reason why the journal takes no more records: *DamageError, or the failed write or fsync with the
// system's error inside. The journal does not become healthy again: a failed fsync is never retried, because the system may have
// dropped the data and would report success. The next Open reads what the disk really holds.
func (j *Journal) Healthy() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.failed
}

// unread returns why the state may lack records that the journal has, nil if it has all: the journal is damaged, went back to an older copy, or another agent may
// have written to it since it was read. What such a state does not contain is unknown, and not absent. A disk that takes no records is no reason: they were
// read. The caller has locked mu.
func (j *Journal) unread() error {
	wasRead := false
	switch FaultOf(j.failed) {
	case FaultNone:
		wasRead = true
	case FaultDiskFull, FaultReadOnly, FaultDenied, FaultGone, FaultFailed:
		wasRead = !j.standby && !errors.Is(j.failed, errFilesExist)
	case FaultDamaged, FaultRolledBack, FaultNotLeader, FaultUnreachable:
	}
	if wasRead {
		return nil
	}
	return j.failed
}

// Recovered returns what Open found.
func (j *Journal) Recovered() Recovery { return j.recovery }

// Close waits for the running commit, refuses further records and releases the directory.
func (j *Journal) Close() error {
	j.close.Do(func() {
		close(j.closing)
		<-j.stopped
		if err := j.store.close(); err != nil {
			j.closeErr = fmt.Errorf("close journal: %w", err)
		}
	})
	return j.closeErr
}
