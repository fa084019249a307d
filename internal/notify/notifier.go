package notify

import (
	"context"
	"log/slog"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"gitops-agent/reconcile/event"
	"gitops-agent/reconcile/reason"
	"gitops-agent/reconcile/report"
)

// Result is what became of a message or an event. It is a label of metrics.
type Result string

// Results of notifications.
const (
	Sent    Result = "sent"
	Retried Result = "retried" // an attempt failed, and another one follows
	Failed  Result = "failed"  // the receiver refused it, or did not take it in time
	Dropped Result = "dropped" // a queue was full
)

// Results lists every result, for metrics that start at zero.
func Results() []Result { return []Result{Sent, Retried, Failed, Dropped} }

// Options configures a Notifier.
type Options struct {
	// Report returns the newest report, for the tags of guests and for problems that end without an event. It must not be nil.
	Report func() report.Report
	// OnResult is called for each result, from several goroutines. Default: nothing.
	OnResult func(Result)
	// File remembers which problems were sent to whom, so that their ends are sent to the same receivers after a restart. "" remembers nothing.
	File string
	// Logger logs messages that were not sent. It must not be a logger of this notifier. Default: no log.
	Logger *slog.Logger
}

// Settings are the part of the configuration that a reload replaces.
type Settings struct {
	Cluster   string
	Link      string // address of the status page, "" is none
	Receivers []Receiver
	Routes    []Route
}

// Bounds of the queues, and of the time that the end of the agent takes.
const (
	maxHanded   = 256
	maxQueued   = 64
	endTimeout  = 3 * time.Second
	checkPeriod = time.Minute // between two looks for problems to repeat
)

// Notifier sends messages about events. Create it with New, then call Run.
type Notifier struct {
	opts     Options
	handed   chan Event
	settings chan Settings

	active   atomic.Bool // there are routes
	settling sync.Mutex  // guards that settings contains the newest ones
}

