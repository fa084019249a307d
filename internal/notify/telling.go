package notify

import (
	"sync"
	"time"
)

// Times of what a receiver did not take, or took a moment ago.
const (
	flapWait    = time.Minute        // from the begin that a receiver took to the same begin, when the problem ended in between
	refusedWait = 24 * time.Hour     // until what a receiver refused is sent again, if it still holds
	endKept     = 7 * 24 * time.Hour // that an end is kept for a receiver that does not take it
)

// telling is what one receiver was told of one problem. Only the dispatcher uses it.
type telling struct {
	text    string    // of the begin that the receiver took last, "" if it took none
	at      time.Time // of that begin
	isOpen  bool      // the receiver took no end after it
	mayKnow bool      // a begin left, and it is not known whether the receiver took it

	notice *notice   // on its way, nil if there is none
	retry  time.Time // before this time, what was not taken is not sent again
}

// knows reports whether the receiver has a begin without an end, or may have one.
func (t *telling) knows() bool { return t.isOpen || t.mayKnow }

// isDue reports whether the begin of a problem that lasts has to be sent, and whether the receiver has it already.
func (t *telling) isDue(text string, repeat time.Duration, now time.Time) (isDue, isRepeated bool) {
	switch {
	case now.Before(t.retry):
		return false, false
	case t.text != text:
		return true, false
	case !t.isOpen:
		return now.Sub(t.at) >= flapWait, false
	}
	return repeat > 0 && now.Sub(t.at) >= repeat, true
}

// notice is an event about problems on its way to one receiver. The delivery of the receiver says what becomes of it, and the dispatcher reads it.
type notice struct {
	news  *news
	isEnd bool // of a problem that the receiver knows, or may know

	mu          sync.Mutex
	state       state
	isUncertain bool // an attempt ended, and it is not known whether the receiver took it
}

// state is what became of a notice.
type state int

// The states. The last four are final.
const (
	waiting   state = iota // in a group or a queue
	leaving                // an attempt runs
	taken                  // by the receiver
	late                   // not taken in time, or the queue was full
	refused                // another attempt would fail for the same reason, or the message only counts it
	withdrawn              // it was not to be sent any more, or has to be sent in another message
)

// leave notes that an attempt begins. It returns false if the event is not to be sent any more. nil is of an event that is sent in any case.
func (n *notice) leave() bool {
	if n == nil {
		return true
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.state == withdrawn {
		return false
	}
	n.state = leaving
	return true
}

// become notes what became of the event, unless that is final.
func (n *notice) become(s state, isUncertain bool) {
	if n == nil {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.state <= leaving {
		n.state, n.isUncertain = s, n.isUncertain || isUncertain
	}
}

func (n *notice) isWithdrawn() bool {
	if n == nil {
		return false
	}
	s, _ := n.result()
	return s == withdrawn
}

// result returns what became of the event.
func (n *notice) result() (s state, isUncertain bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.state, n.isUncertain
}

// withdraw lets the event not be sent, unless an attempt runs.
func (n *notice) withdraw() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.state == waiting {
		n.state = withdrawn
	}
}

// become notes what became of the events of a message.
func (m Message) become(s state, isUncertain bool) {
	for _, e := range m.Events {
		e.notice.become(s, isUncertain)
	}
}
