package reconcile

import (
	"context"
	"reflect"
	"time"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/event"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/manifest"
	"gitops-agent/reconcile/object"
	"gitops-agent/reconcile/plan"
)

// track returns the track of a guest, and makes one if there is none.
func (e *Engine) track(ref guest.Ref) *track { return e.trackOf(keyOf(ref)) }

// trackOf returns the track of an object, and makes one if there is none.
func (e *Engine) trackOf(key object.Key) *track {
	t, ok := e.tracks[key]
	if !ok {
		t = &track{since: make(map[string]time.Time), said: e.events.Subject().ReadEvery(e.opts.Tick)}
		e.tracks[key] = t
	}
	return t
}

// forgetTracks drops the tracks of guests that left the plan. A vmid that comes back later starts without a history.
func (e *Engine) forgetTracks(planned plan.Plan) {
	keep := make(map[object.Key]bool, len(planned.Guests))
	for _, p := range planned.Guests {
		keep[keyOf(p.Ref)] = true
	}
	for key := range e.tracks {
		if !keep[key] && !e.queue.Busy(key) && !e.tracks[key].flaps.matters(time.Now()) {
			e.tracks[key].dropHolds()
			e.tracks[key].noteSuccess()
			delete(e.tracks, key)
		}
	}
}

// calmChanged forgets the repairs of objects whose own desired state changed. Who pushes other changes does not know of an object that flaps.
func (e *Engine) calmChanged(keys []object.Key) {
	for _, key := range keys {
		if t, known := e.tracks[key]; known {
			if t.flaps.matters(time.Now()) {
				e.noteFlaps(key, 0)
			}
			t.flaps = flapDamper{}
		}
	}
}

// keysOf returns the keys of guests.
func keysOf(vmids []int) []object.Key {
	keys := make([]object.Key, 0, len(vmids))
	for _, vmid := range vmids {
		keys = append(keys, object.Guest(vmid))
	}
	return keys
}

// changedObjects returns the keys of the Images and objects of other kinds that both sets describe, and whose own desired state differs. Moving a line is no change.
func changedObjects(before, after manifest.Set) []object.Key {
	known := make(map[object.Key]any, len(before.Images)+len(before.Objects))
	for _, d := range before.Images {
		known[keyOf(d.Ref())] = d.WithoutPosition()
	}
	for _, d := range before.Objects {
		known[keyOf(d.Ref())] = d.WithoutPositions()
	}
	var changed []object.Key
	note := func(key object.Key, now any) {
		if was, both := known[key]; both && !reflect.DeepEqual(was, now) {
			changed = append(changed, key)
		}
	}
	for _, d := range after.Images {
		note(keyOf(d.Ref()), d.WithoutPosition())
	}
	for _, d := range after.Objects {
		note(keyOf(d.Ref()), d.WithoutPositions())
	}
	return changed
}

// clearFailures lets guests be tried again that failed under the revision before.
func clearFailures(tracks map[object.Key]*track) {
	for _, t := range tracks {
		if t.hangingTask() == nil { // no revision ends a task
			t.recover()
		}
	}
}

// retryUsedObjects lets the removals of objects be tried again that something used. A step of the agent may have ended the use.
func retryUsedObjects(tracks map[object.Key]*track) {
	for _, t := range tracks {
		if cluster.IsUsed(t.failed) {
			t.retry = backoff{}
		}
	}
}

// stuck returns the labels of the guests that fail repeatedly, and of those that get no vmid.
func (e *Engine) stuck() map[string]bool {
	labels := make(map[string]bool)
	for _, d := range e.guests {
		t, known := e.tracks[keyOf(d.Ref)]
		if known && t.failsRepeatedly() || d.VMID == 0 && (e.unassigned != nil || e.uuidHolders[d.Label()] != 0) {
			labels[d.Label()] = true
		}
	}
	var others []guest.Ref
	for _, d := range e.images(e.opts.Journal.State()).Wanted {
		others = append(others, d.Ref())
	}
	for _, d := range e.objects() {
		others = append(others, d.Ref())
	}
	for _, ref := range others {
		if t, known := e.tracks[keyOf(ref)]; known && t.failsRepeatedly() {
			labels[ref.Label()] = true
		}
	}
	return labels
}

// noteFlaps journals the level of an object, 0 to end its record. A level that is not written is lost with a restart only.
func (e *Engine) noteFlaps(key object.Key, level float64) {
	if e.opts.Journal.Healthy() != nil || e.opts.DryRun {
		return
	}
	if err := e.opts.Journal.Append(context.Background(), journal.NewFlapping(key, level)); err != nil {
		e.log.Warn("journal not written", "error", err)
	}
}

// restoreFlaps takes the levels from the journal at the start of the agent. A clock that stepped back lets nothing leak; later the monotonic clock decides.
func (e *Engine) restoreFlaps(now time.Time) {
	for key, f := range e.opts.Journal.State().Flapping {
		before := flapDamper{level: f.Level, at: f.Time}
		if f.Time.After(now) {
			before.at = now
		}
		e.trackOf(key).flaps = flapDamper{level: before.levelAt(now), at: now}
	}
}

// dropHolds tells that the held steps of a guest that left the plan are no longer planned.
func (t *track) dropHolds() {
	t.said.Rest(event.StepHeld, func(event.ID) event.Name { return event.StepWithdrawn })
}
