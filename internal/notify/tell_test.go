package notify

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"gitops-agent/internal/durable"
	"gitops-agent/internal/racecheck"
	"gitops-agent/reconcile/event"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/reason"
	"gitops-agent/reconcile/report"
)

// behavior is what a receiver does with a message.
type behavior int

const (
	takes     behavior = iota
	refuses            // for good
	fails              // without taking it
	breaks             // before it took it, without an answer
	forgets            // it takes the message, and its answer is lost
	hangs              // without taking it
	isLate             // it takes the message, and answers after the time limit
	behaviors          // their number
)

// world is a cluster with guests that fail and recover, and receivers that note in which order they got what.
type world struct {
	t      *testing.T
	random *rand.Rand
	file   string

	tracing sync.Mutex
	trace   []string

	mu        sync.Mutex
	failing   map[int]string  // the operation that fails, by the vmid
	flapped   map[string]bool // the operations that failed more than once
	incidents int
	receivers map[string]*recipient
	alive     *bool // of the run that is no crashed one
	diskTakes time.Duration

	events *event.Sink
	n      *Notifier
	stop   func()
}

// recipient is one receiver, and what it knows.
type recipient struct {
	behavior behavior
	open     map[int]string  // the operation whose failure arrived, without an end
	may      map[int]bool    // the last message about the guest may arrive again
	over     map[string]bool // the failures whose end arrived
	lastOver map[int]bool    // the last message about a guest was an end
}

var (
	failedLine    = regexp.MustCompile(`\((\d+)\) could not be brought in sync, the step (\S+) failed`)
	syncLine      = regexp.MustCompile(`in sync with revision r(\d+),`)
	succeededLine = regexp.MustCompile(`\((\d+)\), the step (\S+), has succeeded`)
)

// arrive notes a message, and checks that it follows from what the receiver got before.
func (w *world) arrive(name string, m Message, isAnswered bool) {
	r := w.receivers[name]
	for line := range strings.SplitSeq(m.Body(), "\n") {
		w.log("  %s gets %q, answers %v", name, line, isAnswered)
		begin, end := failedLine.FindStringSubmatch(line), succeededLine.FindStringSubmatch(line)
		allEnd := syncLine.FindStringSubmatch(line)
		if begin != nil {
			vmid, _ := strconv.Atoi(begin[1])
			op := begin[2]
			if allEnd == nil && end == nil && r.open[vmid] == op && !r.may[vmid] {
				w.fail("%s got the failure %s of %d again", name, op, vmid)
			}
			if r.over[op] && !r.may[vmid] && !w.flapped[op] {
				w.fail("%s got the failure %s of %d after its end", name, op, vmid)
			}
			r.open[vmid], r.lastOver[vmid], r.may[vmid] = op, false, !isAnswered
		}
		if end != nil {
			vmid, _ := strconv.Atoi(end[1])
			if isAgain := r.lastOver[vmid] && r.may[vmid]; r.open[vmid] == "" && !isAgain {
				w.fail("%s got the end of %d without its begin", name, vmid)
			}
			r.over[r.open[vmid]], r.lastOver[vmid], r.may[vmid] = true, true, !isAnswered
			delete(r.open, vmid)
		}
		if allEnd != nil { // of the incidents until then; an end of a later incident may follow, whose begin did not arrive
			last, _ := strconv.Atoi(allEnd[1])
			for vmid, op := range r.open {
				if incident, _ := strconv.Atoi(strings.TrimPrefix(op, "op")); incident <= last {
					r.over[op], r.lastOver[vmid], r.may[vmid] = true, true, true
					delete(r.open, vmid)
				}
			}
		}
	}
}

func (w *world) log(format string, args ...any) {
	w.tracing.Lock()
	defer w.tracing.Unlock()
	w.trace = append(w.trace, time.Now().Format("02 15:04:05.000 ")+fmt.Sprintf(format, args...))
}

func (w *world) fail(format string, args ...any) {
	w.log(format, args...)
	if !w.t.Failed() {
		w.t.Errorf("%s\n%s", fmt.Sprintf(format, args...), strings.Join(w.trace, "\n"))
	}
}

