package journal

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"time"
)

// compact replaces everything before the active segment by a base. The active segment is empty, so the fold in memory is
// that of the records to be replaced. The base is written under another name, synced, renamed and its name synced before the
// first old file goes: a crash at any point leaves the old files, or the base and old files that Open removes.
func (j *Journal) compact(now time.Time) (Compacted, error) {
	d := j.opts.disk
	names, err := d.list()
	if err != nil {
		return Compacted{}, fmt.Errorf("compact: %w", err)
	}
	l := parseListing(names)
	l.segments = l.segments[:max(len(l.segments)-1, 0)]

	j.mu.Lock()
	j.fold.forgetPast(now)
	j.fold.forgetOrders(now, j.opts.Retain.Orders)
	p := pruner{needs: j.fold.needs(), cutoff: now.Add(-j.opts.Retain.Age), skip: j.stored - j.opts.Retain.Records}
	j.mu.Unlock()

	h := header{role: roleBase, chain: j.chain}
	base, err := writeFile(d, baseName(j.chain.next-1), func(w io.WriterAt) error {
		return fillBase(w, &h, func(add func(frame) error) error {
			r := replay{open: d.open, visit: func(f frame) error { return p.pick(f, add) }}
			if err := r.run(l); err != nil {
				return err
			}
			return endsAt(r.chain, j.chain, l)
		})
	})
	if err != nil {
		return Compacted{}, fmt.Errorf("compact: %w", err)
	}
	done := Compacted{Kept: int(h.kept), Dropped: j.stored - int(h.kept)} //nolint:gosec // a count of records in memory's reach
	j.stored, j.sealed = done.Kept, 0
	err = base.Close()
	for _, name := range l.all() {
		err = errors.Join(err, d.remove(name))
	}
	if err != nil {
		return done, fmt.Errorf("remove compacted segments: %w", err)
	}
	return done, nil
}

// endsAt makes sure that what was read is all that was written.
func endsAt(got, want chain, l listing) error {
	if got == want {
		return nil
	}
	name := ""
	if files := l.files(); len(files) > 0 {
		name = files[len(files)-1]
	}
	return &DamageError{name, 0, fmt.Errorf("the files end before record %d, want %d", got.next, want.next)}
}

// pruner picks the commits that stay: those with records that the state stands on, and the history, which is everything
// from the first commit on that is young enough and not too far back. History is never thinned out, so a record in it that
// undoes an earlier one is there whenever the earlier one is.
type pruner struct {
	needs  map[uint64]bool
	cutoff time.Time
	skip   int // records that are too far back
	inside bool
}

// pick adds f as it is, or of its records those that are needed. What is neither needed nor history is not even decoded.
func (p *pruner) pick(f frame, add func(frame) error) error {
	if p.skip -= f.count; p.skip < 0 && f.time >= p.cutoff.UnixNano() {
		p.inside = true
	}
	if p.inside {
		return add(f)
	}
	needed := false
	for seq := f.seq; seq <= f.last(); seq++ {
		needed = needed || p.needs[seq]
	}
	if !needed {
		return nil
	}
	records, err := f.records()
	if err != nil {
		return err
	}
	for _, r := range records {
		if !p.needs[r.Seq] {
			continue
		}
		if err := addRecord(add, r); err != nil {
			return err
		}
	}
	return nil
}

func addRecord(add func(frame) error, r Record) error {
	f, err := frameOf(r)
	if err != nil {
		return err
	}
	return add(f)
}

// fillBase writes the commits that each adds, and then h with the number of records and their last link. An error of w is
// marked as one that is no damage.
func fillBase(w io.WriterAt, h *header, each func(add func(frame) error) error) error {
	out := bufio.NewWriterSize(io.NewOffsetWriter(w, headerSize), 1<<16)
	h.end = h.chain.link
	err := each(func(f frame) error {
		f = f.after(h.end)
		h.end = f.link
		h.kept += uint64(f.count) //nolint:gosec // not negative
		if _, err := out.Write(f.append(make([]byte, 0, f.size()))); err != nil {
			return stopped{err}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := out.Flush(); err != nil {
		return err
	}
	_, err = w.WriteAt(h.bytes(), 0)
	return err
}
