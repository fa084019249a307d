package notify

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/event"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/report"
)

// lab is a notifier whose receivers note what they get.
type lab struct {
	n      *Notifier
	events *event.Sink // of the engine
	out    *bytes.Buffer

	mu      sync.Mutex
	report  report.Report
	got     map[string][]string // texts by receiver
	results map[Result]int
	fail    map[string]error
	refused string // part of the text of messages that no receiver takes
}

// newLab runs a notifier until the test ends. It must be called in a bubble of synctest.
func newLab(t *testing.T, routes ...Route) *lab {
	t.Helper()
	l := &lab{out: &bytes.Buffer{}, got: map[string][]string{}, results: map[Result]int{}, fail: map[string]error{}}
	t.Cleanup(l.start(t, "", routes...))
	return l
}

// start runs a notifier with a file until the returned function is called.
func (l *lab) start(t *testing.T, file string, routes ...Route) (stop func()) {
	t.Helper()
	l.n = New(Options{Report: l.newest, File: file, OnResult: func(r Result) { l.mu.Lock(); defer l.mu.Unlock(); l.results[r]++ }})
	l.events = event.NewSink(slog.New(slog.NewTextHandler(l.out, nil)), l.n.Event)
	l.n.Configure(l.settings(routes...))
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); l.n.Run(ctx) }()
	synctest.Wait()
	return func() { cancel(); <-ended }
}

// reports replaces the newest report.
func (l *lab) reports(r report.Report) { l.mu.Lock(); defer l.mu.Unlock(); l.report = r }

func (l *lab) newest() report.Report { l.mu.Lock(); defer l.mu.Unlock(); return l.report }

func (l *lab) settings(routes ...Route) Settings {
	s := Settings{Cluster: "home", Routes: routes}
	for _, name := range []string{"a", "b"} {
		s.Receivers = append(s.Receivers, NewReceiver(Receiver{Name: name, Kind: Email, send: func(ctx context.Context, m Message) error { return l.take(ctx, name, m) }}))
	}
	return s
}

// failWith makes the receiver a fail with err from now on, or succeed if err is nil.
func (l *lab) failWith(err error) { l.mu.Lock(); defer l.mu.Unlock(); l.fail["a"] = err }

// result returns how many messages had a result.
func (l *lab) result(r Result) int { l.mu.Lock(); defer l.mu.Unlock(); return l.results[r] }

var errHangs = errors.New("hangs")

func (l *lab) take(ctx context.Context, name string, m Message) error {
	l.mu.Lock()
	err := l.fail[name]
	if l.refused != "" && strings.Contains(m.Body(), l.refused) {
		err = errors.New("the service does not take it")
	}
	l.mu.Unlock()
	if errors.Is(err, errHangs) {
		<-ctx.Done()
		return ctx.Err()
	}
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.got[name] = append(l.got[name], m.Body())
	return nil
}

// sent returns what a receiver got after a time, and forgets it.
func (l *lab) sent(name string, after time.Duration) []string {
	time.Sleep(after)
	synctest.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	got := l.got[name]
	delete(l.got, name)
	return got
}

// tell makes an event happen.
func (l *lab) tell(name event.Name, fields ...any) {
	l.events.Happened(name, event.Details{Fields: fields})
}

func (l *lab) held(digest string) {
	const vmid = 101
	l.tell(event.StepHeld, "vmid", vmid, "guest", fmt.Sprintf("VirtualMachine/web-%d", vmid), "op", "destroy", "reason", "approval", "digest", digest, "why", "it destroys the guest")
}

func (l *lab) failed(vmid int) {
	l.tell(event.GuestFailed, "vmid", vmid, "guest", fmt.Sprintf("VirtualMachine/web-%d", vmid), "op", "start", "error", errors.New("no space"))
}

func TestEventsBecomeSentences(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, Route{Receiver: "a", GroupWait: time.Millisecond})
		l.held("4f1c")
		l.failed(102)
		l.tell(event.RevisionRefused, "commit", strings.Repeat("a1", 20), "reason", "unsigned", "error", "no signature", "hint", "git commit -S")
		want := []string{"The step destroy of VirtualMachine/web-101 (101) is held (approval): it destroys the guest. To release it: gitops-agent approve 4f1c\n" +
			"VirtualMachine/web-102 (102) could not be brought in sync, the step start failed: no space.\n" +
			"Commit a1a1a1a1a1a1 was refused (unsigned): no signature. What to do: git commit -S"}
		if diff := cmp.Diff(want, l.sent("a", time.Second)); diff != "" {
			t.Errorf("message (-want +got):\n%s", diff)
		}
		if lines := strings.Count(l.out.String(), "\n"); lines != 3 {
			t.Errorf("got %d lines in the log, want all 3", lines)
		}
	})
}