// send is what a receiver does with a message.
func (w *world) send(ctx context.Context, alive *bool, name string, m Message) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	b := w.receivers[name].behavior
	if !*alive {
		b = fails
	}
	switch b {
	case takes, forgets, isLate:
		w.arrive(name, m, b == takes)
	case refuses, fails, breaks, hangs, behaviors:
	}
	switch b {
	case takes:
		return nil
	case refuses:
		return &permanentError{errors.New("status 404")}
	case fails:
		return &untakenError{errors.New("status 503")}
	case hangs, isLate:
		w.mu.Unlock()
		<-ctx.Done()
		w.mu.Lock()
	case breaks, forgets, behaviors:
	}
	return errors.New("no answer")
}

// report says what is true.
func (w *world) report() report.Report {
	w.mu.Lock()
	defer w.mu.Unlock()
	r := bestReport()
	r.Guests = nil
	for vmid := 101; vmid <= 104; vmid++ {
		g := report.Guest{GuestName: report.GuestName{Kind: guest.VirtualMachine, Name: fmt.Sprintf("web-%d", vmid), VMID: vmid}, Sync: report.Synced, Operation: report.Idle}
		if w.failing[vmid] != "" {
			g.Sync, g.Conditions = report.OutOfSync, []plan.Condition{{Type: plan.Failed, Reason: reason.TaskHangs}}
		}
		r.Guests = append(r.Guests, g)
	}
	return r
}

func (w *world) settings() Settings {
	s := Settings{Cluster: "home"}
	alive := w.alive
	for i, name := range []string{"a", "b"} {
		kind := []Kind{Email, Webhook}[i]
		s.Receivers = append(s.Receivers, NewReceiver(Receiver{Name: name, Kind: kind, send: func(ctx context.Context, m Message) error { return w.send(ctx, alive, name, m) }}))
		route := Route{Receiver: name, GroupWait: time.Duration(w.random.IntN(3)) * time.Second}
		s.Routes = append(s.Routes, route)
		switch w.random.IntN(4) {
		case 0: // another route with the same events
			s.Routes = append(s.Routes, Route{Receiver: name, Events: []string{"guest.*"}})
		case 1:
			s.Routes[len(s.Routes)-1].Quiet = []QuietHours{{From: 2 * time.Hour, Until: 3 * time.Hour, Location: time.UTC}}
		}
	}
	return s
}

func (w *world) start() {
	alive := new(bool)
	*alive = true
	w.alive = alive
	w.n = New(Options{Report: w.report, File: w.file})
	w.n.write = func(path string, content []byte, mode fs.FileMode) error {
		time.Sleep(w.diskTakes)
		w.mu.Lock()
		defer w.mu.Unlock()
		if !*alive {
			return errors.New("crashed")
		}
		return durable.Write(path, content, mode)
	}
	w.events = event.NewSink(slog.New(slog.DiscardHandler), w.n.Event)
	w.n.Configure(w.settings())
	ctx, cancel := context.WithCancel(w.t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); w.n.Run(ctx) }()
	w.stop = func() { cancel(); <-ended }
}

// tellAll tells the failures once more, as the engine does after a start or a reload.
func (w *world) tellAll() {
	for vmid := 101; vmid <= 104; vmid++ {
		if op := w.failing[vmid]; op != "" {
			w.tell(event.GuestFailed, vmid, op)
		}
	}
}

func (w *world) tell(name event.Name, vmid int, op string) {
	fields := []any{"vmid", vmid, "guest", fmt.Sprintf("VirtualMachine/web-%d", vmid), "op", op}
	if name == event.GuestFailed {
		fields = append(fields, "error", errors.New("no space"))
	}
	w.events.Happened(name, event.Details{Fields: fields})
}

