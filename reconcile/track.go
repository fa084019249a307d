package reconcile

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"gitops-agent/reconcile/event"
	"gitops-agent/reconcile/gate"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/lane"
	"gitops-agent/reconcile/object"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/reason"
	"gitops-agent/reconcile/report"
	"gitops-agent/reconcile/volumes"
)

// keyOf returns the key of a guest, or of another object. Labels are built only for objects without a vmid: a cycle asks for the key of every guest.
func keyOf(ref guest.Ref) object.Key {
	if ref.VMID != 0 {
		return object.Guest(ref.VMID)
	}
	return object.KeyOf(0, ref.Label())
}

// track is what the engine remembers of a guest between cycles: its retries, its drift, and the assessment of the present cycle. It does not
// outlive the process, and only retries and reports depend on it.
type track struct {
	said       *event.Subject // what lasts of it, as it was told
	retry      backoff
	flaps      flapDamper
	failed     error                    // why the last turn of its lane ended early; nil if it did not
	failedStep plan.Step                // the step that failed; the zero value if none did
	refused    map[journal.FileOn]error // of an Image: why its last turn, which ended early, did not delete former files
	warnings   []string                 // of the tasks of its last steps

	convergedAt time.Time // when it was last in sync
	revision    string    // the revision that it was last in sync with
	others      []string  // keys that others changed, and that differ since

	derived   derived
	followed  reading   // whose values the journal has as last seen
	turnEnded time.Time // of its lane, in this process: an older reading may show the state before its last step
	led       led       // of a standby: what the journal said of it in the last cycle

	snapshotLate time.Time // since when a snapshot of its schedule is missing; the zero value if none is

	since map[string]time.Time // when each present condition and hold began, by its id
	now   assessment
}

// assessment is the state of a guest in one cycle. It is final before the report is published.
type assessment struct {
	sync        report.Sync
	outstanding plan.Outstanding // what is not as its manifest wants it
	conditions  []plan.Condition
	held        []report.HeldStep
	released    bool                       // a step may run now
	waits       map[string]report.HeldStep // why orders wait, by their keys; nil if none does
	snapshots   *report.Snapshots          // nil without a schedule
	approved    []string                   // digests of steps that are not held, "" of one that needs no approval
	busy        bool                       // its lane works on it, or it waits for its lane
	queued      bool                       // it waits for its lane
	awaitsHA    bool                       // the HA manager is going to bring it to its run state
}

// learn takes the result of a turn of the guest's lane. It reports whether the result is a new failure: the first failure in a row, or the
// failure of a different operation than before.
func (t *track) learn(r lane.Result, now time.Time) (newFailure bool) {
	t.turnEnded = now
	if r.Steps > 0 {
		t.warnings = r.Warnings
	}
	if r.Err == nil {
		if r.Repairs > 0 {
			t.flaps = t.flaps.add(now, flapCost(r.Heavy))
		}
		t.recover()
		return false
	}
	newFailure = t.failed == nil || t.failedStep.Op != r.Step.Op
	t.retry, t.failed, t.failedStep, t.refused = t.retry.after(r.Err, r.Step.Op, now), r.Err, r.Step, r.Refused
	return newFailure
}

// led is what the leader's steps change in the journal about an object.
type led struct {
	owned journal.Owned
	seen  string
}

// followLeader notes when the journal of a standby has changed about an object: a reading from before may not show what the leader did.
func (t *track) followLeader(state journal.State, key object.Key, now time.Time) {
	is := led{owned: state.Owned[key.VMID], seen: fmt.Sprint(state.Seen[key])}
	if is != t.led {
		t.led, t.turnEnded = is, now
	}
}

// judge returns the verdict on a step: that of the gate, or that on its volumes.
func (t *track) judge(g gate.Gate, step plan.Step) gate.Verdict {
	v := g.Judge(step)
	if why, refused := t.volumeHold(step); refused && !v.Held {
		return why
	}
	return v
}

// volumeHold returns the verdict on a step whose last try was refused because of its volumes, and whether it was.
func (t *track) volumeHold(step plan.Step) (gate.Verdict, bool) {
	failed := t.failed
	if step.Former != nil {
		failed = t.refused[step.Former.On()]
	}
	refusal, inUse, refused := volumes.Refusal(failed)
	if !refused || step.Former == nil && step.Op != t.failedStep.Op || len(step.Touches) == 0 {
		return gate.Verdict{}, false
	}
	v := gate.Verdict{Held: true, Reason: reason.NotObserved, Message: refusal.Error(), Hint: refusal.Hint()}
	if inUse {
		v.Reason = reason.InUse
	}
	return v, true
}

// recover forgets the failures of the guest.
func (t *track) recover() {
	t.retry, t.failed, t.failedStep, t.refused = backoff{}, nil, plan.Step{}, nil
}

// hangingTask returns the task of the guest that still runs after its time, or nil.
func (t *track) hangingTask() *lane.HangingTaskError { return lane.HangingTask(t.failed) }

// mayRun reports whether the guest's backoff is over and the guest does not flap.
func (t *track) mayRun(now time.Time) bool { return t.retry.over(now) && !t.flaps.overLimit(now) }

// nextTry returns when the backoff is over and the guest no longer flaps.
func (t *track) nextTry() time.Time {
	if flaps := t.flaps.until(); flaps.After(t.retry.until) {
		return flaps
	}
	return t.retry.until
}

// failsRepeatedly reports whether the guest failed so often, or for such a reason, that guests of higher waves no longer wait for it.
func (t *track) failsRepeatedly() bool {
	switch {
	case isTerminal(t.failed), t.hangingTask() != nil:
		return true
	case likelyRefusedAgain(t.failed, t.failedStep.Op):
		return t.retry.failures > heavyTries
	default:
		return t.retry.failures >= waveTries
	}
}

// derived is what a report says of one reading of a guest.
type derived struct {
	of     reading
	unused []string // volumes that no slot uses
	tags   []string // without markers
}

// derive returns what a report says of the newest reading. It is derived once from each reading: most readings last for several cycles.
func (t *track) derive(live guest.Observed) derived {
	if now := readingOf(live); t.derived.of != now {
		t.derived = derived{now, guest.UnusedVolumes(live), guest.PlainTags(live.Keys["tags"].Text)}
	}
	return t.derived
}

// began returns when the condition or hold with this id began, and adds it to present.
func (t *track) began(id string, now time.Time, present map[string]time.Time) time.Time {
	since, ok := t.since[id]
	if !ok {
		since = now
	}
	present[id] = since
	return since
}

// withoutUsedFiles returns the plan of an Image without the deletions of former files that the last try found in use, and with a condition for each instead: a file
// that is used is as it shall be. It returns whether there are any.
func (t *track) withoutUsedFiles(p plan.Guest) (plan.Guest, bool) {
	if len(t.refused) == 0 {
		return p, false // as nearly always: nothing is copied in each cycle for each guest
	}
	var steps []plan.Step
	conditions := slices.Clone(p.Conditions)
	for _, step := range p.Steps {
		var used *volumes.InUseError
		if step.Former == nil || !errors.As(t.refused[step.Former.On()], &used) {
			steps = append(steps, step)
			continue
		}
		conditions = append(conditions, plan.FileInUse(*step.Former, "it is in use by "+used.Users()))
	}
	if len(steps) == len(p.Steps) {
		return p, false
	}
	p.Steps, p.Conditions = steps, conditions
	return p, true
}