// The text of every event is formatted completely, without a verb of fmt such as %!s, and ends like a sentence.
func TestEveryEventHasText(t *testing.T) {
	t.Parallel()
	for _, name := range append(event.Names(), Test) {
		e := Event{Name: name, Guest: "Container/dns", Attributes: map[string]string{"vmid": "210", "guest": "Container/dns", "revision": "main@sha1:" + strings.Repeat("0a", 20)}}
		if text := Text(e); !strings.HasSuffix(text, ".") || strings.Contains(text, "%!") {
			t.Errorf("%s: got %q, want a sentence", name, text)
		}
	}
}

func TestRoutesSelect(t *testing.T) {
	t.Parallel()
	held := Event{Name: event.StepHeld, Severity: Warning, Guest: "VirtualMachine/web-1", Tags: []string{"production"}}
	begun := Event{Name: event.StepBegun, Severity: Info, Guest: "VirtualMachine/web-1"}
	refused := Event{Name: event.RevisionRefused, Severity: Warning}
	tests := map[string]struct {
		route                Route
		held, begun, refused bool
	}{
		"default":     {Route{}, true, false, true},
		"every_event": {Route{Events: []string{"*"}}, true, true, true},
		"pattern":     {Route{Events: []string{"step.*"}}, true, true, false},
		"warnings":    {Route{Events: []string{"*"}, Severity: Warning}, true, false, true},
		"errors":      {Route{Events: []string{"*"}, Severity: Error}, false, false, false},
		"guests":      {Route{Events: []string{"*"}, Guests: []string{"VirtualMachine/web-*"}}, true, true, false},
		"others":      {Route{Events: []string{"*"}, Guests: []string{"Container/*"}}, false, false, false},
		"tags":        {Route{Events: []string{"*"}, Tags: []string{"test", "production"}}, true, false, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := []bool{test.route.selects(held), test.route.selects(begun), test.route.selects(refused)}
			if diff := cmp.Diff([]bool{test.held, test.begun, test.refused}, got); diff != "" {
				t.Errorf("held, begun, refused (-want +got):\n%s", diff)
			}
		})
	}
}

func TestGroupsAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, Route{Receiver: "a", GroupWait: 10 * time.Second}, Route{Receiver: "b", GroupWait: time.Second})
		for vmid := range 60 {
			l.failed(100 + vmid)
			synctest.Wait()
		}
		if got := l.sent("a", 9*time.Second); len(got) != 0 {
			t.Errorf("got %d messages within group_wait, want none", len(got))
		}
		got := l.sent("a", 2*time.Second)
		if len(got) != 1 || strings.Count(got[0], "could not be brought in sync") != 50 || !strings.Contains(got[0], "and 10 more, ") {
			t.Errorf("got %q, want one message with 50 events and the count of 10 more", got)
		}
		if got := l.sent("b", 0); len(got) != 1 {
			t.Errorf("got %d messages for the other route, want 1", len(got))
		}
	})
}

func TestProblemsAreRepeatedUntilTheyEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, Route{Receiver: "a", RepeatInterval: 4 * time.Hour})
		web := report.Guest{GuestName: report.GuestName{Kind: guest.VirtualMachine, Name: "web-101", VMID: 101}, Sync: report.OutOfSync, Held: []report.HeldStep{{Op: cluster.OpDestroy}}}
		l.mu.Lock()
		l.report.Guests = []report.Guest{web}
		l.mu.Unlock()
		l.held("4f1c")
		if got := l.sent("a", time.Second); len(got) != 1 {
			t.Fatalf("got %d messages, want 1", len(got))
		}
		l.n.Configure(l.settings(Route{Receiver: "a", RepeatInterval: 4 * time.Hour}))
		l.held("4f1c") // as after a reload
		if got := l.sent("a", 3*time.Hour); len(got) != 0 {
			t.Errorf("got %q after a reload, want nothing", got)
		}
		if got := l.sent("a", 2*time.Hour); len(got) != 1 || !strings.HasPrefix(got[0], "Still: The step destroy") {
			t.Errorf("got %q after five hours, want the hold once more", got)
		}
		l.held("77aa")
		if got := l.sent("a", time.Second); len(got) != 1 || !strings.Contains(got[0], "approve 77aa") {
			t.Errorf("got %q for another digest, want a message at once", got)
		}
		l.tell(event.StepReleased, "vmid", 101, "guest", "VirtualMachine/web-101", "op", "destroy", "reason", "approval")
		if got := l.sent("a", 48*time.Hour); len(got) != 1 || !strings.Contains(got[0], "was released") {
			t.Errorf("got %q after the release, want the release alone", got)
		}
		// A refused head that was removed from the branch ends without an event.
		l.reports(report.Report{Time: time.Now(), Source: report.Source{LastSuccess: time.Now(), Refused: &report.Refused{}}})
		l.tell(event.RevisionRefused, "commit", "a1", "reason", "unsigned", "error", "no signature")
		if got := l.sent("a", 5*time.Hour); len(got) != 2 {
			t.Errorf("got %q, want the refusal twice", got)
		}
		l.reports(report.Report{Time: time.Now(), Source: report.Source{LastSuccess: time.Now()}})
		if got := l.sent("a", 48*time.Hour); len(got) != 1 || !strings.Contains(got[0], "is not the head of the branch any more") {
			t.Errorf("got %q after the head was removed, want its end", got)
		}
	})
}

func TestQuietHours(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { // it begins at midnight UTC, on a Saturday
		l := newLab(t, Route{Receiver: "a", Quiet: []QuietHours{{From: 22 * time.Hour, Until: 7 * time.Hour, Location: time.UTC}}})
		l.failed(101)
		l.tell(event.JournalFailed, "reason", "disk-full", "error", "no space left")
		if got := l.sent("a", time.Hour); len(got) != 1 || !strings.Contains(got[0], "disk-full") || strings.Contains(got[0], "web-101") {
			t.Errorf("got %q at night, want the error alone", got)
		}
		l.failed(102)
		if got := l.sent("a", 6*time.Hour+time.Second); len(got) != 1 || strings.Count(got[0], "\n") != 1 {
			t.Errorf("got %q in the morning, want both guests in one message", got)
		}
		l.failed(103)
		if got := l.sent("a", time.Second); len(got) != 1 {
			t.Errorf("got %q by day, want a message at once", got)
		}
	})
}

func TestQuietHoursOfDays(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		zone  string
		cases map[string]string
	}{
		"the clock changes in the night": {"Europe/Berlin", map[string]string{
			"2026-03-28T21:00:00+01:00": "2026-03-28T21:00:00+01:00",
			"2026-03-28T23:00:00+01:00": "2026-03-29T07:00:00+02:00",
			"2026-03-29T06:59:00+02:00": "2026-03-29T07:00:00+02:00",
			"2026-03-29T07:00:00+02:00": "2026-03-29T07:00:00+02:00",
			"2026-03-29T23:00:00+02:00": "2026-03-29T23:00:00+02:00", // on a Sunday
		}},
		"the day has no midnight": {"America/Santiago", map[string]string{
			"2026-09-05T23:00:00-04:00": "2026-09-06T07:00:00-03:00",
			"2026-09-06T12:00:00-03:00": "2026-09-06T12:00:00-03:00",
			"2026-09-06T23:00:00-03:00": "2026-09-06T23:00:00-03:00", // on a Sunday
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			zone, err := time.LoadLocation(test.zone)
			if err != nil {
				t.Fatal(err)
			}
			r := Route{Quiet: []QuietHours{{From: 22 * time.Hour, Until: 7 * time.Hour, Days: []time.Weekday{time.Saturday}, Location: zone}}}
			for at, want := range test.cases {
				now, err := time.Parse(time.RFC3339, at)
				if err != nil {
					t.Fatal(err)
				}
				if got := r.sendAt(Event{Severity: Warning}, now).In(zone).Format(time.RFC3339); got != want {
					t.Errorf("%s: got %s, want %s", at, got, want)
				}
			}
		})
	}
}

func TestDeliveryIsRetriedAndBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, Route{Receiver: "a"}, Route{Receiver: "b"})
		l.failWith(errors.New("connection refused"))
		l.failed(101)
		if got := l.sent("b", time.Second); len(got) != 1 {
			t.Errorf("got %q for the other receiver, want it not to wait", got)
		}
		time.Sleep(10 * time.Minute)
		l.failWith(nil)
		if got := l.sent("a", 10*time.Minute); len(got) != 1 || l.result(Retried) < 5 || l.result(Retried) > 20 {
			t.Errorf("got %q after %d retries, want one message after a few", got, l.result(Retried))
		}
		l.failWith(&permanentError{errors.New("status 404")})
		retried := l.result(Retried)
		l.failed(102)
		if l.sent("b", time.Second); l.result(Failed) != 1 || l.result(Retried) != retried {
			t.Errorf("got %d failed and %d retried, want 1 and %d: a permanent error is not retried", l.result(Failed), l.result(Retried), retried)
		}
		l.failWith(errHangs)
		for vmid := range 200 {
			l.failed(1000 + vmid)
			l.sent("b", time.Second)
		}
		if dropped := l.result(Dropped); dropped < 100 || dropped > 200 {
			t.Errorf("got %d messages dropped for a receiver that hangs, want those beyond the queue", dropped)
		}
	})
}

// Messages that a service does not take are retried, and no other message waits for them.
func TestMessageThatCannotBeSentIsInFrontOfNoOther(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, Route{Receiver: "a"})
		l.refused = "web-1"
		for vmid := range 3 {
			l.failed(100 + vmid)
			l.sent("a", time.Second)
		}
		for range 3 {
			l.tell(event.ClusterLost, "reason", "unreachable", "error", "no route to host")
			if got := l.sent("a", 0); len(got) != 1 || !strings.Contains(got[0], "unreachable") {
				t.Errorf("got %q, want the loss of the cluster at once", got)
			}
			l.tell(event.ClusterReady)
			l.sent("a", time.Minute)
		}
		for vmid := range 2 * maxQueued { // also if they fill the queue
			l.failed(100 + vmid%100)
			l.sent("a", time.Second)
		}
		l.failed(200)
		if got := l.sent("a", 0); len(got) != 1 || !strings.Contains(got[0], "web-200") {
			t.Errorf("got %q, want the newest message", got)
		}
		if l.result(Dropped) == 0 || l.result(Sent) != 7 {
			t.Errorf("got %d dropped and %d sent, want messages that failed to be dropped, and 7 sent: three losses of the cluster, their ends, and the newest", l.result(Dropped), l.result(Sent))
		}
		l.mu.Lock()
		l.refused = ""
		l.mu.Unlock()
		if got := l.sent("a", 10*time.Minute); len(got) < maxQueued/2 {
			t.Errorf("got %d messages after the service takes them, want all that wait", len(got))
		}
	})
}

// After an outage messages arrive in their order, whether a new one or a retry finds that the receiver answers again.
func TestMessagesArriveInOrderAfterAnOutage(t *testing.T) {
	t.Parallel()
	for _, isNew := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			l := newLab(t, Route{Receiver: "a"})
			l.failWith(errors.New("connection refused"))
			for vmid := range 5 {
				l.failed(100 + vmid)
				l.sent("a", 3*time.Minute)
			}
			l.failWith(nil)
			last := 5
			if isNew {
				l.failed(105)
				last++
			}
			got := l.sent("a", 10*time.Minute)
			if len(got) != last {
				t.Fatalf("got %q, want %d messages", got, last)
			}
			for i, text := range got {
				if !strings.Contains(text, fmt.Sprintf("web-%d", 100+i)) {
					t.Errorf("message %d: got %q, want the guests in order", i, text)
				}
			}
		})
	}
}

// What waits is sent when the agent ends, within three seconds.
func TestEndOfTheAgentIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := &lab{out: &bytes.Buffer{}, got: map[string][]string{}, results: map[Result]int{}, fail: map[string]error{"b": errHangs}}
		l.n = New(Options{Report: l.newest})
		l.events = event.NewSink(slog.New(slog.NewTextHandler(l.out, nil)), l.n.Event)
		l.n.Configure(l.settings(Route{Receiver: "a", GroupWait: time.Hour}, Route{Receiver: "b"}))
		ctx, cancel := context.WithCancel(t.Context())
		l.failed(101)
		cancel()
		begun := time.Now()
		l.n.Run(ctx)
		if took := time.Since(begun); took != endTimeout {
			t.Errorf("got %s until the end, want 3 s", took)
		}
		if len(l.got["a"]) != 1 {
			t.Errorf("got %q, want what waited", l.got["a"])
		}
	})
}

