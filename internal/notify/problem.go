package notify

import (
	"strings"

	"gitops-agent/reconcile/event"
	"gitops-agent/reconcile/report"
)

// problemKind describes a state that lasts from one event to another. Its problems are told apart by attributes.
type problemKind struct {
	ends []event.Name
	by   []string
}

// problems lists the events that begin a problem.
func problems() map[event.Name]problemKind {
	return map[event.Name]problemKind{
		event.RevisionRefused:    {[]event.Name{event.RevisionAccepted}, nil},
		event.RevisionWaiting:    {[]event.Name{event.RevisionAccepted, event.RevisionRefused}, nil},
		event.RevisionUnverified: {[]event.Name{event.RevisionResumed, event.RevisionAccepted}, nil},
		event.StepHeld:           {[]event.Name{event.StepReleased, event.StepWithdrawn}, []string{"vmid", "guest", "op"}},
		event.GuestDrifted:       {[]event.Name{event.GuestRepaired, event.GuestDestroyed}, []string{"vmid"}},
		event.GuestFailed:        {[]event.Name{event.GuestRepaired, event.GuestDestroyed}, []string{"vmid"}},
		event.GuestHidden:        {[]event.Name{event.GuestVisible}, []string{"vmid"}},
		event.TaskHangs:          {[]event.Name{event.TaskEnded}, []string{"vmid", "upid"}},
		event.ClusterLost:        {[]event.Name{event.ClusterReady}, nil},
		event.SourceLost:         {[]event.Name{event.SourceAnswers}, nil},
		event.StateLost:          {[]event.Name{event.StateRestored}, nil},
		event.JournalFailed:      {nil, nil},
		event.ClockDiffers:       {[]event.Name{event.ClockAgrees}, []string{"endpoint"}},
		event.RootExpired:        {[]event.Name{event.RootRenewed}, nil},
		event.GuardHeld:          {[]event.Name{event.GuardWithdrawn, event.GuardWeakened}, []string{"digest"}},
		event.WritesStopped:      {[]event.Name{event.WritesAllowed}, nil},
		event.AgentPaused:        {[]event.Name{event.AgentResumed}, nil},
		event.AgentSuperseded:    {[]event.Name{event.AgentClaimed}, nil},
		event.ConfigRefused:      {[]event.Name{event.ConfigReloaded}, nil},
	}
}

// key identifies a problem of the kind with a name.
func (k problemKind) key(name event.Name, e Event) string {
	parts := []string{string(name)}
	for _, attribute := range k.by {
		parts = append(parts, e.Attributes[attribute])
	}
	return strings.Join(parts, "\x00")
}

// exists reports whether a problem still exists according to the newest report. Some problems end without an event, for example when a refused head is
// removed from the branch.
func exists(e Event, r report.Report) bool {
	switch e.Name { //nolint:exhaustive // the others end with an event
	case event.RevisionRefused:
		return r.Source.Refused != nil
	case event.RevisionWaiting:
		return r.Source.Waiting != nil
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
