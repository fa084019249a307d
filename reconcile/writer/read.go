package writer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"gitops-agent/reconcile/journal"
)

// Read returns the comment, or the zero Comment if there is no pool. An error that wraps ErrComment means that the text is not the agent's.
func (w *Writer) Read(ctx context.Context) (Comment, error) {
	if w.opts.Keeper == nil {
		return Comment{}, nil
	}
	if err := w.begin(ctx); err != nil {
		return Comment{}, err
	}
	defer w.end()
	return w.read(ctx)
}

// read reads the comment and updates the standing. The caller has the turn.
func (w *Writer) read(ctx context.Context) (Comment, error) {
	w.mu.Lock()
	w.begun++
	number, at := w.begun, time.Now()
	w.readAt = at
	w.mu.Unlock()
	text, found, err := w.opts.Keeper.PoolComment(ctx, Pool)
	if err != nil {
		return Comment{}, err
	}
	c := Comment{}
	if found {
		c, err = Parse(text)
	}
	if !w.opts.DryRun {
		w.learn(c.Writer, number, at) // a text that cannot be read names nobody
	}
	return c, err
}

// learn updates the standing with the mark that a reading showed.
func (w *Writer) learn(seen Mark, number uint64, at time.Time) {
	known := w.knows(seen)
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.standing == Superseded:
	case seen.Nonce == w.nonce:
		w.mark, w.shown, w.shownAt = seen, number, at
		if w.standing == Unclaimed { // by a write whose reply was lost
			w.standing, w.waitEnds, w.takeOver = Claimed, time.Now().Add(w.opts.Wait), false
		}
	case known || w.takeOver:
		w.standing = Unclaimed
	default:
		w.standing, w.other = Superseded, seen
	}
}

// knows reports whether the mark is nobody's or that of an earlier process on this state directory, as far as the journal can tell: a damaged one
// may have lost the mark, and prevents every claim.
func (w *Writer) knows(m Mark) bool {
	return m == Mark{} || w.opts.Journal.Healthy() != nil || slices.ContainsFunc(w.opts.Journal.State().Writers, func(j journal.Writer) bool { return j.Nonce == m.Nonce })
}

// Confirm returns nil if this process is the writer by a reading of the comment that began after the call, or that is at most recent old. Calls
// at the same time share readings. An error wraps ErrNotWriter unless the comment could not be read.
func (w *Writer) Confirm(ctx context.Context, recent time.Duration) error {
	if w.opts.Keeper == nil {
		return nil
	}
	w.mu.Lock()
	before, asked := w.begun, time.Now()
	w.mu.Unlock()
	if done, err := w.confirmed(before, asked.Add(-recent), recent); done {
		return err
	}
	if err := w.begin(ctx); err != nil {
		return err
	}
	defer w.end()
	if done, err := w.confirmed(before, asked.Add(-recent), recent); done {
		return err // by the reading of another call
	}
	if _, err := w.read(ctx); err != nil && !errors.Is(err, ErrComment) {
		return fmt.Errorf("read the writer of the cluster: %w", err)
	}
	_, err := w.confirmed(0, time.Time{}, 0)
	return err
}

// confirmed reports whether the question of a call is answered: by a reading after the number before, or by one that is recent enough.
func (w *Writer) confirmed(before uint64, since time.Time, recent time.Duration) (done bool, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.notWriter(); err != nil {
		return true, err
	}
	return w.shown > before || recent > 0 && !w.shownAt.Before(since), nil
}

// ErrNotWriter means that this process may not write to the cluster.
var ErrNotWriter = errors.New("this agent is not the writer of the cluster")

// notWriter returns why this process may not write now. The caller has locked mu.
func (w *Writer) notWriter() error {
	switch w.standing {
	case Confirmed:
		return nil
	case Superseded:
		return fmt.Errorf("%w: another agent has claimed it as writer %d", ErrNotWriter, w.other.Number)
	case Claimed:
		return fmt.Errorf("%w: its claim is not confirmed yet", ErrNotWriter)
	case Unclaimed:
	}
	return fmt.Errorf("%w: it has not claimed the cluster", ErrNotWriter)
}
