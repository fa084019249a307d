package guard

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/manifest"
	"gitops-agent/reconcile/policy"
)

// Input is a revision, and the guards that it is compared with.
type Input struct {
	Cluster manifest.Cluster
	Guests  []guest.Desired // as their manifests want them, with their vmids
	State   journal.State
	Minimum Minimum
	At      time.Time

	Policies []policy.Rule // of the repository, as their files state them
}

// Resolved is a revision with the guards that are in effect. It is immutable.
type Resolved struct {
	Guests     []guest.Desired // with the guards in effect; the slice of the input if no guest differs from its manifest
	Guards     manifest.Guards // of the Cluster, in effect
	Weakenings []Weakening     // held changes: those of the Cluster first, then by field and first vmid
	Bounded    map[int][]guest.GuardField
	Policies   []policy.Rule            // of the repository, in effect, sorted by name
	Left       map[int][]journal.Former // by vmid: places that manifests left, and whose policies still apply
	Ends       time.Time                // when the next suspension that is kept in force ends; zero if there is none
}

// Resolve returns the guards in effect: those that the manifests ask for, except for the ones that would weaken a guard in force or the host's
// minimum.
func Resolve(in Input) Resolved {
	r := resolution{Input: in, groups: map[group]int{}}
	r.Resolved.Guests = in.Guests
	r.cluster()
	moved := heldMoves(in)
	for i := range in.Guests {
		r.guest(i, moved[i])
	}
	r.policies()
	r.places()
	for i, w := range r.Weakenings {
		r.Weakenings[i] = w.sealed(in.Cluster.Name)
	}
	slices.SortStableFunc(r.Weakenings, func(a, b Weakening) int {
		return cmp.Or(cmp.Compare(min(len(a.Guests), 1), min(len(b.Guests), 1)), cmp.Compare(a.Field, b.Field), cmp.Compare(firstVMID(a), firstVMID(b)), cmp.Compare(a.Digest, b.Digest))
	})
	return r.Resolved
}

func firstVMID(w Weakening) int {
	if len(w.Guests) == 0 {
		return 0
	}
	return w.Guests[0].VMID
}

// resolution is the state of one Resolve.
type resolution struct {
	Input
	Resolved
	groups map[group]int // of Weakenings, by what makes them one
	copied bool
}

// group is what the guests of one weakening have in common.
type group struct {
	field    guest.GuardField
	old, new string
	origin   guest.Origin
}

// cluster compares the guards of the Cluster. A Cluster without a record begins with the guards of its manifest.
func (r *resolution) cluster() {
	wanted := r.Minimum.ofCluster(r.Cluster.Guards)
	r.Guards = wanted
	if r.State.ClusterGuards == nil {
		return
	}
	now := r.Minimum.ofCluster(manifest.Guards(*r.State.ClusterGuards))
	if wanted.Approvals < now.Approvals {
		r.Guards.Approvals = now.Approvals
		r.add(group{ClusterApprovals, strconv.Itoa(now.Approvals), strconv.Itoa(wanted.Approvals), r.Cluster.Origin}, nil)
	}
	if wanted.MaxDestroysPerDay > now.MaxDestroysPerDay {
		r.Guards.MaxDestroysPerDay = now.MaxDestroysPerDay
		r.add(group{ClusterMaxDestroy, strconv.Itoa(now.MaxDestroysPerDay), strconv.Itoa(wanted.MaxDestroysPerDay), r.Cluster.Origin}, nil)
	}
}

// guest compares the guards of one guest. OldVMID is the vmid that the guest keeps until its new one is approved; 0 if it does not change.
func (r *resolution) guest(i, oldVMID int) {
	d := &r.Input.Guests[i]
	if oldVMID != 0 {
		d = r.own(i)
		wanted := d.VMID
		d.VMID = oldVMID
		r.add(group{guest.GuardVMID, strconv.Itoa(oldVMID), strconv.Itoa(wanted), d.SetAt(guest.GuardVMID)}, r.object(d))
	}
	asked := Of(d)
	wanted := r.Minimum.of(asked)
	effective := wanted
	if d.Invalid != nil { // what it asks for is not known, so the guards in force stay
		if now, known := InForce(r.State, d.VMID); known {
			r.apply(i, asked, r.Minimum.of(completed(now, wanted)))
		}
		return
	}
	if now, known := InForce(r.State, d.VMID); known && d.VMID != 0 {
		now = r.Minimum.of(completed(now, wanted))
		for _, f := range fields {
			if !f.isWeaker(&wanted, &now, r.At) {
				continue
			}
			f.take(&effective, &now)
			if f.isSilent != nil && f.isSilent(&wanted, &now) {
				continue
			}
			w := r.add(group{f.name, f.text(&now), f.text(&wanted), origin(d, f.name, now)}, r.object(d))
			if f.why != nil {
				w.Why, w.Keys = f.why(&wanted, &now)
			}
			if f.name == guest.GuardSuspend {
				r.endsAt(suspendedUntil(now.Rules.Suspended))
			}
		}
	}
	if asked != effective {
		r.apply(i, asked, effective)
	}
	if asked != wanted {
		r.note(i, asked, wanted)
	}
}