// change changes the truth, and tells it if the agent runs.
func (w *world) change(isRunning bool) {
	vmid := 101 + w.random.IntN(4)
	w.mu.Lock()
	was := w.failing[vmid]
	isAll := was != "" && w.random.IntN(5) == 0
	switch {
	case isAll:
		clear(w.failing)
		w.log("all guests are in sync")
	case was != "" && w.random.IntN(4) > 0:
		delete(w.failing, vmid)
		w.log("%d succeeds", vmid)
	default:
		w.incidents++
		w.failing[vmid] = fmt.Sprintf("op%d", w.incidents)
		w.log("%d fails: %s", vmid, w.failing[vmid])
	}
	op, revision := w.failing[vmid], fmt.Sprintf("r%d", w.incidents)
	w.mu.Unlock()
	switch {
	case !isRunning:
	case isAll:
		w.events.Happened(event.RevisionConverged, event.Details{Fields: []any{"revision", revision, "duration", time.Minute}})
	case op == "":
		w.tell(event.GuestSucceeded, vmid, was)
	default:
		w.tell(event.GuestFailed, vmid, op)
	}
}

// flap lets a guest succeed and fail for the same reason at once.
func (w *world) flap() {
	for vmid, op := range w.failing {
		w.log("%d flaps: %s", vmid, op)
		w.mu.Lock()
		w.flapped[op] = true
		w.mu.Unlock()
		w.tell(event.GuestSucceeded, vmid, op)
		time.Sleep(time.Duration(w.random.IntN(3)) * time.Second)
		w.mu.Lock()
		for _, r := range w.receivers {
			r.may[vmid] = r.may[vmid] || r.lastOver[vmid] || r.open[vmid] == op
		}
		w.mu.Unlock()
		w.tell(event.GuestFailed, vmid, op)
		return
	}
}

// historySeeds are the random histories of TestToldOnceWithItsEnd. .ci/long asks for more.
var historySeeds = flag.Int("history-seeds", racecheck.Rounds(25), "number of histories of failures")

// TestToldOnceWithItsEnd runs random histories of failures of guests, of receivers and of the agent. No receiver gets an end without its begin, a begin after its end or
// either twice, unless an answer was lost or the agent crashed; and in the end each knows what is true.
func TestToldOnceWithItsEnd(t *testing.T) {
	t.Parallel()
	for seed := range *historySeeds {
		synctest.Test(t, func(t *testing.T) { testHistory(t, uint64(seed)) })
		if t.Failed() {
			return
		}
	}
	t.Logf("history seeds: %d", *historySeeds)
}

func testHistory(t *testing.T, seed uint64) {
	t.Helper()
	w := &world{
		t: t, random: rand.New(rand.NewPCG(seed, 0)), file: filepath.Join(t.TempDir(), "notifications.json"), failing: map[int]string{}, flapped: map[string]bool{},
		receivers: map[string]*recipient{},
	}
	w.log("seed %d", seed)
	for _, name := range []string{"a", "b"} {
		w.receivers[name] = &recipient{open: map[int]string{}, may: map[int]bool{}, over: map[string]bool{}, lastOver: map[int]bool{}}
	}
	w.diskTakes = time.Duration(w.random.IntN(3)) * 500 * time.Millisecond
	w.start()
	for range 40 {
		w.act()
		time.Sleep([]time.Duration{0, 10 * time.Millisecond, time.Second, 20 * time.Second, 5 * time.Minute, 20 * time.Minute}[w.random.IntN(6)])
	}
	w.mu.Lock()
	for _, r := range w.receivers {
		r.behavior = takes
	}
	w.mu.Unlock()
	w.log("every receiver takes everything")
	time.Sleep(refusedWait + 3*giveUp)
	synctest.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, name := range []string{"a", "b"} {
		for vmid := 101; vmid <= 104; vmid++ {
			if got := w.receivers[name].open[vmid]; got != w.failing[vmid] {
				w.fail("%s knows the failure %q of %d, and the truth is %q", name, got, vmid, w.failing[vmid])
			}
		}
	}
	w.mu.Unlock()
	w.stop()
	w.mu.Lock()
}

