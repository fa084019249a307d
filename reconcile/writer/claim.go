package writer

import (
	"context"
	"errors"
	"fmt"
	"time"

	"gitops-agent/reconcile/journal"
)

// Claim makes this process the writer, and reads the comment again if it already is. It does not wait: while the standing is Claimed, the caller
// calls it again when State.WaitEnds has passed. An error means that the comment could not be read or written.
func (w *Writer) Claim(ctx context.Context) error {
	if w.opts.Keeper == nil {
		return nil
	}
	if err := w.begin(ctx); err != nil {
		return err
	}
	defer w.end()
	switch s := w.State(); {
	case s.Standing == Superseded:
		return nil
	case s.Standing == Claimed && time.Now().Before(s.WaitEnds):
		return nil
	}
	c, err := w.read(ctx)
	if err != nil && !errors.Is(err, ErrComment) {
		return fmt.Errorf("read the writer of the cluster: %w", err)
	}
	return w.advance(ctx, c)
}

// advance takes the next step of a claim after a reading of the comment. The caller has the turn.
func (w *Writer) advance(ctx context.Context, c Comment) error {
	s := w.State()
	switch {
	case s.Standing == Unclaimed:
		return w.putMark(ctx, c)
	case s.Standing == Claimed && !time.Now().Before(s.WaitEnds):
		w.mu.Lock()
		w.standing = Confirmed
		w.mu.Unlock()
	}
	return nil
}

// putMark journals the next mark and writes it into the comment.
func (w *Writer) putMark(ctx context.Context, c Comment) error {
	floor := w.floorFor(c)
	if floor == (Floor{}) {
		return errors.New("claim the cluster: no revision was accepted yet")
	}
	w.mu.Lock()
	next := Mark{Number: max(c.Writer.Number, w.mark.Number) + 1, Nonce: w.nonce}
	w.mu.Unlock()
	if err := w.opts.Journal.Append(ctx, journal.Writer(next)); err != nil {
		return fmt.Errorf("claim the cluster: %w", err)
	}
	if err := w.put(ctx, Comment{Floor: floor, Writer: next}); err != nil {
		return fmt.Errorf("claim the cluster: %w", err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.mark, w.standing, w.waitEnds, w.takeOver = next, Claimed, time.Now().Add(w.opts.Wait), false
	return nil
}

func (w *Writer) put(ctx context.Context, c Comment) error {
	return w.opts.Keeper.SetPoolComment(ctx, Pool, c.String())
}

// floorFor returns the floor to write after a reading of the comment: the revision that the journal accepted last, unless the comment has a newer one.
func (w *Writer) floorFor(c Comment) Floor {
	if last := w.opts.Journal.State().Accepted; last != nil && !c.Floor.Above(last) {
		return FloorOf(*last)
	}
	return c.Floor
}

// RaiseFloor writes the revision that the journal accepted last into the comment, unless the comment has it or a newer one. If this process has not
// claimed the cluster yet, it claims with the same write. An error that wraps ErrNotWriter means that another agent has claimed.
func (w *Writer) RaiseFloor(ctx context.Context) error {
	if w.opts.Keeper == nil {
		return nil
	}
	if err := w.begin(ctx); err != nil {
		return err
	}
	defer w.end()
	began := time.Now()
	c, err := w.read(ctx)
	if err != nil && !errors.Is(err, ErrComment) {
		return err
	}
	switch s := w.State(); s.Standing {
	case Superseded:
		return fmt.Errorf("%w: another agent has claimed it as writer %d", ErrNotWriter, s.Other.Number)
	case Unclaimed:
		return w.putMark(ctx, c)
	case Claimed, Confirmed:
	}
	next := Comment{Floor: w.floorFor(c), Writer: c.Writer}
	if next.Floor == c.Floor {
		return nil
	}
	err = w.put(ctx, next)
	if time.Since(began) > slowWrite {
		w.waitAgain()
	}
	return err
}

// waitAgain begins another wait after a slow write of the comment, which may have replaced the mark of an agent that claimed since the reading.
func (w *Writer) waitAgain() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.standing == Confirmed || w.standing == Claimed {
		w.standing, w.waitEnds = Claimed, time.Now().Add(w.opts.Wait)
	}
}
