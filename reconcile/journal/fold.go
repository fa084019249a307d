package journal

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

// fold turns records into state, one at a time and in order. It is total: records of a step or guest that compaction forgot
// change nothing. Every entry knows the records it stands on, which are those that compaction has to keep.
type fold struct {
	seq      uint64
	accepted *noted[Accepted]
	open     map[string]*openStep
	assigned map[Label]noted[int]
	owned    map[int]noted[Owned]
	guarded  map[int]noted[Guarded]
	orders   map[string]noted[Ordered]
	destroys []destroy
}

type noted[T any] struct {
	seq  uint64
	time time.Time
	is   T
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
		assigned: map[Label]noted[int]{},
		owned:    map[int]noted[Owned]{},
		guarded:  map[int]noted[Guarded]{},
		orders:   map[string]noted[Ordered]{},
	}
}

func (f *fold) add(r Record) {
	f.seq = r.Seq
	switch b := r.Body.(type) {
	case Accepted:
		f.accepted = &noted[Accepted]{r.Seq, r.Time, b}
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
		label := Label{b.Kind, b.Name}
		f.assigned[label] = noted[int]{r.Seq, r.Time, b.VMID}
		if b.VMID == 0 {
			delete(f.assigned, label)
		}
	case Owned:
		f.owned[b.VMID] = noted[Owned]{r.Seq, r.Time, b}
	case Disowned:
		delete(f.owned, b.VMID)
		delete(f.guarded, b.VMID)
	case Guarded:
		f.guarded[b.VMID] = noted[Guarded]{r.Seq, r.Time, b}
	case Ordered:
		f.orders[b.Key] = noted[Ordered]{r.Seq, r.Time, b}
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

// forget drops what has no meaning any more at now: destroys out of the window, orders that ended keepOrders ago.
func (f *fold) forget(now time.Time, keepOrders time.Duration) {
	f.destroys = slices.DeleteFunc(f.destroys, func(d destroy) bool { return now.Sub(d.time) >= destroyWindow })
	maps.DeleteFunc(f.orders, func(_ string, o noted[Ordered]) bool {
		return o.is.State.final() && now.Sub(o.time) >= keepOrders && now.Sub(o.is.ProvenTime) >= keepOrders
	})
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
	addSeqs(keep, f.assigned)
	addSeqs(keep, f.owned)
	addSeqs(keep, f.guarded)
	addSeqs(keep, f.orders)
	return keep
}

func addSeqs[K comparable, T any](keep map[uint64]bool, entries map[K]noted[T]) {
	for _, e := range entries {
		keep[e.seq] = true
	}
}

// state copies the fold. The caller fills in the lineage.
func (f *fold) state() State {
	s := State{
		Seq:      f.seq,
		Assigned: bare(f.assigned),
		Owned:    bare(f.owned),
		Guarded:  bare(f.guarded),
		Orders:   make(map[string]Order, len(f.orders)),
	}
	if f.accepted != nil {
		a := f.accepted.is
		s.Accepted = &a
	}
	for _, step := range f.open {
		o := step.OpenStep
		o.TaskTypes, o.Detail = slices.Clone(o.TaskTypes), maps.Clone(o.Detail)
		s.Open = append(s.Open, o)
	}
	slices.SortFunc(s.Open, func(a, b OpenStep) int { return cmp.Compare(a.Seq, b.Seq) })
	for key, o := range f.orders {
		s.Orders[key] = Order{Ordered: o.is, Time: o.time}
	}
	for _, d := range f.destroys {
		s.Destroys = append(s.Destroys, d.time)
	}
	return s
}

func bare[K comparable, T any](entries map[K]noted[T]) map[K]T {
	out := make(map[K]T, len(entries))
	for k, e := range entries {
		out[k] = e.is
	}
	return out
}

// admission returns what the writer checks new records against.
func (f *fold) admission() *admission {
	a := &admission{open: map[string]bool{}, settled: map[string]bool{}}
	for step := range f.open {
		a.open[step] = true
	}
	for key, o := range f.orders {
		if o.is.State.final() {
			a.settled[key] = true
		}
	}
	return a
}
