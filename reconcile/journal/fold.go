package journal

import (
	"cmp"
	"slices"
	"time"

	"gitops-agent/reconcile/object"
)

// fold is the state that records add up to, built one record at a time and in order. It accepts every sequence of records: a record
// about a step or guest that compaction has dropped changes nothing. The fold knows which records each entry comes from, and
// compaction keeps those records. The table kinds defines what each kind of record does to the fold.
type fold struct {
	seq         uint64
	accepted    *entry[Accepted]
	acceptedAt  time.Time
	evidence    *entry[Evidence] // about the accepted revision
	open        map[string]*openStep
	downloaded  *index[FileOn, File]
	objects     *index[ObjectID, OwnedObject]
	assigned    *index[Label, int]
	owned       *index[int, Owned]
	guarded     *index[int, Guarded]
	cluster     *entry[ClusterGuarded]
	applied     *index[int, Applied]
	ineffective *index[int, IneffectiveRestart]
	attached    *index[int, Attached]
	snapshots   *index[int, Snapshots]
	repeated    *index[int, bool]
	flapping    *index[object.Key, Flaps]
	seen        *index[object.Key, Seen]
	orders      *index[string, Order]
	overridden  *index[int, Overridden]
	introduced  *index[Label, Introduced]
	removed     map[int]Label // labels of removed manifests, by the vmid of the guest
	policies    *index[string, PolicyInForce]
	left        *index[int, []Former]
	rollouts    *index[string, Rollout]
	staged      *index[int, Staged]
	placed      *index[int, Placed]
	freed       *index[int, time.Time]
	destroys    []destroy
	writers     []entry[Writer] // oldest first
}

type openStep struct {
	OpenStep
	dispatched []uint64 // numbers of the Dispatched records
	waited     uint64   // number of the last Waited record, 0 if there is none
}

type destroy struct {
	begun, ended uint64 // numbers of the records
	time         time.Time
}

func newFold() *fold {
	return &fold{
		open:        map[string]*openStep{},
		downloaded:  newIndex[FileOn, File](),
		objects:     newIndex[ObjectID, OwnedObject](),
		assigned:    newIndex[Label, int](),
		owned:       newIndex[int, Owned](),
		guarded:     newIndex[int, Guarded](),
		applied:     newIndex[int, Applied](),
		ineffective: newIndex[int, IneffectiveRestart](),
		attached:    newIndex[int, Attached](),
		snapshots:   newIndex[int, Snapshots](),
		repeated:    newIndex[int, bool](),
		flapping:    newIndex[object.Key, Flaps](),
		seen:        newIndex[object.Key, Seen](),
		orders:      newIndex[string, Order](),
		overridden:  newIndex[int, Overridden](),
		introduced:  newIndex[Label, Introduced](),
		removed:     map[int]Label{},
		policies:    newIndex[string, PolicyInForce](),
		left:        newIndex[int, []Former](),
		rollouts:    newIndex[string, Rollout](),
		staged:      newIndex[int, Staged](),
		placed:      newIndex[int, Placed](),
		freed:       newIndex[int, time.Time](),
	}
}

// accept also ends the evidence, which was about the revision before.
func (f *fold) accept(r Record, b Accepted) {
	f.accepted, f.acceptedAt, f.evidence = &entry[Accepted]{r.Seq, b}, r.Time, nil
}

func (f *fold) begin(r Record, b Begun) {
	f.open[b.Step] = &openStep{OpenStep: OpenStep{Begun: b, Seq: r.Seq, Time: r.Time}}
}

func (f *fold) dispatch(r Record, b Dispatched) {
	s := f.open[b.Step]
	switch {
	case s == nil:
		return
	case b.Refused:
		s.Refused = true
	default:
		s.Dispatched++
		s.UPID = b.UPID
	}
	s.dispatched = append(s.dispatched, r.Seq)
}

