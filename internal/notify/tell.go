package notify

import (
	"maps"
	"slices"
	"time"

	"gitops-agent/reconcile/event"
	"gitops-agent/reconcile/report"
)

// maxProblems bounds the problems that are remembered.
const maxProblems = 10_000

// heldNews is an event that a receiver gets when an earlier message about the same problem is done with.
type heldNews struct {
	receiver string
	news     *news
}

// take notes which problem an event begins or ends, and sends the event to the receivers whose routes select it. The end of a problem goes to those that know the begin.
func (d *dispatcher) take(e Event, now time.Time) {
	e.Tags = tagsOf(e, d.opts.Report())
	n := &news{Event: e, text: Text(e)}
	d.end(n)
	n = d.begin(n)
	for _, r := range d.now.Receivers {
		d.tellNew(r.Name, n, now)
	}
}

// end notes the problems that an event ends. The event that ended a problem may have begun another one: the end of that one is then the end of both.
func (d *dispatcher) end(n *news) {
	for _, p := range d.problems {
		if p.end == nil && p.ends(n.Event) {
			d.over(p, n)
		}
	}
	for _, p := range d.problems {
		if p.end != nil && p.end != n && slices.Contains(n.ends, p.end.begins) {
			d.over(p, n)
		}
	}
}

// over notes that an event ends a problem.
func (d *dispatcher) over(p *problem, n *news) {
	p.end, n.ends = n, append(n.ends, p)
	p.retry()
	d.memory.change++
}

// begin notes the problem that an event begins. It returns the news to tell: an event that says the same once more, as after a reload, is none.
func (d *dispatcher) begin(n *news) *news {
	if !lasts(n.Name) {
		return n
	}
	key := problemKey(n.Event)
	p := d.problems[key]
	switch {
	case p == nil:
		d.makeRoom()
		p = &problem{told: make(map[string]*telling)}
		d.problems[key] = p
	case p.end == nil && p.begin.text == n.text && len(n.ends) == 0:
		p.begin.Event, p.gone, p.isOld = n.Event, 0, false
		return p.begin
	}
	n.begins = p
	p.begin, p.end, p.gone, p.isOld = n, nil, 0, false
	p.retry()
	d.memory.change++
	return n
}

// retry lets what receivers did not take be sent again.
func (p *problem) retry() {
	for _, t := range p.told {
		t.retry = time.Time{}
	}
}

// makeRoom forgets the oldest problem if there are too many: one that is over, if there is one.
func (d *dispatcher) makeRoom() {
	if len(d.problems) < maxProblems {
		return
	}
	d.forget(slices.MinFunc(slices.Collect(maps.Values(d.problems)), func(a, b *problem) int {
		if isOver := a.end != nil; isOver != (b.end != nil) {
			return map[bool]int{true: -1, false: 1}[isOver]
		}
		return a.begin.Time.Compare(b.begin.Time)
	}))
	d.opts.OnResult(Dropped)
}

// forget forgets a problem.
func (d *dispatcher) forget(p *problem) {
	for _, t := range p.told {
		if t.notice != nil {
			t.notice.withdraw()
		}
	}
	delete(d.problems, problemKey(p.begin.Event))
	d.memory.change++
}

// tellNew sends news for the first time.
func (d *dispatcher) tellNew(receiver string, n *news, now time.Time) {
	if !d.tell(receiver, n, true, now) {
		d.held = append(d.held, heldNews{receiver, n})
	}
}

// tell sends news to a receiver if it has to get them: because a route selects them, or as the end of a problem of which it knows the begin. It returns false if that
// is not known yet, since an earlier message about one of the problems is leaving.
func (d *dispatcher) tell(receiver string, n *news, isNew bool, now time.Time) (isDone bool) {
	if d.queues[receiver] == nil {
		return true
	}
	if isOnItsWay, isFree := d.clear(receiver, n, now); isOnItsWay || !isFree {
		return isOnItsWay
	}
	e, route := n.Event, d.route(receiver, n.Event, now)
	owed, isOnlyEnd := n.owed(receiver, now)
	isWanted := len(owed) > 0 || isNew && route >= 0 && !isOnlyEnd && n.begins == nil
	var begins *telling
	if p := n.begins; p != nil && p.begin == n && p.end == nil {
		if begins = p.told[receiver]; begins == nil {
			begins = &telling{}
		}
		if route >= 0 {
			isDue, isRepeated := begins.isDue(n.text, d.now.Routes[route].RepeatInterval, now)
			if isDue && isRepeated {
				e.Repeated = now
			}
			isWanted = isWanted || isDue
		}
	}
	if !isWanted {
		return true
	}
	e.notice = &notice{news: n, isEnd: len(owed) > 0}
	if begins != nil {
		n.begins.told[receiver], begins.notice = begins, e.notice
	}
	for _, p := range owed {
		p.told[receiver].notice = e.notice
	}
	if e.notice.isEnd && !slices.ContainsFunc(owed, func(p *problem) bool { return p.told[receiver].isOpen }) {
		e.began = sentence(owed[0].begin.Event)
	}
	d.memory.change++
	if route < 0 {
		route = d.route(receiver, owed[0].begin.Event, now)
	}
	if route < 0 {
		route = slices.IndexFunc(d.now.Routes, func(r Route) bool { return r.Receiver == receiver })
	}
	if route < 0 {
		d.hold(receiver, Message{Events: []Event{e}, Cluster: d.now.Cluster, Link: d.now.Link}, now)
	} else {
		d.add(route, e, now)
	}
	return true
}

