package writer

import (
	"context"
	"errors"
	"fmt"
	"slices"
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
	if err := w.opts.Journal.Append(ctx, w.claimRecords(c.Writer, next)...); err != nil {
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

// claimRecords returns what the journal stores before a claim: the next mark, unless an earlier try stored it. If the comment has the mark of an earlier
// process on this state directory, that mark is stored again before it. So it stays known, however many claims fail, in this process or after more starts.
// If it has the mark of another agent, the unspent orders end, because that agent may have used them.
func (w *Writer) claimRecords(seen, next Mark) []journal.Body {
	state := w.opts.Journal.State()
	marks := state.Writers
	if n := len(marks); n > 0 && Mark(marks[n-1]) == next {
		return nil
	}
	records := []journal.Body{journal.Writer(next)}
	if !w.knows(seen) {
		unspent := func(o journal.Order) bool { return o.State.IsOpen() }
		return append(records, state.ExpiredOrders("another agent wrote to the cluster, and may have used it", unspent)...)
	}
	if slices.ContainsFunc(marks[:max(len(marks)-1, 0)], func(m journal.Writer) bool { return m.Nonce == seen.Nonce }) {
		records = []journal.Body{journal.Writer(seen), records[0]}
	}
	return records
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