// wait changes nothing if the step has ended: the record may have been made beside the end.
func (f *fold) wait(r Record, b Waited) {
	if s := f.open[b.Step]; s != nil {
		s.Waited, s.waited = time.Duration(b.Seconds)*time.Second, r.Seq
		s.Uptime, s.UptimeAt = time.Duration(b.Uptime)*time.Second, time.Duration(b.UptimeAt)*time.Second
	}
}

// end closes a step. A destroy counts if its call was sent, regardless of its outcome: the limit on destroys must not undercount. Older
// releases did not record whether the call was sent; of their steps, those that are done or unknown count.
func (f *fold) end(r Record, b Ended) {
	s := f.open[b.Step]
	delete(f.open, b.Step)
	if s == nil || s.Op != OpDestroy || !b.Sent && b.Result != Done && b.Result != Unknown {
		return
	}
	f.destroys = append(f.destroys, destroy{s.Seq, r.Seq, r.Time})
}

func (f *fold) assign(r Record, b Assigned) {
	label := Label{b.Kind, b.Name}
	if b.VMID == 0 {
		f.assigned.remove(label)
		return
	}
	f.assigned.set(label, r, b.VMID)
}

func (f *fold) introduce(r Record, b Introduced) {
	label := Label{b.Kind, b.Name}
	if len(b.By) == 0 {
		f.introduced.remove(label)
		return
	}
	f.introduced.set(label, r, b)
	if b.Removed && b.VMID != 0 {
		f.removed[b.VMID] = label
	}
}

// disownObject ends the record of an object, and who removed its manifest.
func (f *fold) disownObject(id ObjectID) {
	label := Label{id.Kind, f.objects.entries[id].value.Name}
	if f.introduced.entries[label].value.Removed {
		f.introduced.remove(label)
	}
	f.objects.remove(id)
}

func (f *fold) disown(r Record, b Disowned) {
	if label, found := f.removed[b.VMID]; found && f.introduced.entries[label].value.Removed {
		f.introduced.remove(label)
	}
	delete(f.removed, b.VMID)
	f.owned.remove(b.VMID)
	f.guarded.remove(b.VMID)
	f.applied.remove(b.VMID)
	f.ineffective.remove(b.VMID)
	f.attached.remove(b.VMID)
	f.snapshots.remove(b.VMID)
	f.repeated.remove(b.VMID)
	f.flapping.remove(object.Guest(b.VMID))
	f.seen.remove(object.Guest(b.VMID))
	f.overridden.remove(b.VMID)
	f.staged.remove(b.VMID)
	f.placed.remove(b.VMID)
	f.left.remove(b.VMID)
	f.freed.set(b.VMID, r, r.Time)
}

// maxWriters is how many marks of processes on this state directory the state contains. Proxmox may execute a write of an earlier process late, so
// the last mark alone is not enough. A nonce that is recorded again is the newest one, and counts once.
const maxWriters = 8

func (f *fold) claim(r Record, b Writer) {
	writers := slices.DeleteFunc(slices.Clone(f.writers), func(e entry[Writer]) bool { return e.value.Nonce == b.Nonce })
	writers = append(writers, entry[Writer]{r.Seq, b})
	f.writers = writers[max(len(writers)-maxWriters, 0):]
}

// forgetPast removes the destroys and the freed vmids that are older than their windows.
func (f *fold) forgetPast(now time.Time) {
	for vmid, e := range f.freed.entries {
		if now.Sub(e.value) >= freedWindow {
			f.freed.remove(vmid)
		}
	}
	f.destroys = slices.DeleteFunc(f.destroys, func(d destroy) bool { return now.Sub(d.time) >= destroyWindow })
}

// forgetOrders removes the orders that reached a final state, and were proven, at least keep ago.
func (f *fold) forgetOrders(now time.Time, keep time.Duration) {
	for key, e := range f.orders.entries {
		if o := e.value; o.State.final() && now.Sub(o.Time) >= keep && now.Sub(o.ProvenTime) >= keep {
			f.orders.remove(key)
		}
	}
}

