package journal

// ReadState returns the state that the records of the journal in dir add up to. Like Read, it takes no lock and changes nothing, so it
// may be called while an agent runs; the state is the durable state at the time when ReadState began. Its errors are those of Read. Together with
// a *DamageError, the state is the one before the damage.
func ReadState(dir string) (State, error) { return InDir(dir).State() }
