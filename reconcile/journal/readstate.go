package journal

import "time"

// ReadState returns the state that the records of the journal in dir add up to. Like Read, it takes no lock and changes nothing, so it
// may run beside the agent; the state is the one that was durable when ReadState began. Its errors are those of Read. Together with
// a *DamageError, the state is the one before the damage.
func ReadState(dir string) (State, error) {
	f := newFold()
	summary, err := Read(dir, func(r Record) error {
		f.add(r)
		return nil
	})
	now := time.Now()
	f.forgetPast(now)
	f.forgetOrders(now, Options{}.withDefaults().Retain.Orders)
	state := f.state()
	state.Lineage, state.Since, state.Seq = summary.Lineage, summary.Since, summary.Seq
	return state, err
}