// apply gives a guest the guards in effect where its manifest asks for weaker ones.
func (r *resolution) apply(i int, asked, effective journal.Guarded) {
	for _, f := range fields {
		if f.isWeaker(&asked, &effective, r.At) {
			f.apply(r.own(i), &effective)
		}
	}
}

// note notes the guards that the host's minimum keeps from being weaker.
func (r *resolution) note(i int, asked, wanted journal.Guarded) {
	if r.Bounded == nil {
		r.Bounded = map[int][]guest.GuardField{}
	}
	vmid := r.Resolved.Guests[i].VMID
	for _, f := range fields {
		if f.isWeaker(&asked, &wanted, r.At) {
			r.Bounded[vmid] = append(r.Bounded[vmid], f.name)
		}
	}
}

// own returns a guest of the result that may be changed.
func (r *resolution) own(i int) *guest.Desired {
	if !r.copied {
		r.Resolved.Guests, r.copied = slices.Clone(r.Input.Guests), true
	}
	return &r.Resolved.Guests[i]
}

func (r *resolution) object(d *guest.Desired) []Object {
	return []Object{{d.Ref, cmp.Or(r.State.Owned[d.VMID].Identity, r.State.Guarded[d.VMID].Identity)}}
}

// add adds a weakening. The guests for which one line weakens one guard in the same way are one weakening.
func (r *resolution) add(g group, objects []Object) *Weakening {
	at, known := r.groups[g]
	if !known {
		at = len(r.Weakenings)
		r.groups[g] = at
		r.Weakenings = append(r.Weakenings, Weakening{Field: g.field, Old: g.old, New: g.new, Origin: g.origin})
	}
	w := &r.Weakenings[at]
	w.Guests = append(w.Guests, objects...)
	return w
}

// origin returns the line that sets a guard. A wider window is set by its own line.
func origin(d *guest.Desired, field guest.GuardField, now journal.Guarded) guest.Origin {
	if field == guest.GuardRebootPolicy && now.Rules.RebootPolicy == string(guest.RebootWindow) && d.Lifecycle.RebootPolicy == guest.RebootWindow {
		field = guest.GuardWindow
	}
	return d.SetAt(field)
}

func (r *resolution) endsAt(end time.Time) {
	if !end.IsZero() && (r.Ends.IsZero() || end.Before(r.Ends)) {
		r.Ends = end
	}
}

// heldMoves returns the vmids that guests keep, by the index of the guest: a guest that is owned, and whose manifest names another vmid. If another
// manifest names the vmid of the owned guest, then that one is its new manifest.
func heldMoves(in Input) map[int]int {
	var moved map[int]int
	var byLabel map[journal.Label][]int
	named := map[int]bool{}
	for i := range in.Guests {
		d := &in.Guests[i]
		if _, owned := in.State.Owned[d.VMID]; owned || d.VMID == 0 || len(in.State.Owned) == 0 {
			continue
		}
		if byLabel == nil {
			byLabel = map[journal.Label][]int{}
			for vmid, owned := range in.State.Owned {
				label := journal.Label{Kind: owned.Kind, Name: owned.Name}
				byLabel[label] = append(byLabel[label], vmid)
			}
			for j := range in.Guests {
				named[in.Guests[j].VMID] = true
			}
		}
		if old := oldVMID(in.State, byLabel[journal.Label{Kind: string(d.Kind), Name: d.Name}], d.VMID, named); old != 0 {
			if moved == nil {
				moved = map[int]int{}
			}
			moved[i] = old
		}
	}
	return moved
}

// oldVMID returns the vmid of the guest that is owned under a label and that its manifest leaves, 0 if there is none or if that is approved.
func oldVMID(state journal.State, candidates []int, wanted int, named map[int]bool) int {
	slices.Sort(candidates)
	for _, vmid := range candidates {
		owned := state.Owned[vmid]
		neverCompleted := owned.Claiming && owned.Origin == journal.Created
		if named[vmid] || neverCompleted || state.Guarded[vmid].Rules.MovedTo == wanted {
			continue
		}
		return vmid
	}
	return 0
}