// needed returns the numbers of the records that the state comes from. Compaction keeps them.
func (f *fold) needed() map[uint64]bool {
	seqs := map[uint64]bool{}
	if f.accepted != nil {
		seqs[f.accepted.seq] = true
	}
	if f.evidence != nil {
		seqs[f.evidence.seq] = true
	}
	if f.cluster != nil {
		seqs[f.cluster.seq] = true
	}
	for _, s := range f.open {
		seqs[s.Seq] = true
		for _, seq := range s.dispatched {
			seqs[seq] = true
		}
		if s.waited > 0 {
			seqs[s.waited] = true
		}
	}
	for _, d := range f.destroys {
		seqs[d.begun], seqs[d.ended] = true, true
	}
	for _, w := range f.writers {
		seqs[w.seq] = true
	}
	f.downloaded.addSeqs(seqs)
	f.objects.addSeqs(seqs)
	f.assigned.addSeqs(seqs)
	f.owned.addSeqs(seqs)
	f.guarded.addSeqs(seqs)
	f.applied.addSeqs(seqs)
	f.ineffective.addSeqs(seqs)
	f.attached.addSeqs(seqs)
	f.snapshots.addSeqs(seqs)
	f.repeated.addSeqs(seqs)
	f.flapping.addSeqs(seqs)
	f.seen.addSeqs(seqs)
	f.orders.addSeqs(seqs)
	f.overridden.addSeqs(seqs)
	f.introduced.addSeqs(seqs)
	f.policies.addSeqs(seqs)
	f.left.addSeqs(seqs)
	f.rollouts.addSeqs(seqs)
	f.staged.addSeqs(seqs)
	f.placed.addSeqs(seqs)
	f.freed.addSeqs(seqs)
	return seqs
}

// state returns the fold as a State. The caller sets Lineage and Since.
func (f *fold) state() State {
	s := State{
		Seq:                 f.seq,
		Downloaded:          f.downloaded.snapshot(),
		Objects:             f.objects.snapshot(),
		Assigned:            f.assigned.snapshot(),
		Owned:               f.owned.snapshot(),
		Guarded:             f.guarded.snapshot(),
		Applied:             f.applied.snapshot(),
		IneffectiveRestarts: f.ineffective.snapshot(),
		Attached:            f.attached.snapshot(),
		Snapshots:           f.snapshots.snapshot(),
		Repeated:            f.repeated.snapshot(),
		Flapping:            f.flapping.snapshot(),
		Seen:                f.seen.snapshot(),
		Orders:              f.orders.snapshot(),
		Overridden:          f.overridden.snapshot(),
		Introduced:          f.introduced.snapshot(),
		Policies:            f.policies.snapshot(),
		Left:                f.left.snapshot(),
		Rollouts:            f.rollouts.snapshot(),
		Staged:              f.staged.snapshot(),
		Placed:              f.placed.snapshot(),
		Freed:               f.freed.snapshot(),
	}
	if f.accepted != nil {
		a := f.accepted.value
		s.Accepted, s.AcceptedAt = &a, f.acceptedAt
	}
	if f.evidence != nil {
		e := f.evidence.value
		s.Evidence = &e
	}
	if f.cluster != nil {
		g := f.cluster.value
		s.ClusterGuards = &g
	}
	for _, step := range f.open {
		s.Open = append(s.Open, step.OpenStep)
	}
	slices.SortFunc(s.Open, func(a, b OpenStep) int { return cmp.Compare(a.Seq, b.Seq) })
	for _, w := range f.writers {
		s.Writers = append(s.Writers, w.value)
	}
	for _, d := range f.destroys {
		s.Destroys = append(s.Destroys, d.time)
	}
	return s
}

// admission returns the facts that the writer checks new records against.
func (f *fold) admission() *admission {
	a := &admission{open: map[string]bool{}, ended: map[string]bool{}}
	for step := range f.open {
		a.open[step] = true
	}
	for key, e := range f.orders.entries {
		if e.value.State.final() {
			a.ended[key] = true
		}
	}
	return a
}
