package status

import (
	"strings"
	"time"

	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/report"
)

// maxOpen is how many guests show their details unasked, so that a change to the whole fleet stays a page that can be read.
const maxOpen = 25

// guestView is a row of the table and what unfolds below it.
type guestView struct {
	report.Guest
	Open       bool // show the details unasked
	DriftSince moment
	Observed   moment
	LastSync   moment
	Facts      []factView // conditions that the changes and held steps do not tell already
	Steps      []heldView
}

// factView is a condition for people.
type factView struct {
	badge
	plan.Condition
	Began moment
}

// heldView is a held step and the command that would release it.
type heldView struct {
	report.HeldStep
	Began   moment
	Command string
}

func newGuestView(g report.Guest, now time.Time) guestView {
	v := guestView{
		Guest: g, DriftSince: moment{g.DriftSince, now}, Observed: moment{g.ObservedAt, now}, LastSync: moment{g.Converged, now},
	}
	for _, c := range g.Conditions {
		told := c.Type == plan.Held && len(g.Held) > 0 || c.Type == plan.Drifted && len(g.Changes) > 0
		if !told {
			v.Facts = append(v.Facts, factView{conditionBadge(c), c, moment{c.Since, now}})
		}
	}
	for _, h := range g.Held {
		v.Steps = append(v.Steps, newHeldView(h, now))
	}
	return v
}

func newHeldView(h report.HeldStep, now time.Time) heldView {
	v := heldView{HeldStep: h, Began: moment{h.Since, now}}
	if h.Digest == "" {
		return v
	}
	v.Command = "gitops-agent approve " + h.Digest
	if h.Hint == v.Command {
		v.Hint = ""
	}
	return v
}

// needsLook reports whether the guest belongs above those where all is well.
func (v guestView) needsLook() bool {
	return v.Sync != report.Synced || v.Stale || len(v.Conditions) > 0 || len(v.Held) > 0 || v.Health == report.Degraded ||
		v.Health == report.Missing
}

// Short returns the kind in two letters.
func (v guestView) Short() string { return kindShort(v.Kind) }

func kindShort(k guest.Kind) string {
	if k == guest.Container {
		return "CT"
	}
	return "VM"
}

// ShortRevision returns the revision that the guest was last in sync with as people write it: "main@3f2a1c94".
func (v guestView) ShortRevision() string {
	branch, commit, whole := strings.Cut(v.Revision, "@sha1:")
	if !whole {
		return v.Revision
	}
	return branch + "@" + short(commit)
}

// Badges returns the three axes, in the order of the columns.
func (v guestView) Badges() []badge {
	return []badge{syncBadge(v.Sync), healthBadge(v.Health), operationBadge(v.Operation)}
}

// Chips returns every condition as a badge.
func (v guestView) Chips() []badge {
	chips := make([]badge, 0, len(v.Conditions))
	for _, c := range v.Conditions {
		chips = append(chips, conditionBadge(c))
	}
	return chips
}

// Summary says what the details hold: "2 changes, 1 held step".
func (v guestView) Summary() string {
	var parts []string
	if n := len(v.Changes); n > 0 {
		parts = append(parts, plural(n, "change"))
	}
	if n := len(v.Steps); n > 0 {
		parts = append(parts, plural(n, "held step"))
	}
	if n := len(v.Facts); n > 0 {
		parts = append(parts, plural(n, "condition"))
	}
	if len(parts) == 0 {
		return "details"
	}
	return strings.Join(parts, ", ")
}

// ClassTone returns how much a change of this class hurts.
func (guestView) ClassTone(c guest.Class) tone {
	switch c {
	case guest.Live:
		return good
	case guest.Restart, guest.Disruptive:
		return warn
	case guest.Destructive, guest.Impossible:
		return bad
	}
	return idle
}
