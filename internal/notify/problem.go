package notify

import (
	"strings"

	"gitops-agent/reconcile/event"
	"gitops-agent/reconcile/report"
)

// problemKey identifies the problem that an event with this row begins or ends.
func problemKey(row event.Row, e Event) string {
	parts := []string{string(row.Name)}
	for attribute := range strings.FieldsSeq(row.By) {
		parts = append(parts, e.Attributes[attribute])
	}
	return strings.Join(parts, "\x00")
}

// endProblems forgets the problems that an event ends. An event without a field that tells problems apart ends all of the row: every guest is in sync.
func (d *dispatcher) endProblems(e Event) {
	for _, row := range event.Rows() {
		if !row.EndsWith(e.Name) {
			continue
		}
		if by := strings.Fields(row.By); len(by) > 0 && e.Attributes[by[0]] == "" {
			for key, p := range d.problems {
				if p.event.Name == row.Name {
					delete(d.problems, key)
				}
			}
		}
		delete(d.problems, problemKey(row, e))
	}
}

// exists reports whether a problem still exists according to the newest report. Some problems end without an event, for example when a refused head is
// removed from the branch.
func exists(e Event, r report.Report) bool {
	switch e.Name { //nolint:exhaustive // the others end with an event
	case event.RevisionRefused:
		return r.Source.Refused != nil
	case event.RevisionWaiting:
		return r.Source.Waiting != nil
	case event.RevisionUnnamed:
		return r.Source.Ahead != nil && len(r.Source.Ahead.Unknown) > 0
	case event.GuestDrifted, event.GuestFailed:
		g := guestOf(e, r)
		return g != nil && g.Sync != report.Synced
	case event.StepHeld:
		g := guestOf(e, r)
		if g == nil {
			return false
		}
		for _, h := range g.Held {
			if string(h.Op) == e.Attributes["op"] {
				return true
			}
		}
		return false
	}
	return true
}
