package notify

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gitops-agent/reconcile/event"
)

// What a receiver did not take is sent after a restart if it still holds, also if it refused the message before, and nothing is sent that it took.
func TestRestartKeepsWhatIsOwed(t *testing.T) {
	t.Parallel()
	certain := &untakenError{errors.New("no connection")}
	for name, test := range map[string]struct {
		fails                             error // of the receiver until the restart
		takesBegin, endsBefore, endsAfter bool
		want                              int
	}{
		"begin not taken":                               {fails: certain, want: 1},
		"begin refused":                                 {fails: &permanentError{errors.New("status 404")}, want: 1},
		"begin without an answer":                       {fails: errHangs, want: 1},
		"begin not taken, over meanwhile":               {fails: certain, endsAfter: true},
		"begin not taken, over before the stop":         {fails: certain, endsBefore: true},
		"begin without an answer, over meanwhile":       {fails: errHangs, endsAfter: true, want: 1},
		"begin without an answer, over before the stop": {fails: errHangs, endsBefore: true, want: 1},
		"begin taken":                                   {fails: certain, takesBegin: true},
		"begin taken, over meanwhile":                   {fails: certain, takesBegin: true, endsAfter: true, want: 1},
		"begin taken, end not taken":                    {fails: certain, takesBegin: true, endsBefore: true, want: 1},
		"begin taken, end refused":                      {fails: &permanentError{errors.New("status 404")}, takesBegin: true, endsBefore: true, want: 1},
		"begin taken, end without an answer":            {fails: errHangs, takesBegin: true, endsBefore: true, want: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				file := filepath.Join(t.TempDir(), "notifications.json")
				route := Route{Receiver: "a", Events: []string{string(event.RootExpired)}, GroupWait: time.Second}
				l := newLab(t)
				lasts := bestReport()
				lasts.Source.RootExpired = true
				l.reports(lasts)
				stop := l.start(t, file, route)
				if !test.takesBegin {
					l.failWith(test.fails)
				}
				l.tell(event.RootExpired, "expired", "2026-01-01") // no event tells it once more after the restart
				l.sent("a", 2*time.Second)
				l.failWith(test.fails)
				if test.endsBefore {
					l.tell(event.RootRenewed, "expires", "2027-01-01")
					l.sent("a", 2*time.Second)
				}
				stop()
				l.failWith(nil)
				if test.endsBefore || test.endsAfter {
					l.reports(bestReport())
				}
				defer l.start(t, file, route)()
				if got := l.sent("a", 5*time.Minute); len(got) != test.want {
					t.Errorf("got %q after the restart, want %d messages", got, test.want)
				}
				if got := l.sent("a", 48*time.Hour); len(got) != 0 {
					t.Errorf("got %q later, want nothing", got)
				}
			})
		})
	}
}

// An end that no receiver takes is kept for a week, also over restarts.
func TestEndIsKeptForAWeek(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		away time.Duration
		want int
	}{"six days": {6 * 24 * time.Hour, 1}, "eight days": {8 * 24 * time.Hour, 0}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				file := filepath.Join(t.TempDir(), "notifications.json")
				route := Route{Receiver: "a", GroupWait: time.Second}
				l := newLab(t)
				l.reports(bestReport())
				stop := l.start(t, file, route)
				l.failed(101)
				l.sent("a", time.Minute)
				l.failWith(&untakenError{errors.New("no connection")})
				l.tell(event.GuestSucceeded, "vmid", 101, "guest", "VirtualMachine/web-101", "op", "start")
				time.Sleep(test.away)
				stop()
				l.failWith(nil)
				defer l.start(t, file, route)()
				if got := l.sent("a", time.Hour); len(got) != test.want {
					t.Errorf("got %q, want %d messages", got, test.want)
				}
			})
		})
	}
}

// A disk that hangs delays a begin by three seconds at most, and the end of the agent too. Many events are few writes.
func TestDiskThatHangs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t)
		hangs, writes := make(chan struct{}), 0
		defer close(hangs)
		l.n = New(Options{Report: l.newest, File: "x", OnResult: func(r Result) { l.mu.Lock(); defer l.mu.Unlock(); l.results[r]++ }})
		l.n.write = func(string, []byte, fs.FileMode) error {
			if writes++; writes > 3 {
				<-hangs
			}
			return nil
		}
		l.events = event.NewSink(l.n.opts.Logger, l.n.Event)
		l.n.Configure(l.settings(Route{Receiver: "a", GroupWait: time.Second}))
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { defer close(ended); l.n.Run(ctx) }()
		for i := range 600 {
			l.failed(200 + i)
			time.Sleep(time.Millisecond)
		}
		if got := l.sent("a", 2*time.Second); len(got) != 1 || writes > 3 || l.result(Dropped) > 0 {
			t.Errorf("got %d messages, %d writes and %d events dropped, want one, at most three and none", len(got), writes, l.result(Dropped))
		}
		for i := range 5 {
			l.failed(1000 + i)
			if got := l.sent("a", time.Second+diskWait); len(got) != 1 {
				t.Errorf("got %q while the disk hangs, want the failure", got)
			}
		}
		before := time.Now()
		cancel()
		<-ended
		if took := time.Since(before); took > endTimeout+diskWait {
			t.Errorf("the end took %s", took)
		}
	})
}