// New returns a notifier without receivers.
func New(opts Options) *Notifier {
	if opts.OnResult == nil {
		opts.OnResult = func(Result) {}
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	return &Notifier{opts: opts, handed: make(chan Event, maxHanded), settings: make(chan Settings, 1)}
}

// Configure replaces the settings. It does not wait. What waits for the receivers of before is still sent to them. Problems are remembered, so that a
// reload does not report them again.
func (n *Notifier) Configure(s Settings) {
	n.settling.Lock()
	defer n.settling.Unlock()
	n.active.Store(len(s.Routes) > 0)
	select {
	case <-n.settings: // not taken yet, and replaced now
	default:
	}
	n.settings <- s
}

// hand gives an event to the dispatcher if it has room, and does not wait: the engine calls it.
func (n *Notifier) hand(e Event) {
	if isOrdinary(e) {
		return
	}
	select {
	case n.handed <- e:
	default:
		n.opts.OnResult(Dropped)
	}
}

// isOrdinary reports whether writing stopped for a reason that belongs to every start and end of an agent.
func isOrdinary(e Event) bool {
	if e.Name != event.WritesStopped {
		return false
	}
	severity := reason.Stop(e.Attributes["reason"]).Row().Severity
	return severity == reason.SeverityInfo || severity == reason.SeverityProgress
}

// dispatcher is the state of Run. Only its goroutine uses it.
type dispatcher struct {
	*Notifier
	now      Settings
	queues   map[string]*delivery // by the name of the receiver
	groups   []group              // two for each route: what is sent soon, and what waits for the end of quiet hours
	problems map[string]*problem
	sending  sync.WaitGroup

	changed   bool // the problems, since they were saved
	saveFails bool
}

// Run dispatches until ctx ends. It then tries for three seconds to send what waits.
func (n *Notifier) Run(ctx context.Context) {
	d := &dispatcher{Notifier: n, problems: make(map[string]*problem)}
	d.load()
	ended, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	ticker := time.NewTicker(checkPeriod)
	defer ticker.Stop()
	for {
		select {
		case s := <-n.settings:
			d.configure(ended, s)
		default:
		}
		timer := time.NewTimer(d.untilDue(time.Now()))
		select {
		case s := <-n.settings:
			d.configure(ended, s)
		case e := <-n.handed:
			d.take(e, time.Now())
		case <-ticker.C:
			d.repeat(time.Now())
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			d.finish(end)
			return
		}
		timer.Stop()
		d.send(time.Now(), false)
		d.save()
	}
}

// finish sends what waits, for a bounded time.
func (d *dispatcher) finish(end context.CancelFunc) {
	for {
		select {
		case e := <-d.handed:
			d.take(e, time.Now())
			continue
		default:
		}
		break
	}
	d.send(time.Now(), true)
	d.save()
	d.closeQueues()
	timer := time.AfterFunc(endTimeout, end)
	defer timer.Stop()
	d.sending.Wait()
}

func (d *dispatcher) closeQueues() {
	for _, q := range d.queues {
		q.close()
	}
	d.queues = nil
}

// configure replaces receivers and routes. The receivers of before send what waits for them, except for what waits for the end of quiet hours: that goes
// to the new routes, which may have other quiet hours.
func (d *dispatcher) configure(ctx context.Context, s Settings) {
	now := time.Now()
	quiet := make(map[string]group) // by the receiver
	for i := range d.groups {
		if g := &d.groups[i]; i%2 == 1 && now.Before(g.due) {
			receiver := d.now.Routes[i/2].Receiver
			kept := quiet[receiver]
			kept.events, kept.more = append(kept.events, g.events...), kept.more+g.more
			quiet[receiver], *g = kept, group{}
		}
	}
	d.send(now, true)
	d.closeQueues()
	d.now, d.groups, d.queues = s, make([]group, 2*len(s.Routes)), make(map[string]*delivery, len(s.Receivers))
	for _, r := range s.Receivers {
		q := newDelivery(r, d.opts.OnResult, d.opts.Logger)
		d.queues[r.Name] = q
		d.sending.Go(func() { q.run(ctx) })
	}
	for receiver, kept := range quiet {
		d.keep(receiver, kept, now)
	}
}

// keep adds events that waited for the end of quiet hours to the first route of their receiver that selects them. Without such a route they are not
// wanted any more.
func (d *dispatcher) keep(receiver string, kept group, now time.Time) {
	for _, e := range kept.events {
		i := slices.IndexFunc(d.now.Routes, func(r Route) bool { return r.Receiver == receiver && r.selects(e) })
		if i < 0 {
			continue
		}
		d.add(i, e, nil, now) // nil: the receiver was noted as told when the event happened
		g := &d.groups[2*i]
		if g.due.IsZero() {
			g = &d.groups[2*i+1]
		}
		g.more, kept.more = g.more+kept.more, 0
	}
}

// take notes which problem an event begins or ends, and adds it to the groups of the routes that select it. The end of a problem goes to those who were told of its
// begin too.
func (d *dispatcher) take(e Event, now time.Time) {
	e.Tags = tagsOf(e, d.opts.Report())
	told := d.endProblems(e)
	var p *problem
	if row, lasts := lastingRow(e.Name); lasts {
		key, text := problemKey(row, e), Text(e)
		p = d.problems[key]
		if p == nil || p.text != text {
			p = &problem{text: text, sent: make(map[string]time.Time)}
			d.problems[key] = p
		}
		p.event, p.gone, p.isOld = e, 0, false
	}
	for i, r := range d.now.Routes {
		if r.selects(e) {
			d.add(i, e, p, now)
			delete(told, r.Receiver)
		}
	}
	for receiver, begin := range told {
		d.tellEnd(receiver, begin, e, now)
	}
}

// tellEnd sends the end of a problem to a receiver that was told of its begin: by the route that would send the begin, or else by any route of the receiver, or without
// one.
func (d *dispatcher) tellEnd(receiver string, begin, end Event, now time.Time) {
	route := slices.IndexFunc(d.now.Routes, func(r Route) bool { return r.Receiver == receiver && r.selects(begin) })
	if route < 0 {
		route = slices.IndexFunc(d.now.Routes, func(r Route) bool { return r.Receiver == receiver })
	}
	if route >= 0 {
		d.add(route, end, nil, now)
		return
	}
	d.hold(receiver, Message{Events: []Event{end}, Cluster: d.now.Cluster, Link: d.now.Link}, now)
}

// add adds an event to the group of a route. A problem that the receiver was told about is not sent again before its time: after a reload the engine
// logs present problems once more.
func (d *dispatcher) add(route int, e Event, p *problem, now time.Time) {
	r := d.now.Routes[route]
	if p != nil {
		if last, told := p.sent[r.Receiver]; told && (r.RepeatInterval == 0 || now.Sub(last) < r.RepeatInterval) && !last.Equal(now) {
			return
		}
		p.sent[r.Receiver], d.changed = now, true
	}
	if at := r.sendAt(e, now); at.After(now) {
		d.groups[2*route+1].add(e, at)
	} else {
		d.groups[2*route].add(e, now.Add(r.GroupWait))
	}
}

// repeat adds problems again that still exist, and the ends of those that ended without an event: while the agent did not run. Without receivers, as while another
// agent leads, nothing is known to have ended.
func (d *dispatcher) repeat(now time.Time) {
	if len(d.now.Receivers) == 0 {
		return
	}
	newest := d.opts.Report()
	for key, p := range d.problems {
		if !p.exists(newest) {
			if p.gone++; p.gone >= looksUntilOver {
				delete(d.problems, key)
				d.changed = true
				d.overOf(p, newest, now)
			}
			continue
		}
		p.gone = 0
		for i, r := range d.now.Routes {
			last, told := p.sent[r.Receiver]
			if r.RepeatInterval > 0 && told && now.Sub(last) >= r.RepeatInterval && r.selects(p.event) {
				e := p.event
				e.Repeated = now
				d.add(i, e, p, now)
			}
		}
	}
}

// overOf sends the end of a problem that ended without an event to those who were told of its begin.
func (d *dispatcher) overOf(p *problem, newest report.Report, now time.Time) {
	if p.isOfNone(newest) && p.event.Name != event.StepHeld {
		return
	}
	for receiver := range p.sent {
		d.tellEnd(receiver, p.event, p.over(now), now)
	}
}

// untilDue returns the time until the first group is due.
func (d *dispatcher) untilDue(now time.Time) time.Duration {
	wait := checkPeriod
	for i := range d.groups {
		if due := d.groups[i].due; !due.IsZero() {
			wait = min(wait, due.Sub(now))
		}
	}
	return max(wait, 0)
}

// send passes the groups that are due, or all, to the queues of their receivers. It does not wait.
func (d *dispatcher) send(now time.Time, all bool) {
	for i := range d.groups {
		g := &d.groups[i]
		if g.due.IsZero() || !all && now.Before(g.due) {
			continue
		}
		m := Message{Events: g.events, More: g.more, Cluster: d.now.Cluster, Link: d.now.Link}
		*g = group{}
		d.hold(d.now.Routes[i/2].Receiver, m, now)
	}
}

// hold passes a message to the queue of a receiver. A receiver that the config has no more gets nothing.
func (d *dispatcher) hold(receiver string, m Message, now time.Time) {
	q := d.queues[receiver]
	if q == nil {
		return
	}
	if q.receiver.Kind == Webhook { // its requests have no place for the count
		for range m.More {
			d.opts.OnResult(Dropped)
		}
	}
	for _, part := range q.receiver.split(m) {
		part.queued = now
		q.add(part)
	}
}

func guestOf(e Event, r report.Report) *report.Guest {
	vmid, _ := strconv.Atoi(e.Attributes["vmid"])
	for i := range r.Guests {
		g := &r.Guests[i]
		if vmid != 0 && g.VMID == vmid || vmid == 0 && e.Guest != "" && g.Label() == e.Guest {
			return g
		}
	}
	return nil
}

func tagsOf(e Event, r report.Report) []string {
	if g := guestOf(e, r); g != nil {
		return g.Tags
	}
	return nil
}