// The engine does not wait for a dispatcher that does nothing, and what does not fit is counted.
func TestHandOverDoesNotWait(t *testing.T) {
	t.Parallel()
	dropped := 0
	n := New(Options{Report: func() report.Report { return report.Report{} }, OnResult: func(Result) { dropped++ }})
	n.Configure(Settings{Routes: []Route{{Receiver: "a"}}})
	events := event.NewSink(slog.New(slog.DiscardHandler), n.Event)
	for range maxHanded + 10 {
		events.Happened(event.StepHeld, event.Details{Fields: []any{"vmid", 101}})
	}
	if dropped != 10 {
		t.Errorf("got %d events dropped, want 10", dropped)
	}
	events.Happened(event.WritesStopped, event.Details{Fields: []any{"reason", "stopping"}})
	if dropped != 10 {
		t.Error("got an event about an ordinary end, want none")
	}
}

// BenchmarkEvent measures what the engine spends on an event: without notifications, with a receiver that takes every message, and with one
// that does not answer.
func BenchmarkEvent(b *testing.B) {
	receivers := map[string]func(context.Context, Message) error{
		"reachable":   func(context.Context, Message) error { return nil },
		"unreachable": func(ctx context.Context, _ Message) error { <-ctx.Done(); return ctx.Err() },
	}
	for _, name := range []string{"none", "reachable", "unreachable"} {
		b.Run(name, func(b *testing.B) {
			n := New(Options{Report: func() report.Report { return report.Report{} }})
			if send := receivers[name]; send != nil {
				n.Configure(Settings{Receivers: []Receiver{NewReceiver(Receiver{Name: "a", Kind: Ntfy, send: send})}, Routes: []Route{{Receiver: "a"}}})
			}
			ctx, cancel := context.WithCancel(b.Context())
			ended := make(chan struct{})
			go func() { defer close(ended); n.Run(ctx) }()
			events := event.NewSink(slog.New(slog.NewJSONHandler(&bytes.Buffer{}, &slog.HandlerOptions{Level: slog.LevelError})), n.Event)
			b.ReportAllocs()
			for b.Loop() {
				events.Happened(event.StepHeld, event.Details{Fields: []any{"vmid", 101, "guest", "VirtualMachine/web-1", "op", "destroy", "reason", "approval", "why", "it destroys the guest"}})
			}
			cancel()
			b.StopTimer()
			<-ended
		})
	}
}

// The hour of a message begins when it is queued, not when the messages before it are done with. What still exists after it is sent as one message.
func TestMessagesOfADeadReceiverDoNotWaitForEachOther(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, Route{Receiver: "a"})
		l.failWith(errors.New("connection refused"))
		for vmid := range 10 {
			l.failed(100 + vmid)
			l.sent("a", time.Second)
		}
		l.sent("a", giveUp+2*lastRetry)
		failed := l.result(Failed)
		l.failWith(nil)
		if got := l.sent("a", 12*time.Hour); failed != 10 || len(got) != 1 || strings.Count(got[0], "\n") != 9 {
			t.Errorf("got %d failed messages, and %q later, want all 10 failed after an hour, and one message of what still exists", failed, got)
		}
	})
}

// A webhook takes one event in a request, so it cannot get the count of those beyond the bound of a group.
func TestEventsBeyondAGroupOfAWebhookAreCounted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, Route{Receiver: "a", GroupWait: time.Minute})
		s := l.settings(Route{Receiver: "a", GroupWait: time.Minute})
		s.Receivers[0].Kind = Webhook
		l.n.Configure(s)
		synctest.Wait()
		for vmid := range maxGroup + 10 {
			l.failed(100 + vmid)
			synctest.Wait()
		}
		if got := l.sent("a", 2*time.Minute); len(got) != maxGroup || l.result(Sent) != maxGroup || l.result(Dropped) != 10 {
			t.Errorf("got %d messages, %d sent and %d dropped, want 50 sent and 10 dropped", len(got), l.result(Sent), l.result(Dropped))
		}
	})
}

func TestReloadKeepsQuietHours(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { // it begins at midnight UTC
		night := Route{Receiver: "a", Quiet: []QuietHours{{From: 22 * time.Hour, Until: 7 * time.Hour, Location: time.UTC}}}
		l := newLab(t, night)
		l.failed(101)
		l.sent("a", time.Hour)
		l.n.Configure(l.settings(night))
		if got := l.sent("a", time.Hour); len(got) != 0 {
			t.Errorf("got %q at a reload at night, want nothing", got)
		}
		l.failed(102)
		if got := l.sent("a", 6*time.Hour); len(got) != 1 || strings.Count(got[0], "\n") != 1 {
			t.Errorf("got %q in the morning, want both guests in one message", got)
		}
	})
}