// A begin leaves when the file has it, so that a crash after it does not lose the end.
func TestBeginIsWrittenBeforeItLeaves(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t)
		l.n = New(Options{Report: l.newest, File: "x"})
		var written string
		l.n.write = func(_ string, content []byte, _ fs.FileMode) error {
			time.Sleep(2 * time.Second)
			l.mu.Lock()
			defer l.mu.Unlock()
			written = string(content)
			return nil
		}
		l.events = event.NewSink(l.n.opts.Logger, l.n.Event)
		s := l.settings(Route{Receiver: "a"})
		send := s.Receivers[0].send
		s.Receivers[0].send = func(ctx context.Context, m Message) error {
			l.mu.Lock()
			if !strings.Contains(written, "web-101") {
				t.Error("the begin left before it was written")
			}
			l.mu.Unlock()
			return send(ctx, m)
		}
		l.n.Configure(s)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { defer close(ended); l.n.Run(ctx) }()
		l.failed(101)
		if got := l.sent("a", time.Minute); len(got) != 1 {
			t.Errorf("got %q, want the begin", got)
		}
		cancel()
		<-ended
	})
}

// The file is bounded in bytes, and the newest problems are those that it keeps.
func TestMemoryIsBounded(t *testing.T) {
	t.Parallel()
	var list []remembered
	for i := range 1000 {
		long := event.Texts{"vmid": fmt.Sprint(i), "error": strings.Repeat("x", 32<<10)}
		list = append(list, remembered{Begin: Event{Name: event.GuestFailed, Time: time.Unix(int64(i), 0), Attributes: long}, Told: map[string]told{"a": {IsOpen: true}}})
	}
	content, err := contentOf(list)
	if err != nil || len(content) > maxMemory || len(content) < maxMemory/2 {
		t.Fatalf("got %d bytes and %v, want up to %d", len(content), err, maxMemory)
	}
	file := filepath.Join(t.TempDir(), "notifications.json")
	if err := os.WriteFile(file, content, 0o600); err != nil {
		t.Fatal(err)
	}
	read, err := readMemory(file)
	if err != nil || len(read) == 0 || read[0].Begin.Attributes["vmid"] != "999" {
		t.Errorf("got %d problems and %v, want the newest first", len(read), err)
	}
	other, err := json.Marshal(fileContent{Version: memoryVersion + 1})
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{"newer": string(other), "before there was a version": `[{"Name":"guest.failed","Sent":{"a":"2026-11-01T00:00:00Z"}}]`} {
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := readMemory(file); err == nil {
			t.Errorf("%s: got no error, want one", name)
		}
		if got := (&memory{file: file, log: slog.New(slog.DiscardHandler)}).load(); len(got) != 0 {
			t.Errorf("%s: got %d problems, want the agent to go on with none", name, len(got))
		}
	}
}

// The problems are bounded in number: the oldest one is forgotten.
func TestProblemsAreBounded(t *testing.T) {
	t.Parallel()
	dropped := 0
	d := &dispatcher{Notifier: New(Options{OnResult: func(Result) { dropped++ }}), problems: map[string]*problem{}, touched: make(chan struct{}, 1)}
	for i := range maxProblems + 10 {
		e := Event{Name: event.GuestFailed, Time: time.Unix(int64(i), 0), Attributes: event.Texts{"vmid": fmt.Sprint(i)}}
		d.begin(&news{Event: e, text: "x"})
	}
	if len(d.problems) != maxProblems || dropped != 10 || d.problems[problemKey(Event{Name: event.GuestFailed, Attributes: event.Texts{"vmid": "9"}})] != nil {
		t.Errorf("got %d problems and %d dropped, want %d and the oldest 10 dropped", len(d.problems), dropped, maxProblems)
	}
}

// After a crash it is not known whether an end was taken that the file has as owed: the same begin is sent once more.
func TestBeginAfterACrashThatFollowedItsEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "notifications.json")
		route := Route{Receiver: "a", GroupWait: time.Second}
		l := newLab(t)
		stop := l.start(t, file, route)
		l.failed(101)
		l.sent("a", time.Hour)
		l.failWith(&untakenError{errors.New("no connection")})
		l.tell(event.GuestSucceeded, "vmid", 101, "guest", "VirtualMachine/web-101", "op", "start")
		l.sent("a", time.Minute)
		before, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		l.failWith(nil)
		if got := l.sent("a", time.Hour); len(got) != 1 {
			t.Fatalf("got %q, want the end", got)
		}
		stop()
		if err := os.WriteFile(file, before, 0o600); err != nil { // as if the agent had not written after it
			t.Fatal(err)
		}
		defer l.start(t, file, route)()
		l.failed(101)
		if got := l.sent("a", time.Hour); len(got) != 1 || strings.Contains(got[0], "has succeeded") {
			t.Errorf("got %q, want the failure", got)
		}
	})
}

// One event that ended several problems is sent once after a restart.
func TestOneEndOfSeveralProblems(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "notifications.json")
		route := Route{Receiver: "a", GroupWait: time.Second}
		l := newLab(t)
		stop := l.start(t, file, route)
		l.failed(101)
		l.failed(102)
		l.sent("a", time.Minute)
		l.failWith(&untakenError{errors.New("no connection")})
		l.tell(event.RevisionConverged, "revision", "a1", "duration", time.Minute)
		l.sent("a", time.Minute)
		stop()
		l.failWith(nil)
		defer l.start(t, file, route)()
		if got := l.sent("a", time.Hour); len(got) != 1 || strings.Count(got[0], "Every guest is in sync") != 1 {
			t.Errorf("got %q, want one end", got)
		}
	})
}
