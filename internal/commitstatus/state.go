package commitstatus

import (
	"fmt"

	"gitops-agent/reconcile/reason"
	"gitops-agent/reconcile/report"
)

// State is what became of a commit.
type State string

// The states.
const (
	Pending   State = "pending"   // accepted, and not every guest is in sync
	Held      State = "held"      // accepted, and a step waits for a person or another condition
	Refused   State = "refused"   // not accepted
	Converged State = "converged" // every guest was in sync
	Replaced  State = "replaced"  // another revision came into force before every guest was in sync
)

// Status is a state with its text for people.
type Status struct {
	State       State
	Description string // at most 140 characters, the limit of GitHub
}

const maxDescription = 140

func newStatus(state State, format string, args ...any) Status {
	text := []rune(fmt.Sprintf(format, args...))
	if len(text) > maxDescription {
		text = append(text[:maxDescription-1], '…')
	}
	return Status{state, string(text)}
}

// statusesOf returns the statuses of the commits that a report names: the accepted one and the one that is refused or waits.
func statusesOf(r report.Report) map[string]Status {
	statuses := make(map[string]Status, 2)
	if a := r.Source.Accepted; a != nil {
		statuses[a.Commit] = acceptedStatus(r)
	}
	if waiting := r.Source.Waiting; waiting != nil {
		statuses[waiting.Commit] = newStatus(Pending, "waits (%s): %s", waiting.Reason, waiting.Text())
	}
	if refused := r.Source.Refused; refused != nil {
		statuses[refused.Commit] = newStatus(Refused, "refused (%s): %s", refused.Reason, refused.Error)
	}
	return statuses
}

// acceptedStatus returns the status of the accepted commit. An order of the commit that has no effect comes first.
func acceptedStatus(r report.Report) Status {
	status := statusInCluster(r)
	for _, o := range r.Orders {
		if o.Commit == r.Source.Accepted.Commit && o.HasNoEffect() {
			return newStatus(status.State, "order without effect: %s; %s", o.Why, status.Description)
		}
	}
	return status
}

func statusInCluster(r report.Report) Status {
	first, held := "", 0
	note := func(subject string, h report.HeldStep) {
		if h.Reason == reason.WritesStopped {
			return
		}
		if held++; held == 1 {
			first = fmt.Sprintf("%s of %s (%s)", h.Op, subject, h.Reason)
			if h.Digest != "" {
				first += ", gitops-agent approve " + h.Digest
			}
		}
	}
	inSync := 0
	for i := range r.Guests {
		for _, h := range r.Guests[i].Held {
			note(r.Guests[i].Label(), h)
		}
		if r.Guests[i].Sync == report.Synced {
			inSync++
		}
	}
	if r.Guards != nil {
		for _, h := range r.Guards.Held {
			note("the Cluster", h)
		}
	}
	switch {
	case held == 1:
		return newStatus(Held, "held: %s", first)
	case held > 1:
		return newStatus(Held, "%d steps are held: %s", held, first)
	case !r.Source.Accepted.Converged.IsZero() && r.Except != nil:
		return newStatus(Converged, "every guest was in sync, %s", r.Except)
	case !r.Source.Accepted.Converged.IsZero():
		return newStatus(Converged, "every guest was in sync")
	case !r.Writes.Allowed:
		return newStatus(Pending, "accepted; nothing is written (%s)", r.Writes.Reason)
	}
	return newStatus(Pending, "accepted; %d of %d guests are in sync", inSync, len(r.Guests))
}