// act does one random thing.
func (w *world) act() {
	switch w.random.IntN(10) {
	default:
		w.change(true)
	case 5:
		w.flap()
	case 6, 7:
		w.mu.Lock()
		name := []string{"a", "b"}[w.random.IntN(2)]
		w.receivers[name].behavior = behavior(w.random.IntN(int(behaviors)))
		w.log("%s is %d now", name, w.receivers[name].behavior)
		w.mu.Unlock()
	case 8:
		w.log("reload")
		w.n.Configure(w.settings())
		w.tellAll()
	case 9:
		isCrash := w.random.IntN(2) == 0
		if isCrash {
			w.mu.Lock()
			*w.alive = false
			for _, r := range w.receivers {
				for vmid := 101; vmid <= 104; vmid++ {
					r.may[vmid] = true
				}
			}
			w.log("crash")
			w.mu.Unlock()
		}
		w.stop()
		w.log("the agent ended")
		for range w.random.IntN(3) {
			w.change(false)
		}
		w.start()
		w.log("start")
		w.tellAll()
	}
}

// A state that begins and ends each second is two messages a minute at most, and none if it ends before it is sent.
func TestFlapsAreNoStorm(t *testing.T) {
	t.Parallel()
	for wait, most := range map[time.Duration]int{0: 2 * 11, 2 * time.Second: 2 * 11} {
		synctest.Test(t, func(t *testing.T) {
			night := []QuietHours{{From: 10 * time.Hour, Until: 11 * time.Hour, Location: time.UTC}}
			l := newLab(t, Route{Receiver: "a", GroupWait: wait}, Route{Receiver: "b", Quiet: night})
			r := bestReport()
			r.Guests[0].Conditions = []plan.Condition{{Type: plan.Failed}}
			l.reports(r)
			for range 300 {
				l.failed(101)
				time.Sleep(time.Second)
				l.tell(event.GuestSucceeded, "vmid", 101, "guest", "VirtualMachine/web-101", "op", "start")
				time.Sleep(time.Second)
			}
			l.failed(101)
			got := l.sent("a", 5*time.Minute)
			if len(got) == 0 || len(got) > most || !strings.Contains(got[len(got)-1], "could not be brought in sync") {
				t.Errorf("group_wait %s: got %d messages in ten minutes, want at most %d and a failure as the last one: %q", wait, len(got), most, got)
			}
		})
	}
}

// A failure that ends before it is sent, as in quiet hours, is not sent, and takes no place from what is.
func TestFlapsInQuietHours(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { // it begins at midnight UTC
		l := newLab(t, Route{Receiver: "a", Quiet: []QuietHours{{From: 22 * time.Hour, Until: 7 * time.Hour, Location: time.UTC}}})
		for range 2 * maxGroup {
			l.failed(101)
			time.Sleep(time.Second)
			l.tell(event.GuestSucceeded, "vmid", 101, "guest", "VirtualMachine/web-101", "op", "start")
			time.Sleep(time.Minute)
		}
		l.failed(102)
		if got := l.sent("a", 8*time.Hour); len(got) != 1 || !strings.Contains(got[0], "web-102") || strings.Contains(got[0], "web-101") || strings.Contains(got[0], "more") {
			t.Errorf("got %q in the morning, want the failure that lasts", got)
		}
	})
}

// The end of a failure whose message has no answer says both, and takes the place of that message. It is shortened as any event, so that it remains an end.
func TestEndOfAnUncertainBeginSaysBoth(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, Route{Receiver: "a"})
		l.failWith(errHangs)
		l.failed(101)
		l.sent("a", time.Minute)
		l.tell(event.GuestSucceeded, "vmid", 101, "guest", "VirtualMachine/web-101", "op", "start")
		l.sent("a", time.Minute)
		l.failWith(nil)
		got := l.sent("a", 2*time.Hour)
		if len(got) != 1 || !strings.Contains(got[0], "could not be brought in sync") || !strings.Contains(got[0], "has succeeded") {
			t.Errorf("got %q, want one message with begin and end", got)
		}
	})
	e := Event{Name: event.GuestSucceeded, Attributes: event.Texts{"guest": "VirtualMachine/web-101", "op": "start"}, began: strings.Repeat("x", 200)}
	if got := shortened(e, 150); !strings.Contains(got, "has succeeded") {
		t.Errorf("got %q, want the end", got)
	}
}