// clear withdraws what is on its way to a receiver about the problems that news begin or end. It reports whether the news themselves are, and whether nothing is.
func (d *dispatcher) clear(receiver string, n *news, now time.Time) (isOnItsWay, isFree bool) {
	for _, p := range append(slices.Clone(n.ends), n.begins) {
		if p == nil || p.newest() != n {
			continue
		}
		t := p.told[receiver]
		if t == nil || t.notice == nil {
			continue
		}
		if t.notice.news == n {
			return true, false
		}
		t.notice.withdraw()
		if d.note(p, t, now); t.notice != nil {
			return false, false
		}
	}
	return false, true
}

// owed returns the problems that the news end, and whose begin a receiver knows. The news are only an end for a receiver that was to know one of them, and whose event
// says nothing more.
func (n *news) owed(receiver string, now time.Time) (owed []*problem, isOnlyEnd bool) {
	for _, p := range n.ends {
		t := p.told[receiver]
		if t == nil {
			continue
		}
		row, _ := event.RowOf(p.begin.Name)
		isOnlyEnd = isOnlyEnd || row.End == n.Name
		if p.end == n && t.knows() && !now.Before(t.retry) {
			owed = append(owed, p)
		}
	}
	return owed, isOnlyEnd
}

// newest returns the newest news of a problem.
func (p *problem) newest() *news {
	if p.end != nil {
		return p.end
	}
	return p.begin
}

// note notes what became of a notice.
func (d *dispatcher) note(p *problem, t *telling, now time.Time) {
	if t.notice == nil {
		return
	}
	became, isUncertain := t.notice.result()
	isBegin := t.notice.news.begins == p
	switch became {
	case waiting, leaving:
		return
	case taken:
		if isBegin {
			t.text, t.at = t.notice.news.text, now
		}
		t.isOpen, t.mayKnow = isBegin, false
	case late: // all of an hour are sent in one message
		t.retry = now.Truncate(giveUp).Add(giveUp)
	case refused:
		t.retry = now.Add(refusedWait)
	case withdrawn:
	}
	if isUncertain && became != taken {
		if isBegin {
			t.mayKnow = true
		} else { // the receiver may have taken the end, so the same begin is news for it
			t.text = ""
		}
	}
	t.notice = nil
	d.memory.change++
}

// noteAll notes what became of every notice.
func (d *dispatcher) noteAll(now time.Time) {
	for _, p := range d.problems {
		for _, t := range p.told {
			d.note(p, t, now)
		}
	}
}

// catchUp notes what became of notices, and sends what receivers do not have yet and what is to be repeated.
func (d *dispatcher) catchUp(now time.Time) {
	d.noteAll(now)
	held := d.held
	d.held = nil
	for _, h := range held {
		d.tellNew(h.receiver, h.news, now)
	}
	newest := d.opts.Report()
	for _, p := range slices.SortedFunc(maps.Values(d.problems), func(a, b *problem) int { return a.newest().Time.Compare(b.newest().Time) }) {
		if p.end == nil && p.isOld && (!isRead(newest) || !p.exists(newest)) {
			continue // it may be over
		}
		for receiver := range p.told {
			d.tell(receiver, p.newest(), false, now)
		}
	}
}

// reconsider withdraws what waits for a receiver about problems, and lets what it did not take be sent again.
func (d *dispatcher) reconsider(receiver string) {
	for _, p := range d.problems {
		if t := p.told[receiver]; t != nil {
			t.retry = time.Time{}
			if t.notice != nil {
				t.notice.withdraw()
			}
		}
	}
}

// look ends problems that ended without an event: while the agent did not run. It forgets the problems that are over and of which no receiver has to know more. Without
// receivers, as while another agent leads, nothing is known to have ended.
func (d *dispatcher) look(now time.Time) {
	if len(d.now.Receivers) == 0 {
		return
	}
	newest := d.opts.Report()
	for _, p := range d.problems {
		switch {
		case p.end != nil:
			maps.DeleteFunc(p.told, func(receiver string, t *telling) bool { return d.queues[receiver] == nil && t.notice == nil })
			if age := now.Sub(p.end.Time); age > endKept || age > flapWait && !p.isOwed() {
				d.forget(p)
			}
		case p.exists(newest):
			p.gone = 0
		default:
			if p.gone++; p.gone >= looksUntilOver {
				d.overNow(p, newest, now)
			}
		}
	}
	d.catchUp(now)
}

// isOwed reports whether a receiver does not have the end yet.
func (p *problem) isOwed() bool {
	for _, t := range p.told {
		if t.knows() || t.notice != nil {
			return true
		}
	}
	return false
}

// overNow notes that a problem ended without an event. If it is unknown what became of it, its end is not sent.
func (d *dispatcher) overNow(p *problem, newest report.Report, now time.Time) {
	if p.isOfNone(newest) && p.begin.Name != event.StepHeld {
		d.forget(p)
		return
	}
	e := p.over(now)
	d.over(p, &news{Event: e, text: Text(e)})
}
