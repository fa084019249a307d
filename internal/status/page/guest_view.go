package page

import (
	"fmt"
	"strings"
	"time"

	"gitops-agent/internal/shell"
	"gitops-agent/internal/status/words"
	"gitops-agent/reconcile/gate"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/report"
	"gitops-agent/reconcile/selection"
)

// guestView is a row of the table, and the details below the row.
type guestView struct {
	report.Guest
	Href            string // of its page
	NeedsAttention  bool
	Detailed        bool // the row is followed by the details
	Open            bool // the details are unfolded when the page is loaded
	DriftSince      timeView
	Observed        timeView
	LastSync        timeView
	Runs            []runView // when Proxmox runs the object
	NewestSnapshot  timeView  // of its schedule
	SnapshotLate    timeView  // since when one of its schedule is missing
	LastRevision    commitLink
	Dependencies    []guestLink
	TriedAgain      timeView        // when a step that failed is tried again
	OtherConditions []conditionView // without those that the changes and the held steps already show
	HeldSteps       []heldStepView
}

// runView is a schedule of an object.
type runView struct {
	report.Schedule
	NextRun timeView // unknown if there is none
}

// conditionView is a condition for printing.
type conditionView struct {
	badge
	plan.Condition
	Began   timeView
	Runbook string // address of what a person does about it, "" if there is none
}

// heldStepView is a held step, and the command that releases the step.
type heldStepView struct {
	report.HeldStep
	Began   timeView
	Command string // of this program
	Git     string // the same without it
	Runbook string
}

func newGuestView(g report.Guest, now time.Time, l links) guestView {
	v := guestView{
		Guest: g, DriftSince: timeView{g.DriftSince, now}, Observed: timeView{g.ObservedAt, now}, LastSync: timeView{g.Converged, now},
		TriedAgain: timeView{g.NextTry, now}, Href: l.root + guestPath(g.GuestName), NeedsAttention: selection.NeedsAttention(g),
		LastRevision: l.commit(g.Revision), Dependencies: l.guestsOf(g.DependsOn),
	}
	if s := g.Snapshots; s != nil {
		v.NewestSnapshot, v.SnapshotLate = timeView{s.Newest, now}, timeView{s.LateSince, now}
	}
	for _, s := range g.Schedules {
		v.Runs = append(v.Runs, runView{s, timeView{s.Next, now}})
	}
	for _, c := range g.Conditions {
		shown := c.Type == plan.Held && len(g.Held) > 0 || (c.Type == plan.Drifted || c.Type == plan.Pending) && len(g.Changes) > 0
		if !shown {
			v.OtherConditions = append(v.OtherConditions, conditionView{conditionBadge(c), c, timeView{c.Since, now}, l.runbook(conditionHeading(c))})
		}
	}
	for _, h := range g.Held {
		v.HeldSteps = append(v.HeldSteps, newHeldStepView(g.Label(), h, now, l))
	}
	return v
}

// approveCommand returns the command that approves a step.
func approveCommand(digest string) string { return "gitops-agent approve " + digest }

// RetryCommand returns the command that tries a failed step again at once.
func (v guestView) RetryCommand() string { return "gitops-agent retry " + shell.Word(v.Label()) }

func newHeldStepView(of string, h report.HeldStep, now time.Time, l links) heldStepView {
	v := heldStepView{HeldStep: h, Began: timeView{h.Since, now}, Runbook: l.runbook(h.Reason.Row().Runbook)}
	if h.Digest == "" {
		return v
	}
	v.Command = approveCommand(h.Digest)
	v.Git = shell.Commit(fmt.Sprintf("Approve %s of %s", h.Op, of), gate.ApprovalTrailers([]string{h.Digest}, l.target)...)
	if h.Hint == v.Command {
		v.Hint = ""
	}
	return v
}

// ShortKind returns the kind of a guest in two letters, and that of another object as it is.
func (v guestView) ShortKind() string {
	switch v.Kind {
	case guest.VirtualMachine:
		return "VM"
	case guest.Container:
		return "CT"
	}
	return string(v.Kind)
}

// Badges returns the three axes.
func (v guestView) Badges() []badge {
	return []badge{syncBadge(v.Guest), healthBadge(v.Health), operationBadge(v.Guest)}
}

// Deviations returns the axes on which the guest is not as it should be: in sync, healthy and idle.
func (v guestView) Deviations() []badge {
	var list []badge
	if v.Sync != report.Synced || v.Except() != nil {
		list = append(list, syncBadge(v.Guest))
	}
	if v.Health != report.Healthy {
		list = append(list, healthBadge(v.Health))
	}
	if v.Operation != report.Idle {
		list = append(list, operationBadge(v.Guest))
	}
	return list
}

// ConditionBadges returns every condition as a badge.
func (v guestView) ConditionBadges() []badge {
	badges := make([]badge, 0, len(v.Conditions))
	for _, c := range v.Conditions {
		badges = append(badges, conditionBadge(c))
	}
	return badges
}

// Summary counts what the details contain: "2 changes, 1 held step".
func (v guestView) Summary() string {
	var parts []string
	if n := len(v.Changes); n > 0 {
		parts = append(parts, words.Plural(n, "change"))
	}
	if n := len(v.HeldSteps); n > 0 {
		parts = append(parts, words.Plural(n, "held step"))
	}
	if n := len(v.OtherConditions); n > 0 {
		parts = append(parts, words.Plural(n, "condition"))
	}
	if len(parts) == 0 {
		return "details"
	}
	return strings.Join(parts, ", ")
}

// ClassTone returns the colour of a class: the more severe the effect of the change, the stronger the colour.
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
