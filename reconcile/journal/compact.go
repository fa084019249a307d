package journal

import (
	"errors"
	"fmt"
	"io"
	"time"
)

// compact replaces every file before the active segment with a base. The active segment is empty, so the fold in memory is the fold of
// the records to be replaced. The base is written under another name, synced and renamed, and its name is synced, before the first old
// file is removed: a crash at any point leaves the old files, or the base and old files that Open removes.
func (j *Journal) compact(now time.Time) (Compacted, error) {
	d := j.opts.disk
	names, err := d.list()
	if err != nil {
		return Compacted{}, fmt.Errorf("compact: %w", err)
	}
	l := parseListing(names)
	l.segments = l.segments[:max(len(l.segments)-1, 0)]

	j.mu.Lock()
	j.fold.forgetPast(j.steady(now))
	j.fold.forgetOrders(now, j.opts.Retain.Orders)
	p := pruner{needed: j.fold.needed(), cutoff: now.Add(-j.opts.Retain.Age), skip: j.stored - j.opts.Retain.Records}
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
	done := Compacted{Kept: int(h.kept), Dropped: j.stored - int(h.kept)} //nolint:gosec // a count of records that fit into memory
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

// endsAt returns an error if the commits that were read are not all that were written.
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

// leavesDoubt reports whether a compaction failed in a way that leaves the content of the directory uncertain. A compaction that had
// too little disk space left everything unchanged.
func leavesDoubt(err error) bool {
	install, damage := installError{}, (*DamageError)(nil)
	return errors.As(err, &install) || errors.As(err, &damage)
}
