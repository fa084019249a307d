package journal

// store keeps the commits of a journal and knows no records: it decides where the bytes are, and the Journal decides what they say. Load comes first,
// then resume if load found no damage. Only the writer calls the other methods, except present and writable.
type store interface {
	// load visits every commit in order and checks its place in the chain. It changes nothing. A *DamageError comes with what was read before the damage.
	load(visit func(frame) error) (loaded, error)
	// resume makes the store ready for the commit after next, and removes what a crash left over. It reports what it removed.
	resume(next chain) (cleaned, error)
	// append makes f, the commit after the position at, durable.
	append(at chain, f frame) error
	// takesCommits returns why the next commit must not be written now: it would be lost, or it would damage the journal of another process.
	takesCommits() error
	// rotate is called after each commit, when its callers have their answers. It reports whether the older commits should be compacted.
	rotate(at chain) (full bool, err error)
	// compact replaces the commits up to the position at by those that pick adds, and returns the number of records in them. A crash at any point leaves the
	// old commits or the new ones. The error of a compaction that took place means that old commits were not removed.
	compact(at chain, pick func(f frame, add func(frame) error) error) (records int, replaced bool, err error)
	// present returns an error while the store is not the one that this process opened. Any goroutine may call it.
	present() error
	// writable returns an error while the file system of the state directory is read-only. Any goroutine may call it.
	writable() error
	close() error
}

// loaded is what a store contains.
type loaded struct {
	chain   chain // after the last commit that was read; the zero value if there is no journal
	files   int
	records int
}

// cleaned is what a crash left over.
type cleaned struct {
	removed   int    // files of an interrupted compaction or rotation
	torn      int64  // bytes after the last commit
	tornPlace string // where they were
}
