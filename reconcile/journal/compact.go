package journal

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"time"
)

// compactBatch is how many kept records share a frame of a base.
const compactBatch = 64

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
	j.fold.forget(now, j.opts.Retain.Orders)
	p := pruner{needs: j.fold.needs(), cutoff: now.Add(-j.opts.Retain.Age), skip: j.stored - j.opts.Retain.Records}
	j.mu.Unlock()

	h := header{role: roleBase, chain: j.chain}
	base, err := writeFile(d, baseName(j.chain.next-1), func(w io.WriterAt) error {
		return fillBase(w, &h, func(add func(Record) error) error {
			r := replay{open: d.open, visit: func(rec Record) error {
				if !p.keeps(rec) {
					return nil
				}
				return add(rec)
			}}
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

// pruner picks the records that stay: those that the state stands on, and the history, which is everything from the first
// record on that is young enough and not too far back. History is never thinned out, so a record in it that undoes an
// earlier one is there whenever the earlier one is.
type pruner struct {
	needs  map[uint64]bool
	cutoff time.Time
	skip   int // records that are too far back
	inside bool
}

func (p *pruner) keeps(r Record) bool {
	if p.skip--; p.skip < 0 && !r.Time.Before(p.cutoff) {
		p.inside = true
	}
	return p.inside || p.needs[r.Seq]
}

// fillBase writes the records that each adds, and then h with their number and their last link.
func fillBase(w io.WriterAt, h *header, each func(add func(Record) error) error) error {
	b := baseWriter{out: io.NewOffsetWriter(w, headerSize), link: h.chain.link}
	if err := each(b.add); err != nil {
		return err
	}
	if err := b.flush(); err != nil {
		return err
	}
	h.kept, h.end = b.kept, b.link
	_, err := w.WriteAt(h.append(nil), 0)
	return err
}

type baseWriter struct {
	out   io.Writer
	link  [sha256.Size]byte
	kept  uint64
	batch []Record
}

func (b *baseWriter) add(r Record) error {
	b.batch = append(b.batch, r)
	if len(b.batch) < compactBatch {
		return nil
	}
	return b.flush()
}

// flush writes the batch as one frame, or as two where its records are too long for one.
func (b *baseWriter) flush() error {
	batch := b.batch
	b.batch = nil
	return b.write(batch)
}

func (b *baseWriter) write(batch []Record) error {
	if len(batch) == 0 {
		return nil
	}
	payload, err := encodeCommit(batch)
	if err != nil {
		return err
	}
	if half := len(batch) / 2; len(payload) > maxPayload && half > 0 {
		return errors.Join(b.write(batch[:half]), b.write(batch[half:]))
	}
	f := nextFrame(b.link, payload)
	if _, err := b.out.Write(f.append(make([]byte, 0, f.size()))); err != nil {
		return err
	}
	b.link = f.link
	b.kept += uint64(len(batch))
	return nil
}
