package journal

import (
	"context"
	"fmt"
	"io/fs"
	"time"
)

// Reader reads a journal: it yields the records in order, checks every checksum, link and count, and changes nothing. Its errors are those of Read.
type Reader func(yield func(Record) error) (Summary, error)

// InDir reads the journal in a directory.
func InDir(dir string) Reader {
	return func(yield func(Record) error) (Summary, error) { return Read(dir, yield) }
}

// InBlocks reads the journal in a service.
func InBlocks(ctx context.Context, b Blocks) Reader {
	return func(yield func(Record) error) (Summary, error) {
		r, err := readBlocks(ctx, b, eachRecord(yield), func(frame) {})
		if err == nil && r.files == 0 {
			return Summary{}, fmt.Errorf("read journal: no journal in the service: %w", fs.ErrNotExist)
		}
		return r.summary(), err
	}
}

// summary describes what was read.
func (r *replay) summary() Summary {
	return Summary{
		Lineage:   r.chain.lineage(),
		Since:     r.chain.since(),
		Files:     r.files,
		Records:   r.records,
		Seq:       max(r.chain.next, 1) - 1,
		Head:      fmt.Sprintf("%x", r.chain.link),
		Bytes:     r.bytes,
		TornBytes: r.tail.torn,
	}
}

// InService is InBlocks for the host with the directory dir: it returns ErrRolledBack with the records if the service shows less than this host has seen
// acknowledged.
func InService(ctx context.Context, b Blocks, dir string) Reader {
	return func(yield func(Record) error) (Summary, error) {
		m, err := readMark(dir)
		if err != nil {
			return Summary{}, fmt.Errorf("read journal: %w", err)
		}
		witness := m.witness()
		r, err := readBlocks(ctx, b, eachRecord(yield), witness.see)
		if err == nil {
			err = witness.doubt(r.chain)
		}
		if err == nil && r.files == 0 {
			err = fmt.Errorf("read journal: no journal in the service: %w", fs.ErrNotExist)
		}
		return r.summary(), err
	}
}

// State returns the state that the records add up to. Together with a *DamageError, it is the one before the damage.
func (r Reader) State() (State, error) {
	f := newFold()
	summary, err := r(func(rec Record) error {
		f.add(rec)
		return nil
	})
	now := time.Now()
	f.forgetPast(now)
	f.forgetOrders(now, Options{}.withDefaults().Retain.Orders)
	state := f.state()
	state.Lineage, state.Since, state.Seq, state.Unread = summary.Lineage, summary.Since, summary.Seq, err
	return state, err
}
