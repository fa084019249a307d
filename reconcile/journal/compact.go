package journal

import (
	"errors"
	"fmt"
	"time"
)

// compact replaces the commits in the store with those that still matter. The fold in memory is the fold of the records to be replaced.
func (j *Journal) compact(now time.Time) (Compacted, error) {
	j.mu.Lock()
	j.fold.forgetPast(j.steady(now))
	j.fold.forgetOrders(now, j.opts.Retain.Orders)
	p := pruner{needed: j.fold.needed(), cutoff: now.Add(-j.opts.Retain.Age), skip: j.stored - j.opts.Retain.Records}
	j.mu.Unlock()

	kept, replaced, err := j.store.compact(j.chain, p.pick)
	if !replaced {
		return Compacted{}, fmt.Errorf("compact: %w", err)
	}
	done := Compacted{Kept: kept, Dropped: j.stored - kept}
	j.stored = kept
	if err != nil {
		return done, fmt.Errorf("remove compacted commits: %w", err)
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
