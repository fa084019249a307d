package notify

import "time"

// maxGroup bounds the events of one message. More are counted.
const maxGroup = 50

// Message is what a receiver gets: one event, or several of one route.
type Message struct {
	Events []Event
	More   int // further events, which Events does not contain
	// Cluster is the name of the cluster.
	Cluster string
	// Link is the address of the status page, "" if none is configured.
	Link string
	// part of parts is the place of a message that did not fit into one; parts is 0 or 1 otherwise.
	part, parts int
	// most is the length at which the text of an event is shortened, in bytes; 0 is none.
	most int
	// queued is when the message was handed to its receiver.
	queued time.Time
	// attempt keeps a send that still runs between two attempts; nil of a message that is sent once.
	attempt *attempt
}

// group collects the events of one route for one message.
type group struct {
	events []Event
	more   int
	due    time.Time // zero while it is empty
}

// add adds an event that may be sent at a time.
func (g *group) add(e Event, at time.Time) {
	if g.due.IsZero() || at.Before(g.due) {
		g.due = at
	}
	if len(g.events) == maxGroup {
		g.more++
		return
	}
	g.events = append(g.events, e)
}

// Severity returns the highest severity of the events.
func (m Message) Severity() Severity {
	highest := Info
	for _, e := range m.Events {
		if e.Severity == Error || e.Severity == Warning && highest == Info {
			highest = e.Severity
		}
	}
	return highest
}
