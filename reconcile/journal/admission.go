package journal

import "fmt"

// admission enforces two rules that a mistake in the callers must not break: a step is begun once and ended once, and an order in a
// final state does not return to an earlier one. It belongs to the writer and is ahead of the durable state by one commit.
type admission struct {
	open  map[string]bool // ids of the open steps
	ended map[string]bool // keys of the orders in a final state
}

// trial checks the records of one Append call. Its changes reach the admission only if every record passes.
type trial struct {
	admission *admission
	open      map[string]bool // changed by this call
	ended     map[string]bool // added by this call
}

func (a *admission) try() *trial {
	return &trial{admission: a, open: map[string]bool{}, ended: map[string]bool{}}
}

func (t *trial) isOpen(step string) bool {
	if open, changed := t.open[step]; changed {
		return open
	}
	return t.admission.open[step]
}

func (t *trial) begin(b Begun) error {
	if t.isOpen(b.Step) {
		return fmt.Errorf("%w: step %s is already open", ErrRefused, b.Step)
	}
	t.open[b.Step] = true
	return nil
}

func (t *trial) dispatch(b Dispatched) error {
	if !t.isOpen(b.Step) {
		return fmt.Errorf("%w: dispatched step %s is not open", ErrRefused, b.Step)
	}
	return nil
}

func (t *trial) end(b Ended) error {
	if !t.isOpen(b.Step) {
		return fmt.Errorf("%w: ended step %s is not open", ErrRefused, b.Step)
	}
	t.open[b.Step] = false
	return nil
}

func (t *trial) order(b Ordered) error {
	if b.State.final() {
		t.ended[b.Key] = true
		return nil
	}
	if t.admission.ended[b.Key] || t.ended[b.Key] {
		return fmt.Errorf("%w: order %s is in a final state and cannot become %s", ErrRefused, b.Key, b.State)
	}
	return nil
}

// commit makes the changes of the call part of the admission.
func (t *trial) commit() {
	for step, open := range t.open {
		if open {
			t.admission.open[step] = true
		} else {
			delete(t.admission.open, step)
		}
	}
	for key := range t.ended {
		t.admission.ended[key] = true
	}
}
