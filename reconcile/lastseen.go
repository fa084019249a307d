package reconcile

import (
	"context"
	"maps"
	"slices"
	"time"

	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/kind"
	"gitops-agent/reconcile/lastseen"
	"gitops-agent/reconcile/object"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/report"
)

// followValues journals which values of the planned objects the agent now sees in effect. A lane does it after its own steps.
func (e *Engine) followValues(ctx context.Context, planned plan.Plan) {
	if !e.lease.mayWrite(e.revision.force) {
		return
	}
	look := values{engine: e, rest: e.atRest()}
	var records []journal.Body
	for _, p := range planned.Guests {
		if !p.Present || !p.Managed || p.Unmarked {
			continue // of what may be another object, nothing is learned
		}
		t, key := e.track(p.Ref), keyOf(p.Ref)
		read := look.readingOf(p)
		if t.followed == read || !look.isNewer(key, read.at) {
			continue
		}
		identity, now := look.of(p)
		if identity == "" {
			continue
		}
		before := lastseen.Of(look.state, key, identity)
		next, changed := lastseen.Follow(before, now, lastseen.Differences{Changes: p.Changes, RunState: p.WantsRunState()})
		if t.followed = read; changed {
			records = append(records, journal.NewSeen(key, identity, next))
		}
	}
	if len(records) == 0 {
		return
	}
	if err := e.opts.Journal.Append(ctx, records...); err != nil {
		e.log.WarnContext(ctx, "journal not written", "error", err)
	}
}

// findOthers notes which keys of each planned object others changed. A key stays noted for as long as it differs: the record in the journal does not have it any
// more when a step begins to take it back. Of a reading that may be older than the last step of the agent nothing new is learned.
func (e *Engine) findOthers(planned plan.Plan) {
	look := values{engine: e, rest: e.atRest()}
	for _, p := range planned.Guests {
		t := e.track(p.Ref)
		if e.opts.Standby != "" {
			t.followLeader(look.state, keyOf(p.Ref), time.Now())
		}
		switch {
		case syncOf(p) == report.SyncUnknown:
			continue // it is not known whether it still differs
		case !p.Managed, p.Converged():
			t.others = nil
			continue
		}
		differs := lastseen.Differences{Changes: p.Changes, RunState: p.WantsRunState(), Gone: slices.Contains(p.Lost, plan.KeyExists)}
		key := keyOf(p.Ref)
		found := append(slices.Clone(t.others), takenBack(look.state, key)...)
		if look.has(key) && (key.VMID == 0 || look.isNewer(key, look.read.Inventory.ReadAt)) {
			found = append(found, p.Lost...)
		}
		if p.Present && look.isNewer(key, look.readingOf(p).at) {
			if identity, now := look.of(p); identity != "" {
				found = append(found, lastseen.ByOthers(lastseen.Of(look.state, key, identity), now, differs)...)
			}
		}
		t.others = differs.Only(found)
	}
}

// takenBack returns the keys that others changed and that an open step of an object takes back.
func takenBack(state journal.State, key object.Key) []string {
	var keys []string
	for _, open := range state.Open {
		if open.Key() == key {
			keys = slices.AppendSeq(keys, maps.Keys(open.TakesBack))
		}
	}
	return keys
}

// values finds the values of the newest readings of planned objects.
type values struct {
	rest

	engine  *Engine
	guests  map[int]*guest.Desired       // by vmid; nil until it is needed
	objects map[object.Key]*kind.Desired // nil until it is needed
}

// readingOf returns which reading an object was planned from.
func (v *values) readingOf(p plan.Guest) reading {
	if !p.Ref.Kind.IsGuest() {
		return reading{at: p.ReadAt}
	}
	return readingOf(v.read.Guests[p.Ref.VMID])
}

// of returns the identity under which the agent owns an object and the values that were read. The identity is "" if the reading does not tell: a step of the object under
// an earlier name is open, or the guest is locked by a task that changes it.
func (v *values) of(p plan.Guest) (identity string, now lastseen.Values) {
	e := v.engine
	if p.Ref.Kind.IsGuest() {
		if v.guests == nil {
			v.guests = make(map[int]*guest.Desired, len(e.guests))
			for i := range e.guests {
				v.guests[e.guests[i].VMID] = &e.guests[i]
			}
		}
		d, live := v.guests[p.Ref.VMID], v.read.Guests[p.Ref.VMID]
		if d == nil || live.Lock != "" {
			return "", nil
		}
		return v.state.Owned[p.Ref.VMID].Identity, lastseen.OfGuest(d, live)
	}
	if v.objects == nil {
		v.objects = make(map[object.Key]*kind.Desired)
		wanted := e.objects()
		for i := range wanted {
			v.objects[keyOf(wanted[i].Ref())] = &wanted[i]
		}
	}
	d := v.objects[keyOf(p.Ref)]
	if d == nil {
		return "", nil
	}
	id := journal.ObjectID{Kind: string(d.Kind), ID: d.ID}
	live, exists := v.read.Objects[d.Kind].ByID[d.ID]
	if !exists || isObjectOpen(v.state, id) {
		return "", nil
	}
	return v.state.Objects[id].Identity, lastseen.OfObject(live)
}

// endedSeen ends the records of objects other than guests that the agent does not own any more. The record of a guest ends with the guest.
func endedSeen(state journal.State) []journal.Body {
	var records []journal.Body
	var owned map[string]bool
	for key, seen := range state.Seen {
		if key.VMID != 0 {
			continue
		}
		if owned == nil {
			owned = make(map[string]bool, len(state.Objects))
			for _, o := range state.Objects {
				owned[o.Identity] = true
			}
		}
		if !owned[seen.Identity] {
			records = append(records, journal.NewSeen(key, "", nil))
		}
	}
	return records
}
