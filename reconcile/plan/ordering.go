package plan

import (
	"fmt"
	"slices"
	"time"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
)

// ordering says which creates and starts have to wait for others: for what they depend on, and for lower waves.
type Ordering struct {
	depends map[string][]string // labels by label; a guest that is only planned may have no vmid
	missing map[string]string   // by label, why others cannot build on it yet
	lowest  int                 // the lowest wave with a guest that is about to be created or started
	waiting bool                // there is such a wave
}

// NewOrdering reads the order off a plan. A wave waits only for guests that are on their way: one that nobody may touch, that cannot be
// made, that is stuck, or that depends on such a one, does not hold up the rest of the cluster. Stuck are labels of guests that were tried
// in vain for long enough.
func NewOrdering(plan Plan, guests []guest.Desired, stuck map[string]bool, now time.Time) Ordering {
	o := Ordering{depends: make(map[string][]string), missing: make(map[string]string)}
	resting := make(map[string]bool)
	for _, d := range guests {
		if len(d.DependsOn) > 0 {
			o.depends[d.Label()] = d.DependsOn
		}
		if d.Observe || d.Suspend.Active(now) || stuck[d.Label()] {
			resting[d.Label()] = true
		}
	}
	for _, p := range plan.Guests {
		if !p.Managed {
			continue
		}
		label := p.Ref.Label()
		why := missingUntilDone(p)
		if why == "" {
			if why = unusable(p); why != "" {
				resting[label] = true
			}
		}
		if why != "" {
			o.missing[label] = why
		}
	}
	for _, p := range plan.Guests {
		if p.Managed && missingUntilDone(p) != "" && (!o.waiting || p.Wave < o.lowest) && !o.isIdle(p.Ref.Label(), resting) {
			o.lowest, o.waiting = p.Wave, true
		}
	}
	return o
}

// rests reports whether a guest is not on its way to anything, by itself or for what it depends on. It adds what it finds to resting.
func (o Ordering) isIdle(label string, resting map[string]bool) bool {
	if known, ok := resting[label]; ok {
		return known
	}
	resting[label] = slices.ContainsFunc(o.depends[label], func(on string) bool { return o.missing[on] != "" && o.isIdle(on, resting) })
	return resting[label]
}

// pending returns why nothing can build on a guest that is about to be made or started.
func missingUntilDone(p Guest) string {
	for _, s := range p.Steps {
		switch {
		case s.Op == cluster.OpCreate:
			return "does not exist yet"
		case s.Op.BringsUp():
			return "is not running yet"
		}
	}
	return ""
}

// notCreated are the reasons of Blocked that mean that the guest does not exist as its manifest wants it.
var notCreated = []ConditionReason{
	ReasonNoSource, ReasonCannotCreate, ReasonHidden, ReasonPartlyCreated, ReasonVolumeInUse, ReasonMayExist,
}

// unusable returns why nothing can build on a guest that is not there, and not on its way either.
func unusable(p Guest) string {
	for _, c := range p.Conditions {
		switch c.Type {
		case NotObserved:
			return "is not known to be there"
		case IdentityConflict:
			return "is not there: its vmid is another guest's"
		case Blocked:
			if slices.Contains(notCreated, c.Reason) {
				return "is not there: " + c.Message
			}
			if c.Reason == ReasonNoSecret {
				return "waits for a secret: " + c.Message
			}
		case Drifted, PendingRestart, Held, Failed, Suspended, WaitsFor, Orphaned, Leftover, Warned:
		}
	}
	return ""
}

// Waits returns what a create or start has to wait for.
func (o Ordering) Waits(step Step) string {
	for _, label := range o.depends[step.Guest.Label()] {
		if why := o.missing[label]; why != "" {
			return fmt.Sprintf("it depends on %s, which %s", label, why)
		}
	}
	if o.waiting && step.Wave > o.lowest {
		return fmt.Sprintf("wave %d comes before wave %d", o.lowest, step.Wave)
	}
	return ""
}
