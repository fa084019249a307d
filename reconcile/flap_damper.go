package reconcile

import (
	"time"

	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/image"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/reason"
)

// flapDamper distinguishes an object that others change back again and again from an object that drifts only sometimes. It is a leaky bucket: every turn of a
// lane that repaired what others had changed adds 1, or heavyCost if a repair moved the guest or its disks or restarted it, and 1 leaks in flapLeak. Package
// lastseen knows what others changed: steps that follow from the agent's own steps or from a revision add nothing.
type flapDamper struct {
	level float64
	at    time.Time // when level was computed
}

// Bounds of the bucket. An object above flapLimit waits until enough has leaked. So one that is always changed back gets one repair in
// flapLeak, or one move or restart in heavyCost times flapLeak.
const (
	flapLimit = 8
	heavyCost = 6
	flapLeak  = 2 * time.Minute
)

// flapCost returns the amount that a turn adds to the bucket.
func flapCost(heavy bool) float64 {
	if heavy {
		return heavyCost
	}
	return 1
}

func (d flapDamper) levelAt(now time.Time) float64 {
	return max(0, d.level-float64(now.Sub(d.at))/float64(flapLeak))
}

func (d flapDamper) add(now time.Time, cost float64) flapDamper {
	return flapDamper{level: d.levelAt(now) + cost, at: now}
}

// until returns when the level is no longer above the limit.
func (d flapDamper) until() time.Time {
	return d.at.Add(time.Duration(max(0, d.level-flapLimit) * float64(flapLeak)))
}

func (d flapDamper) overLimit(now time.Time) bool { return d.levelAt(now) > flapLimit }

// matters reports whether the level is so high that a restart of the agent must not forget it. Normal work stays below.
func (d flapDamper) matters(now time.Time) bool { return d.levelAt(now) > flapLimit/2 }

// endedFlaps ends the records of objects other than guests whose levels have leaked. The record of a guest ends with the guest; names of objects are unlimited.
func endedFlaps(state journal.State, now time.Time) []journal.Body {
	var records []journal.Body
	for key, f := range state.Flapping {
		if key.VMID == 0 && (flapDamper{level: f.Level, at: f.Time}).levelAt(now) == 0 {
			records = append(records, journal.NewFlapping(key, 0))
		}
	}
	return records
}

// flappingCondition returns the condition of an object that is changed back again and again.
func flappingCondition(ref guest.Ref) plan.Condition {
	c := plan.Condition{Type: plan.Blocked, Reason: reason.Flapping}
	switch {
	case ref.Kind.IsGuest():
		c.Message = "another program or person keeps changing the guest back, so repairs are spaced out"
		c.Hint = reason.FindGuestEditor.Text
	case ref.Kind == image.Kind:
		c.Message = "another program or person keeps removing files of the image, so downloads are spaced out"
		c.Hint = reason.FindFileEditor.Text
	default:
		c.Message = "another program or person keeps changing the " + noun(ref) + " back, so repairs are spaced out"
		c.Hint = reason.FindObjectEditor.Text
	}
	return c
}
