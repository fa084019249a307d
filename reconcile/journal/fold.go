package journal

import (
	"cmp"
	"slices"
	"time"
)

// fold turns records into state, one at a time and in order. It is total: records of a step or guest that compaction forgot
// change nothing. Every entry knows the records it stands on, which are those that compaction has to keep.
type fold struct {
	seq      uint64
	accepted *noted[Accepted]
	taken    time.Time // when the accepted revision was
	open     map[string]*openStep
	assigned *book[Label, int]
	owned    *book[int, Owned]
	guarded  *book[int, Guarded]
	applied  *book[int, Applied]
	futile   *book[int, Futile]
	orders   *book[string, Order]
	freed    *book[int, time.Time]
	destroys []destroy
}

type openStep struct {
	OpenStep
	calls []uint64 // seqs of the Dispatched records
}

type destroy struct {
	begun, ended uint64
	time         time.Time
}

func newFold() *fold {
	return &fold{
		open:     map[string]*openStep{},
		assigned: newBook[Label, int](),
		owned:    newBook[int, Owned](),
		guarded:  newBook[int, Guarded](),
		applied:  newBook[int, Applied](),
		futile:   newBook[int, Futile](),
		orders:   newBook[string, Order](),
		freed:    newBook[int, time.Time](),
	}
}

func (f *fold) add(r Record) {
	f.seq = r.Seq
	switch b := r.Body.(type) {
	case Accepted:
		f.accepted, f.taken = &noted[Accepted]{r.Seq, b}, r.Time
	case Begun:
		f.open[b.Step] = &openStep{OpenStep: OpenStep{Begun: b, Seq: r.Seq, Time: r.Time}}
	case Dispatched:
		if s := f.open[b.Step]; s != nil {
			s.Dispatched++
			s.UPID = b.UPID
			s.calls = append(s.calls, r.Seq)
		}
	case Ended:
		f.end(r, b)
	case Assigned:
		if b.VMID == 0 {
			f.assigned.drop(Label{b.Kind, b.Name})
		} else {
			f.assigned.set(Label{b.Kind, b.Name}, r, b.VMID)
		}
	case Owned:
		f.owned.set(b.VMID, r, b)
	case Disowned:
		f.owned.drop(b.VMID)
		f.guarded.drop(b.VMID)
		f.applied.drop(b.VMID)
		f.futile.drop(b.VMID)
		f.freed.set(b.VMID, r, r.Time)
	case Guarded:
		f.guarded.set(b.VMID, r, b)
	case Applied:
		f.applied.set(b.VMID, r, b)
	case Futile:
		f.futile.set(b.VMID, r, b)
	case Ordered:
		f.orders.set(b.Key, r, Order{Ordered: b, Time: r.Time})
	case Event:
	}
}

// end closes a step. A destroy whose outcome is unknown counts like one that was done: a limit must not undercount.
func (f *fold) end(r Record, b Ended) {
	s := f.open[b.Step]
	delete(f.open, b.Step)
	if s == nil || s.Op != OpDestroy || b.Result != Done && b.Result != Unknown {
		return
	}
	f.destroys = append(f.destroys, destroy{s.Seq, r.Seq, r.Time})
}

// forgetPast drops the destroys that their window has left, and the vmids that were freed too long ago.
func (f *fold) forgetPast(now time.Time) {
	for vmid, e := range f.freed.entries {
		if now.Sub(e.is) >= freedWindow {
			f.freed.drop(vmid)
		}
	}
	f.destroys = slices.DeleteFunc(f.destroys, func(d destroy) bool { return now.Sub(d.time) >= destroyWindow })
}

// forgetOrders drops those that ended, and were proven, keep ago or earlier.
func (f *fold) forgetOrders(now time.Time, keep time.Duration) {
	for key, o := range f.orders.entries {
		if o.is.State.final() && now.Sub(o.is.Time) >= keep && now.Sub(o.is.ProvenTime) >= keep {
			f.orders.drop(key)
		}
	}
}

// needs returns the records that the state stands on.
func (f *fold) needs() map[uint64]bool {
	keep := map[uint64]bool{}
	if f.accepted != nil {
		keep[f.accepted.seq] = true
	}
	for _, s := range f.open {
		keep[s.Seq] = true
		for _, seq := range s.calls {
			keep[seq] = true
		}
	}
	for _, d := range f.destroys {
		keep[d.begun], keep[d.ended] = true, true
	}
	f.assigned.needs(keep)
	f.owned.needs(keep)
	f.guarded.needs(keep)
	f.applied.needs(keep)
	f.futile.needs(keep)
	f.orders.needs(keep)
	f.freed.needs(keep)
	return keep
}

// state shows the fold. The caller fills in the lineage.
func (f *fold) state() State {
	s := State{
		Seq:      f.seq,
		Assigned: f.assigned.read(),
		Owned:    f.owned.read(),
		Guarded:  f.guarded.read(),
		Applied:  f.applied.read(),
		Futile:   f.futile.read(),
		Orders:   f.orders.read(),
		Freed:    f.freed.read(),
	}
	if f.accepted != nil {
		a := f.accepted.is
		s.Accepted, s.AcceptedAt = &a, f.taken
	}
	for _, step := range f.open {
		s.Open = append(s.Open, step.OpenStep)
	}
	slices.SortFunc(s.Open, func(a, b OpenStep) int { return cmp.Compare(a.Seq, b.Seq) })
	for _, d := range f.destroys {
		s.Destroys = append(s.Destroys, d.time)
	}
	return s
}

// admission returns what the writer checks new records against.
func (f *fold) admission() *admission {
	a := &admission{open: map[string]bool{}, settled: map[string]bool{}}
	for step := range f.open {
		a.open[step] = true
	}
	for key, o := range f.orders.entries {
		if o.is.State.final() {
			a.settled[key] = true
		}
	}
	return a
}
