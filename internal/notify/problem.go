package notify

import (
	"slices"
	"strings"
	"time"

	"gitops-agent/reconcile/event"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/reason"
	"gitops-agent/reconcile/report"
)

// news is something that happened. It begins a problem, ends some, both, or neither.
type news struct {
	Event
	text   string
	begins *problem
	ends   []*problem
}

// problem is a state that began. It is kept until every receiver that knows its begin took its end.
type problem struct {
	begin *news
	end   *news               // nil while the problem lasts
	told  map[string]*telling // by the receiver
	gone  int                 // looks at the report in a row that did not find it
	isOld bool                // no event told it since the start of the agent
}

// looksUntilOver is how many looks at the report, a minute apart, must not find a problem: a report may be older than an event.
const looksUntilOver = 2

// lasts reports whether an event begins a problem.
func lasts(name event.Name) bool {
	row, isKnown := event.RowOf(name)
	return isKnown && row.Lasts()
}

// problemKey identifies the problem that an event begins.
func problemKey(e Event) string {
	row, _ := event.RowOf(e.Name)
	parts := []string{string(row.Name)}
	for attribute := range strings.FieldsSeq(row.By) {
		parts = append(parts, e.Attributes[attribute])
	}
	return strings.Join(parts, "\x00")
}

// ends reports whether an event ends a problem. What the event does not say of the fields that tell problems apart, it ends for all.
func (p *problem) ends(e Event) bool {
	row, _ := event.RowOf(p.begin.Name)
	if !row.EndsWith(e.Name) {
		return false
	}
	for attribute := range strings.FieldsSeq(row.By) {
		if value := e.Attributes[attribute]; value != "" && value != p.begin.Attributes[attribute] {
			return false
		}
	}
	return true
}

// over returns the event that tells that a problem is over, for one that ended while no event could tell it.
func (p *problem) over(now time.Time) Event {
	begin, _ := event.RowOf(p.begin.Name)
	name := begin.End
	if name == "" || p.begin.Name == event.StepHeld { // a step that was released is not planned any more either, once it has run
		name = begin.EndedBy[0]
	}
	row, _ := event.RowOf(name)
	e := p.begin.Event
	e.Name, e.Time, e.Severity, e.Repeated = name, now, severityOf(row, row.Level), time.Time{}
	return e
}

// exists reports whether a problem still exists according to the newest report. What the report does not know still exists.
func (p *problem) exists(r report.Report) bool {
	e := p.begin.Event
	if r.Time.IsZero() {
		return true
	}
	switch e.Name { //nolint:exhaustive // the others begin no problem
	case event.RevisionRefused:
		return r.Source.Refused != nil || isUnchecked(r.Source)
	case event.RevisionWaiting:
		return r.Source.Waiting != nil || isUnchecked(r.Source)
	case event.RevisionUnnamed:
		return r.Source.Ahead != nil && len(r.Source.Ahead.Unknown) > 0 || isUnchecked(r.Source)
	case event.RevisionUnverified:
		return !r.Writes.Allowed // only an event says that the revision verifies
	case event.GuestDrifted, event.GuestFailed, event.GuestHidden, event.HAFailed, event.StepHeld, event.TaskHangs:
		return existsOf(e, r)
	case event.ClusterLost:
		return !r.Proxmox.Ready
	case event.SourceLost:
		return r.Source.Error != "" || r.Source.LastSuccess.IsZero()
	case event.StateLost:
		return r.Writes.Reason == reason.StopStateDirectory
	case event.JournalFailed:
		return !r.Journal.Healthy
	case event.ClockDiffers:
		for _, endpoint := range r.Proxmox.Endpoints {
			if endpoint.Address == e.Attributes["endpoint"] {
				return endpoint.ClockDiffers()
			}
		}
		return len(r.Proxmox.Endpoints) == 0
	case event.RootExpired:
		return r.Source.RootExpired || r.Source.RootExpires.IsZero()
	case event.RolloutFailed, event.RolloutHeld:
		return isRolloutIn(r, e.Attributes["rollout"], map[event.Name]journal.RolloutState{event.RolloutFailed: journal.RolloutFailed, event.RolloutHeld: journal.RolloutHeld}[e.Name])
	case event.OrderUnmatched:
		return r.Guards == nil || slices.ContainsFunc(r.Orders, func(o report.Order) bool { return o.Unmatched && o.Commit == e.Attributes["commit"] })
	case event.GuardHeld:
		return r.Guards == nil || holdsDigest(r, e.Attributes["digest"])
	case event.WritesStopped:
		return !r.Writes.Allowed
	case event.AgentPaused:
		return r.Writes.Paused != nil
	case event.AgentSuperseded:
		return r.Writes.Reason == reason.StopSuperseded
	case event.ConfigRefused:
		return !p.isOld // a start reads the config
	}
	return true
}

// isUnchecked reports whether the head of the branch was not fetched or checked yet.
func isUnchecked(s report.Source) bool {
	return s.LastSuccess.IsZero() || s.Ahead == nil && s.Checking() != ""
}

// existsOf reports whether a problem of a guest or object exists.
func existsOf(e Event, r report.Report) bool {
	g := guestOf(e, r)
	switch {
	case g == nil:
		return r.Guards == nil || !r.Proxmox.Ready // until it is known which guests there are
	case g.Sync == report.SyncUnknown:
		return true
	}
	has := func(is func(plan.Condition) bool) bool { return slices.ContainsFunc(g.Conditions, is) }
	switch e.Name { //nolint:exhaustive // exists names them
	case event.GuestDrifted:
		return !g.DriftSince.IsZero()
	case event.GuestHidden:
		return has(func(c plan.Condition) bool { return c.Type == plan.Blocked && c.Reason == reason.Denied })
	case event.HAFailed:
		return has(func(c plan.Condition) bool { return c.Reason == reason.HAError })
	case event.TaskHangs:
		return g.Operation != report.Idle || has(func(c plan.Condition) bool { return c.Reason == reason.TaskHangs })
	case event.StepHeld:
		return slices.ContainsFunc(g.Held, func(h report.HeldStep) bool { return string(h.Op) == e.Attributes["op"] })
	}
	return has(func(c plan.Condition) bool { return c.Type == plan.Failed })
}

func isRolloutIn(r report.Report, name string, state journal.RolloutState) bool {
	return r.Guards == nil || slices.ContainsFunc(r.Rollouts, func(o report.Rollout) bool { return o.Name == name && o.State == state })
}

// holdsDigest reports whether a held step has a digest.
func holdsDigest(r report.Report, digest string) bool {
	has := func(h report.HeldStep) bool { return h.Digest == digest }
	return slices.ContainsFunc(r.Guards.Held, has) || slices.ContainsFunc(r.Guests, func(g report.Guest) bool { return slices.ContainsFunc(g.Held, has) })
}

// isOfNone reports whether a problem concerns a guest or object that the report does not have: no manifest names it any more, so it is unknown what became of it.
func (p *problem) isOfNone(r report.Report) bool {
	return p.begin.Guest != "" && guestOf(p.begin.Event, r) == nil
}

// isRead reports whether a report knows source, cluster and journal, so that a problem that it has exists.
func isRead(r report.Report) bool {
	return !r.Time.IsZero() && !r.Source.LastSuccess.IsZero() && r.Proxmox.Ready && r.Guards != nil
}