// A send of shoutrrr that runs on may still be taken: the end, and an event of its own that ends the failure, wait for it. If it is not taken, the end is not sent, and
// the event of its own is.
func TestEndWaitsForASendThatRuns(t *testing.T) {
	t.Parallel()
	untaken := &untakenError{errors.New("status 503")}
	for _, test := range []struct {
		end     event.Name
		outcome error
		want    []string // parts of the messages
	}{
		{event.GuestSucceeded, nil, []string{"could not be brought in sync", "What failed of"}},
		{event.GuestDestroyed, nil, []string{"could not be brought in sync", "destroyed"}},
		{event.GuestSucceeded, untaken, nil},
		{event.GuestDestroyed, untaken, []string{"destroyed"}},
	} {
		synctest.Test(t, func(t *testing.T) {
			l := newLab(t)
			s := l.settings(Route{Receiver: "a", GroupWait: time.Second})
			send, running := s.Receivers[0].send, make(chan error, 1)
			s.Receivers[0].send = func(ctx context.Context, m Message) error {
				if !strings.Contains(m.Body(), "could not be brought in sync") {
					return send(ctx, m)
				}
				m.attempt.result = running
				select {
				case err := <-running:
					if m.attempt.result = nil; err != nil {
						return err
					}
					return send(ctx, m)
				case <-ctx.Done():
					return &untakenError{ctx.Err()} // so that the outcome alone decides
				}
			}
			l.n.Configure(s)
			l.failed(101)
			l.sent("a", time.Minute)
			l.tell(test.end, "vmid", 101, "guest", "VirtualMachine/web-101", "op", "start")
			l.tell(event.AgentResumed)
			if got := l.sent("a", time.Minute); len(got) != 1 || !strings.Contains(got[0], "pause") {
				t.Errorf("%s: got %q, want the other event alone", test.end, got)
			}
			running <- test.outcome
			got := l.sent("a", 2*time.Hour)
			if len(got) != len(test.want) {
				t.Fatalf("%s, %v: got %q, want %q", test.end, test.outcome, got, test.want)
			}
			for i, want := range test.want {
				if !strings.Contains(got[i], want) {
					t.Errorf("%s, %v: got %q, want %q", test.end, test.outcome, got, test.want)
				}
			}
		})
	}
}

// What a receiver refused is sent again when something changed: the problem, the settings, or after a day.
func TestRefusedIsSentAgain(t *testing.T) {
	t.Parallel()
	succeeds := func(l *lab) {
		l.tell(event.GuestSucceeded, "vmid", 101, "guest", "VirtualMachine/web-101", "op", "start")
	}
	fails := func(l *lab) {
		l.tell(event.GuestFailed, "vmid", 101, "guest", "VirtualMachine/web-101", "op", "stop", "error", "busy")
	}
	for name, test := range map[string]struct {
		isTaken bool // before, with another text
		then    func(l *lab)
		want    string
	}{
		"nothing":        {false, func(*lab) {}, ""},
		"the same begin": {false, func(l *lab) { l.failed(101) }, ""},
		"another text":   {false, fails, "the step stop failed"},
		"a reload":       {false, func(l *lab) { l.n.Configure(l.settings(Route{Receiver: "a"})) }, "the step start failed"},
		"a day":          {false, func(*lab) { time.Sleep(refusedWait) }, "the step start failed"},
		"the end":        {true, succeeds, "has succeeded"},
		"again":          {false, func(l *lab) { succeeds(l); l.failed(101) }, "the step start failed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				l := newLab(t, Route{Receiver: "a"})
				if test.isTaken {
					fails(l)
					l.sent("a", time.Minute)
				}
				l.failWith(&permanentError{errors.New("status 404")})
				l.failed(101)
				l.sent("a", time.Hour)
				l.failWith(nil)
				test.then(l)
				if got := strings.Join(l.sent("a", 2*time.Minute), "\n"); test.want == "" && got != "" || !strings.Contains(got, test.want) {
					t.Errorf("got %q, want %q", got, test.want)
				}
			})
		})
	}
}

