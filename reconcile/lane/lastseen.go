package lane

import (
	"context"
	"errors"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/lastseen"
	"gitops-agent/reconcile/object"
	"gitops-agent/reconcile/plan"
)

// memory is what an object's reading says beside what the agent last saw of it in effect. The zero value is of an object that the agent does not own, and
// records nothing.
type memory struct {
	key      object.Key
	identity string
	seen     lastseen.Values // brought up to date with the reading
	changed  bool            // against the journal
	others   []string        // keys that others changed
}

// newMemory compares a reading with the journal. P was planned from it.
func newMemory(state journal.State, key object.Key, identity string, now lastseen.Values, p plan.Guest) memory {
	m := memory{key: key, identity: identity}
	before, differences := lastseen.Of(state, key, identity), lastseen.Differences{Changes: p.Changes, RunState: p.WantsRunState()}
	m.others = lastseen.ByOthers(before, now, differences)
	if m.seen = before; p.Present && !p.Unmarked {
		m.seen, m.changed = lastseen.Follow(before, now, differences)
	}
	return m
}

// rememberGuest compares the reading of a guest of this turn with the journal.
func (t *turn) rememberGuest(basis *Basis, state journal.State, p plan.Guest) {
	t.memory = memory{}
	if d, named := basis.desired(t.Key.VMID); named && t.Absence == "" && p.Present {
		t.memory = newMemory(state, t.Key, state.Owned[t.Key.VMID].Identity, lastseen.OfGuest(d, t.Seen), p)
	}
}

// rememberObject compares the reading of an object that a manifest describes with the journal.
func (t *turn) rememberObject(state journal.State, objects plan.Objects, p plan.Guest) {
	t.memory = memory{}
	if len(objects.Wanted) != 1 {
		return
	}
	d := objects.Wanted[0]
	identity := state.Objects[journal.ObjectID{Kind: string(d.Kind), ID: d.ID}].Identity
	t.memory = newMemory(state, t.Key, identity, lastseen.OfObject(t.Objects[d.Kind].ByID[d.ID]), p)
}

// record returns the record with the given values, nothing if the agent does not own the object.
func (m memory) record(values lastseen.Values) []journal.Body {
	if m.identity == "" {
		return nil
	}
	return []journal.Body{journal.NewSeen(m.key, m.identity, values)}
}

// begin returns the record with which a step begins, nothing if the journal already says so.
func (m memory) begin(step plan.Step) []journal.Body {
	left, changed := effectOf(step).Begin(m.seen)
	if step.Object != nil && step.Object.Identity != m.identity {
		return nil // the label had another object before
	}
	if !changed && !m.changed {
		return nil
	}
	return m.record(left)
}

// takesBack returns what the intent of a step keeps of the keys that others changed.
func (m memory) takesBack(step plan.Step) lastseen.Values {
	if m.identity == "" {
		return nil
	}
	return effectOf(step).TakesBack(m.seen, m.others)
}

// afterNothing returns the record after a step that changed nothing, since its first call was refused: what others changed is still theirs.
func (m memory) afterNothing(c conclusion) []journal.Body {
	if c.result != journal.NotRun && !errors.Is(c.err, cluster.ErrConflict) {
		return nil
	}
	return m.record(m.seen)
}

// endTurn journals what the last reading of a turn shows of the work of the turn, so that the next change is known to be one of others.
func (w *Worker) endTurn(ctx context.Context, t *turn) error {
	if t.Steps == 0 || !t.memory.changed || t.Seen.Lock != "" {
		return nil // of a turn without work the engine takes care
	}
	return w.append(ctx, t.memory.record(t.memory.seen)...)
}

// noteRepair counts a step that was executed if it took back what others changed. A restart completes such a repair.
func (t *turn) noteRepair(step plan.Step) {
	switch {
	case effectOf(step).Repairs(t.memory.others), t.recreates && step.Op == cluster.OpCreate:
		t.Repairs++
		t.Heavy = t.Heavy || step.Op.IsHeavy()
	case step.Op == cluster.OpReboot && t.Repairs > 0:
		t.Heavy = true
	}
}

func effectOf(step plan.Step) lastseen.Effect {
	return lastseen.Effect{Op: step.Op, Changes: step.Changes, Calls: step.Calls, Ordered: step.Order != nil}
}
