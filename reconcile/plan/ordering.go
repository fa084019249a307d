package plan

import (
	"fmt"
	"slices"
	"time"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
)

// Ordering decides which creates and starts wait for other guests: for their dependencies, and for lower waves.
type Ordering struct {
	depends map[string][]string // labels of dependencies, by label; a guest that is only planned may have no vmid
	missing map[string]string   // by label, why dependent guests must wait
	lowest  int                 // the lowest wave with a guest that is about to be created or started
	waiting bool                // there is such a wave
}

// NewOrdering derives the order from a plan. A wave waits only for guests that will be created or started soon. A guest is idle, and no wave
// waits for it, if the agent may not change it, if it cannot be created, if it is stuck, or if it depends on an idle guest. Stuck are the labels
// of guests whose steps failed several times.
func NewOrdering(plan Plan, guests []guest.Desired, stuck map[string]bool, now time.Time) Ordering {
	o := Ordering{depends: make(map[string][]string), missing: make(map[string]string)}
	idle := make(map[string]bool)
	for _, d := range guests {
		if len(d.DependsOn) > 0 {
			o.depends[d.Label()] = d.DependsOn
		}
		if d.Observe || d.Suspend.Active(now) || stuck[d.Label()] {
			idle[d.Label()] = true
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
				idle[label] = true
			}
		}
		if why != "" {
			o.missing[label] = why
		}
	}
	for _, p := range plan.Guests {
		if p.Managed && missingUntilDone(p) != "" && (!o.waiting || p.Wave < o.lowest) && !o.isIdle(p.Ref.Label(), idle) {
			o.lowest, o.waiting = p.Wave, true
		}
	}
	return o
}

// isIdle reports whether a guest will not be created or started soon, by itself or because of a dependency. It stores its results in idle.
func (o Ordering) isIdle(label string, idle map[string]bool) bool {
	if known, ok := idle[label]; ok {
		return known
	}
	idle[label] = slices.ContainsFunc(o.depends[label], func(on string) bool { return o.missing[on] != "" && o.isIdle(on, idle) })
	return idle[label]
}

// missingUntilDone returns why dependent guests wait for a guest that will be created or started, "" if they need not wait.
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

// notCreated are the reasons of Blocked that mean that the guest does not exist as its manifest describes it.
var notCreated = []ConditionReason{
	ReasonNoSource, ReasonCannotCreate, ReasonHidden, ReasonPartlyCreated, ReasonVolumeInUse, ReasonMayExist,
}

// unusable returns why dependent guests wait for a guest that does not exist and will not be created soon.
func unusable(p Guest) string {
	for _, c := range p.Conditions {
		switch c.Type {
		case NotObserved:
			return "was not read, so it may not exist"
		case IdentityConflict:
			return "does not exist: another guest has its vmid"
		case Blocked:
			if slices.Contains(notCreated, c.Reason) {
				return "does not exist: " + c.Message
			}
			if c.Reason == ReasonNoSecret {
				return "waits for a secret: " + c.Message
			}
		case Drifted, PendingRestart, Held, Failed, Suspended, WaitsFor, Orphaned, Leftover, Warned:
		}
	}
	return ""
}

// Waits returns the dependency or lower wave that a create or start waits for, "" if it need not wait.
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