// An end is not only counted, if the begin was named; a begin that was only counted has no end.
func TestEndsAreNotOnlyCounted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, Route{Receiver: "a", GroupWait: time.Second, Events: []string{"guest.*"}})
		fail := func(from, to int) {
			for vmid := from; vmid < to; vmid++ {
				l.failed(vmid)
				synctest.Wait()
			}
			l.sent("a", time.Minute)
		}
		fail(100, 100+maxGroup+10)
		fail(200, 230)
		for _, vmids := range [][2]int{{100, 100 + maxGroup + 10}, {200, 230}} {
			for vmid := vmids[0]; vmid < vmids[1]; vmid++ {
				l.tell(event.GuestSucceeded, "vmid", vmid, "guest", fmt.Sprintf("VirtualMachine/web-%d", vmid), "op", "start")
				synctest.Wait()
			}
		}
		got := strings.Join(l.sent("a", time.Hour), "\n")
		if n := strings.Count(got, "has succeeded"); n != maxGroup+30 || strings.Contains(got, "more, ") {
			t.Errorf("got %d ends, more counted: %v; want those of the %d guests that were named", n, strings.Contains(got, "more, "), maxGroup+30)
		}
	})
}

// The same is true if the service takes one short message of a group.
func TestEndsOfAShortMessage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		long := strings.Repeat("x", 300)
		route := Route{Receiver: "a", GroupWait: time.Second}
		l := newLab(t)
		s := l.settings(route)
		s.Receivers[0].Kind = Ntfy
		l.n.Configure(s)
		for vmid := 100; vmid < 140; vmid++ {
			l.tell(event.GuestFailed, "vmid", vmid, "guest", fmt.Sprintf("VirtualMachine/web-%d", vmid), "op", "start", "error", "busy")
		}
		begins := strings.Join(l.sent("a", time.Minute), "\n")
		for vmid := 100; vmid < 140; vmid++ {
			l.tell(event.GuestSucceeded, "vmid", vmid, "guest", fmt.Sprintf("VirtualMachine/web-%d", vmid), "op", long)
		}
		ends := strings.Join(l.sent("a", time.Hour), "\n")
		named := strings.Count(begins, "could not be brought in sync")
		if got := strings.Count(ends, "has succeeded"); named < 30 || got != named || strings.Contains(ends, "could not") {
			t.Errorf("got %d ends for %d failures, want as many: %q", got, named, ends)
		}
	})
}

// An event ends what another event began that ended a problem itself: the receiver gets the newest one alone.
func TestEndOfWhatEndedAProblem(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, Route{Receiver: "a", Events: []string{string(event.RevisionWaiting)}, GroupWait: time.Second})
		l.tell(event.RevisionWaiting, "commit", "a1", "reason", "evidence", "error", "none", "hint", "wait")
		if got := l.sent("a", time.Minute); len(got) != 1 {
			t.Fatalf("got %q, want the begin", got)
		}
		l.tell(event.RevisionRefused, "commit", "a1", "reason", "unsigned", "error", "no signature")
		l.tell(event.RevisionAccepted, "revision", "b2", "signer", "ann")
		if got := l.sent("a", time.Hour); len(got) != 1 || !strings.Contains(got[0], "is in force") {
			t.Errorf("got %q, want the revision in force", got)
		}
	})
}

// A receiver with two routes that select an event gets it once, by the route that sends it first.
func TestEventIsSentOnceToAReceiver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { // it begins at midnight UTC
		night := []QuietHours{{From: 22 * time.Hour, Until: 7 * time.Hour, Location: time.UTC}}
		l := newLab(t, Route{Receiver: "a", Quiet: night}, Route{Receiver: "a", Guests: []string{"VirtualMachine/web-101"}})
		l.failed(101)
		l.failed(102)
		if got := l.sent("a", time.Minute); len(got) != 1 || !strings.Contains(got[0], "web-101") {
			t.Errorf("got %q at night, want the first guest", got)
		}
		if got := l.sent("a", 12*time.Hour); len(got) != 1 || strings.Contains(got[0], "web-101") {
			t.Errorf("got %q in the morning, want the second guest", got)
		}
	})
}
