package journal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
)

// ErrClosed says that the journal was closed before the records were taken. None of them was written.
var ErrClosed = errors.New("journal is closed")

// Journal is an open journal. Its methods may be called from any number of goroutines.
type Journal struct {
	opts     Options
	lock     io.Closer // nil on the tests' own disk
	recovery Recovery
	requests chan *request
	closing  chan struct{}
	stopped  chan struct{}
	close    sync.Once
	closeErr error

	// The writer's own.
	admission *admission
	chain     chain
	active    file  // the segment that is written to; nil when there is none
	size      int64 // of its contents
	sealed    int   // segments before it, the base not counted
	stored    int   // records in all files

	mu     sync.Mutex
	fold   *fold // of what is durable
	failed error

	// Fixed once Open returned.
	lineage string
	since   time.Time
}

// request is one Append call on its way through the writer.
type request struct {
	bodies  []Body
	encoded []encoded
	size    int
	done    chan error // holds one
}

// Append makes bodies durable, in this order, next to one another, and all or none of them. When it returns nil they are
// on disk and part of State. ErrRefused and ErrClosed mean that nothing was written. Any other error means that the
// records may or may not be found at the next start: after a failed write or fsync the journal takes nothing more until
// then, and when ctx ends while the disk is busy the outcome is not waited for. Records that must be written while the
// agent shuts down need a ctx of their own.
func (j *Journal) Append(ctx context.Context, bodies ...Body) error {
	if len(bodies) == 0 {
		return nil
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("append: %w", err)
	}
	req, err := newRequest(bodies)
	if err != nil {
		return fmt.Errorf("append: %w", err)
	}
	select {
	case j.requests <- req:
	case <-j.closing:
		return fmt.Errorf("append: %w", ErrClosed)
	case <-ctx.Done():
		return fmt.Errorf("append: %w", ctx.Err())
	}
	select {
	case err = <-req.done:
	case <-ctx.Done():
		err = ctx.Err()
	}
	if err != nil {
		return fmt.Errorf("append: %w", err)
	}
	return nil
}

// State returns what the durable records add up to. It also answers after Close and on a journal that is not healthy.
func (j *Journal) State() State {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.fold.forgetPast(time.Now())
	s := j.fold.state()
	s.Lineage, s.Since = j.lineage, j.since
	return s
}

// Healthy returns nil, or why the journal takes no more records: *DamageError, or the failed write or fsync with the
// system's error inside. It does not recover: a failed fsync is never retried, because the system may have dropped the
// data and would report success. The next Open looks at what is really there.
func (j *Journal) Healthy() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.failed
}

// Recovered returns what Open found.
func (j *Journal) Recovered() Recovery { return j.recovery }

// Close lets the running commit finish, refuses further records and releases the directory.
func (j *Journal) Close() error {
	j.close.Do(func() {
		close(j.closing)
		<-j.stopped
		var errs []error
		if j.active != nil {
			errs = append(errs, j.active.Close())
		}
		if j.lock != nil {
			errs = append(errs, j.lock.Close())
		}
		if err := errors.Join(errs...); err != nil {
			j.closeErr = fmt.Errorf("close journal: %w", err)
		}
	})
	return j.closeErr
}
