package notify

import (
	"slices"
	"time"
)

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
	change int       // the newest change of the memory that is written before the group is sent
}

// add adds an event that may be sent at a time, or counts it. An end is not only counted: it has to be sent in a later message.
func (g *group) add(e Event, at time.Time) {
	switch isFull := len(g.events) == maxGroup; {
	case isFull && e.notice != nil && e.notice.isEnd:
		e.notice.become(withdrawn, false)
		return
	case isFull:
		e.notice.become(refused, false)
		g.more++
	default:
		g.events = append(g.events, e)
	}
	if g.due.IsZero() || at.Before(g.due) {
		g.due = at
	}
}

// clean leaves out what is not to be sent any more.
func (g *group) clean() {
	g.events = slices.DeleteFunc(g.events, func(e Event) bool { return e.notice.isWithdrawn() })
	if len(g.events) == 0 && g.more == 0 {
		g.due = time.Time{}
	}
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
