package rollout

import (
	"maps"
	"slices"
	"time"

	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
)

// Former is what a guest was released for before a revision is accepted.
type Former struct {
	Desired      *guest.Desired // nil if it is unknown
	Commit, Tree string         // of the revision; "" if it is unknown
	By           []journal.Introduction
}

// Acceptance is a revision that is about to be accepted.
type Acceptance struct {
	Commit string
	Guests []guest.Desired // with the guards in effect
	Before map[int]guest.Desired
	Former map[int]Former // of the owned guests in Before, by vmid; of a guest that is not withheld, that of Before
	State  journal.State
	Lost   bool // the local state was older than the cluster's floor, so what was released is unknown
	Now    time.Time
}

// member is a guest of a rollout.
type member struct {
	journal.Staged
	desired *guest.Desired // nil if the revision has no manifest of the guest
	changed bool           // the revision before wanted something else
	affects bool           // the guest would get something else than what was released for it
}

// group is the guests that share a rollout.
type group struct {
	settings guest.Rollout
	members  []member
}

// Begin returns the records of the guests that the revision stages. A rollout whose guests the revision does not change goes on as it was. A guest that the
// agent does not own yet, or that was in no manifest before, gets the revision at once.
func Begin(a Acceptance) []journal.Body {
	groups := a.groups()
	names := slices.Collect(maps.Keys(groups))
	for name := range a.State.Rollouts {
		if _, known := groups[name]; !known {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	var records []journal.Body
	for _, name := range names {
		records = append(records, a.begin(name, groups[name])...)
	}
	return records
}

// groups returns the guests of every rollout that a change can concern.
func (a Acceptance) groups() map[string]*group {
	groups := make(map[string]*group)
	join := func(r guest.Rollout, m member) {
		g := groups[r.Name]
		if g == nil {
			g = &group{settings: r}
			groups[r.Name] = g
		}
		g.settings = g.settings.Stricter(r)
		m.Rollout = r.Name
		g.members = append(g.members, m)
	}
	named := make(map[int]bool, len(a.Guests))
	for i := range a.Guests {
		d := &a.Guests[i]
		named[d.VMID] = true
		if _, owned := a.State.Owned[d.VMID]; owned && d.Rollout.Name != "" {
			join(d.Rollout, a.member(d))
		}
	}
	for vmid, before := range a.Before {
		r, hasRollout := guest.DecodeRollout(a.State.Guarded[vmid].Rules.Rollout)
		if _, owned := a.State.Owned[vmid]; owned && hasRollout && !named[vmid] {
			m := member{changed: true, affects: true}
			m.Staged = journal.Staged{VMID: vmid, Kind: string(before.Kind), Name: before.Name, Removed: true, Commit: a.Former[vmid].Commit, Tree: a.Former[vmid].Tree, By: a.Former[vmid].By}
			join(r, m)
		}
	}
	return groups
}

// member compares a guest with what it was released for.
func (a Acceptance) member(d *guest.Desired) member {
	m := member{desired: d, Staged: journal.Staged{VMID: d.VMID, Kind: string(d.Kind), Name: d.Name}}
	if a.Lost {
		m.affects, m.changed = true, true
		return m
	}
	before, existed := a.Before[d.VMID]
	former := a.Former[d.VMID]
	m.Commit, m.Tree, m.By = former.Commit, former.Tree, former.By
	switch {
	case !existed:
	case former.Desired == nil:
		m.affects, m.changed = true, guest.MayInterrupt(before, *d, d.Rollout.Live)
	default:
		m.affects, m.changed = guest.MayInterrupt(*former.Desired, *d, d.Rollout.Live), guest.MayInterrupt(before, *d, d.Rollout.Live)
	}
	return m
}

// begin returns the records of one rollout.
func (a Acceptance) begin(name string, g *group) []journal.Body {
	progress, known := a.State.Rollouts[name]
	if g == nil || !slices.ContainsFunc(g.members, func(m member) bool { return m.changed }) {
		return nil
	}
	staged := slices.DeleteFunc(slices.Clone(g.members), func(m member) bool { return !m.affects })
	if len(staged) == 0 {
		var records []journal.Body
		if known {
			records = append(ended(name, a.State, nil), journal.Rollout{Name: name})
		}
		return records
	}
	next := journal.Rollout{Name: name, Revision: a.Commit, State: journal.RolloutRunning, Batch: 1, Guests: len(staged), Since: a.Now}
	if a.Lost {
		next.State, next.Why = journal.RolloutHeld, lostReason
	}
	return stage(next, g.settings, staged, len(g.members), progress.Failed, a.State)
}

const lostReason = "the local state was lost, so it is unknown which guests have which revision"

// stage returns the records of a rollout that begins, with the batches of its guests. Total is the number of guests from which the size of a batch follows.
// The guests that were not ready when the rollout failed come early.
func stage(next journal.Rollout, settings guest.Rollout, staged []member, total int, failed []int, state journal.State) []journal.Body {
	batches := split(settings, staged, total, failed)
	next.Batches = len(batches)
	var records []journal.Body
	kept := make(map[int]bool, len(staged))
	for i, batch := range batches {
		for _, m := range batch {
			m.Batch = i + 1
			kept[m.VMID] = true
			records = append(records, m.Staged)
		}
	}
	return append(append(records, ended(next.Name, state, kept)...), next)
}

// ended returns the records that end the part of guests in a rollout, sorted by vmid, except for some guests.
func ended(name string, state journal.State, kept map[int]bool) []journal.Body {
	var records []journal.Body
	for _, vmid := range slices.Sorted(maps.Keys(state.Staged)) {
		if s := state.Staged[vmid]; s.Rollout == name && !kept[vmid] {
			records = append(records, journal.Staged{VMID: vmid, Kind: s.Kind, Name: s.Name})
		}
	}
	return records
}

// Lost returns the records that hold the rollouts of guests whose records were lost and that the agent claims again: what was released for them is unknown.
func Lost(commit string, guests []guest.Desired, claimed map[int]bool, state journal.State, now time.Time) []journal.Body {
	groups := make(map[string]*group)
	for i := range guests {
		d := &guests[i]
		old, isStaged := state.Staged[d.VMID]
		if d.Rollout.Name == "" || !claimed[d.VMID] && (!isStaged || old.Rollout != d.Rollout.Name) {
			continue
		}
		if groups[d.Rollout.Name] == nil {
			groups[d.Rollout.Name] = &group{settings: d.Rollout}
		}
		g := groups[d.Rollout.Name]
		g.settings = g.settings.Stricter(d.Rollout)
		s := journal.Staged{VMID: d.VMID, Kind: string(d.Kind), Name: d.Name, Rollout: d.Rollout.Name}
		if isStaged && !claimed[d.VMID] {
			s.Commit, s.Tree, s.By = old.Commit, old.Tree, old.By
		}
		g.members = append(g.members, member{Staged: s, desired: d})
	}
	var records []journal.Body
	for _, name := range slices.Sorted(maps.Keys(groups)) {
		g := groups[name]
		if !slices.ContainsFunc(g.members, func(m member) bool { return claimed[m.VMID] }) {
			continue
		}
		next := journal.Rollout{Name: name, Revision: commit, State: journal.RolloutHeld, Batch: 1, Guests: len(g.members), Since: now, Why: lostReason}
		records = append(records, stage(next, g.settings, g.members, countOf(name, guests), nil, state)...)
	}
	return records
}

// countOf returns the number of guests that share a rollout.
func countOf(name string, guests []guest.Desired) int {
	n := 0
	for i := range guests {
		if guests[i].Rollout.Name == name {
			n++
		}
	}
	return n
}
