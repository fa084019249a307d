package notify

import (
	"context"
	"io/fs"
	"log/slog"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"gitops-agent/internal/durable"
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
	// File remembers which receivers took which problems, and what they did not take yet. "" remembers nothing.
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

	write func(path string, content []byte, mode fs.FileMode) error
}

// New returns a notifier without receivers.
func New(opts Options) *Notifier {
	if opts.OnResult == nil {
		opts.OnResult = func(Result) {}
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	return &Notifier{opts: opts, handed: make(chan Event, maxHanded), settings: make(chan Settings, 1), write: durable.Write}
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
	held     []heldNews
	sending  sync.WaitGroup
	touched  chan struct{} // has an element after a delivery changed notices
	memory   memory
}

// Run dispatches until ctx ends. It then tries for three seconds to send what waits, and waits for as long for the disk.
func (n *Notifier) Run(ctx context.Context) {
	d := &dispatcher{Notifier: n, problems: make(map[string]*problem), touched: make(chan struct{}, 1)}
	d.memory = memory{file: n.opts.File, log: n.opts.Logger, write: n.write, written: make(chan written, 1)}
	for _, p := range d.memory.load() {
		d.problems[problemKey(p.begin.Event)] = p
	}
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
		case <-d.touched:
			d.catchUp(time.Now())
		case <-ticker.C:
			d.look(time.Now())
		case w := <-d.memory.written:
			d.memory.note(w, time.Now())
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			d.finish(end)
			return
		}
		timer.Stop()
		d.send(time.Now(), false)
		d.memory.save(d.problems, time.Now())
	}
}

// finish sends what waits and saves what was sent, for a bounded time.
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
	d.closeQueues()
	timer := time.AfterFunc(endTimeout, end)
	defer timer.Stop()
	d.sending.Wait()
	d.noteAll(time.Now())
	d.memory.saveLast(d.problems)
}

func (d *dispatcher) closeQueues() {
	for _, q := range d.queues {
		q.close()
	}
	d.queues = nil
}

// touch lets the dispatcher read what became of notices. Deliveries call it.
func (d *dispatcher) touch() {
	select {
	case d.touched <- struct{}{}:
	default:
	}
}

// configure replaces receivers and routes. The receivers of before send what waits for them, except for what the new settings decide about: problems of receivers that
// stay, and what waits for the end of quiet hours, because the new routes may have other quiet hours.
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
	for _, kept := range quiet {
		for _, e := range kept.events {
			if e.notice != nil {
				e.notice.withdraw()
			}
		}
	}
	for _, r := range s.Receivers {
		d.reconsider(r.Name)
	}
	d.send(now, true)
	d.closeQueues()
	d.now, d.groups, d.queues = s, make([]group, 2*len(s.Routes)), make(map[string]*delivery, len(s.Receivers))
	for _, r := range s.Receivers {
		q := newDelivery(r, d.opts.OnResult, d.touch, d.opts.Logger)
		d.queues[r.Name] = q
		d.sending.Go(func() { q.run(ctx) })
	}
	for receiver, kept := range quiet {
		d.keep(receiver, kept, now)
	}
	d.catchUp(now)
}

// keep adds events that waited for the end of quiet hours to the route of their receiver that selects them. Without such a route they are not wanted any more. The
// events of problems are not among them: what is still true of them is sent in any case.
func (d *dispatcher) keep(receiver string, kept group, now time.Time) {
	for _, e := range kept.events {
		i := d.route(receiver, e, now)
		if i < 0 || e.notice != nil {
			continue
		}
		g := d.add(i, e, now)
		g.more, kept.more = g.more+kept.more, 0
	}
}

// route returns the route by which a receiver gets an event first, -1 if none selects the event.
func (d *dispatcher) route(receiver string, e Event, now time.Time) int {
	first, at := -1, time.Time{}
	for i, r := range d.now.Routes {
		if r.Receiver != receiver || !r.selects(e) {
			continue
		}
		if due := r.sendAt(e, now); first < 0 || due.Before(at) {
			first, at = i, due
		}
	}
	return first
}

// add adds an event to the group of a route.
func (d *dispatcher) add(route int, e Event, now time.Time) *group {
	r := d.now.Routes[route]
	g, at := &d.groups[2*route], now.Add(r.GroupWait)
	if quiet := r.sendAt(e, now); quiet.After(now) {
		g, at = &d.groups[2*route+1], quiet
	}
	if e.notice != nil {
		g.clean()
		g.change = d.memory.change
	}
	g.add(e, at)
	return g
}

// untilDue returns the time until the first group is due, or the memory may be written.
func (d *dispatcher) untilDue(now time.Time) time.Duration {
	wait := min(checkPeriod, d.memory.untilDue(now))
	for i := range d.groups {
		if g := &d.groups[i]; !g.due.IsZero() {
			wait = min(wait, d.memory.after(g.change, g.due).Sub(now))
		}
	}
	return max(wait, 0)
}

// send passes the groups that are due, or all, to the queues of their receivers. It does not wait. A group with begins is due when they are in the memory: the agent may
// crash after it is sent.
func (d *dispatcher) send(now time.Time, all bool) {
	for i := range d.groups {
		g := &d.groups[i]
		g.clean()
		if g.due.IsZero() || !all && now.Before(d.memory.after(g.change, g.due)) {
			continue
		}
		m := Message{Events: g.events, More: g.more, Cluster: d.now.Cluster, Link: d.now.Link}
		*g = group{}
		d.hold(d.now.Routes[i/2].Receiver, m, now)
	}
}

// hold passes a message to the queue of a receiver.
func (d *dispatcher) hold(receiver string, m Message, now time.Time) {
	q := d.queues[receiver]
	if q == nil || len(m.Events) == 0 {
		return
	}
	if q.receiver.Kind == Webhook { // its requests have no place for the count
		for range m.More {
			d.opts.OnResult(Dropped)
		}
	}
	sent := 0
	for _, part := range q.receiver.split(m) {
		part.queued = now
		sent += len(part.Events)
		q.add(part)
	}
	for _, e := range m.Events[sent:] { // they are only counted
		if e.notice != nil && e.notice.isEnd {
			e.notice.become(withdrawn, false)
		} else {
			e.notice.become(refused, false)
		}
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
