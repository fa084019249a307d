package event

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// heard is a sink whose events are noted, as name and fields.
type heard struct {
	*Sink
	lines []string
}

func newHeard() *heard {
	h := &heard{}
	h.Sink = NewSink(slog.New(slog.DiscardHandler), nil, func(e Event) {
		words := []string{string(e.Name)}
		for _, a := range e.Fields {
			words = append(words, a.String())
		}
		h.lines = append(h.lines, strings.Join(words, " "))
	})
	return h
}

// want fails unless exactly these events were told since the last call.
func (h *heard) want(t *testing.T, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, h.lines); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	h.lines = nil
}

func fields(pairs ...any) func() Details { return func() Details { return Details{Fields: pairs} } }

func TestSingleState(t *testing.T) {
	t.Parallel()
	h := newHeard()
	s := h.Subject()
	writes := func(reason string) {
		s.Is(WritesStopped, reason != "", ID{reason}, fields("reason", reason, "why", "it is so"), func(was ID) Details { return Details{Fields: []any{"revision", "after " + was[0]}} })
	}
	s.Assume(WritesStopped, ID{"no-revision"})
	writes("no-revision") // as before
	h.want(t)
	writes("paused")
	writes("paused")
	h.want(t, "writes.stopped reason=paused why=it is so")
	writes("")
	writes("")
	h.want(t, "writes.allowed revision=after paused")
	s.Mute(GuestDrifted, ID{})
	if s.Since(GuestDrifted).IsZero() {
		t.Error("got no begin of a state that is not told, want it remembered")
	}
	s.Is(GuestDrifted, false, ID{}, nil, nil)
	h.want(t)
	if !s.Since(GuestDrifted).IsZero() {
		t.Error("got a begin of a state that is over, want none")
	}
}

// The end of a state has the fields of its row, as they were when the state began. A state without a row is remembered and not told.
func TestSeveralStates(t *testing.T) {
	t.Parallel()
	h := newHeard()
	s := h.Subject()
	hold := func(op, digest string) {
		s.Lasts(StepHeld, ID{op, digest}, fields("vmid", 7, "guest", "Container/a", "op", op, "reason", "approval", "digest", digest, "hint", "", "why", "it destroys"))
	}
	over := func(id ID) Name {
		if id[0] == "start" {
			return ""
		}
		return StepWithdrawn
	}
	hold("destroy", "d1")
	hold("start", "")
	s.Rest(StepHeld, over)
	hold("destroy", "d1")
	s.Keep(StepHeld, "start")
	s.Rest(StepHeld, over)
	h.want(t, "step.held vmid=7 guest=Container/a op=destroy reason=approval digest=d1 why=it destroys", "step.held vmid=7 guest=Container/a op=start reason=approval why=it destroys")
	s.Rest(StepHeld, over)
	s.Rest(StepHeld, over)
	h.want(t, "step.withdrawn vmid=7 guest=Container/a op=destroy reason=approval digest=d1")
	if !s.Lasts(PlannedStep, ID{"a"}, nil) || s.Lasts(PlannedStep, ID{"a"}, nil) {
		t.Error("got no new step, and then one, want the opposite")
	}
	s.Rest(PlannedStep, nil)
	s.Rest(PlannedStep, nil)
	if !s.Lasts(PlannedStep, ID{"a"}, nil) {
		t.Error("got a step that is over as known, want it new")
	}
	hold("stop", "d2")
	s.Drop(StepHeld, ID{"stop", "d1"})
	s.Drop(StepHeld, ID{"stop", "d2"})
	s.Rest(StepHeld, over)
	h.want(t, "step.held vmid=7 guest=Container/a op=stop reason=approval digest=d2 why=it destroys")
}

// A state of a row with For is told once it has lasted for so long, with the details of then. If it ends before, neither begin nor end is told.
func TestStateIsToldWhenItHasLasted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHeard()
		s := h.Subject()
		h.rows = map[Name]*Row{
			"a.begins": {Name: "a.begins", Fields: "reason", End: "a.ends", For: 5 * time.Minute},
			"a.ends":   {Name: "a.ends", Fields: "reason"},
		}
		state := func(lasts bool, reason string) {
			s.Is("a.begins", lasts, ID{}, fields("reason", reason), nil)
		}
		state(true, "first")
		time.Sleep(4 * time.Minute)
		state(true, "second")
		state(false, "")
		h.want(t)
		state(true, "third")
		time.Sleep(5 * time.Minute)
		state(true, "fourth")
		state(true, "fifth")
		h.want(t, "a.begins reason=fourth")
		state(false, "")
		h.want(t, "a.ends reason=fourth")
	})
}

// A short state is a line when it begins and when it ends, and no event. Once a state was told, another reason for it is told when it has lasted too; a reason that
// comes and goes is not. What the row does not name as passing is told at once.
func TestShortStatesAreLines(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		h := newHeard()
		h.log = slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		}}))
		s := h.Subject().ReadEvery(15 * time.Second)
		writes := func(reason string) {
			s.Is(WritesStopped, reason != "", ID{reason}, fields("reason", reason, "why", "it is so"), func(ID) Details { return Details{Fields: []any{"revision", "r"}} })
		}
		for range 6 {
			writes("cluster")
			time.Sleep(time.Second)
			writes("cluster")
			writes("")
			time.Sleep(time.Minute)
		}
		h.want(t)
		pair := "level=INFO msg=\"writing stopped for now\" reason=cluster why=\"it is so\"\nlevel=INFO msg=\"writing allowed\" revision=r\n"
		if diff := cmp.Diff(strings.Repeat(pair, 6), out.String()); diff != "" {
			t.Errorf("lines (-want +got):\n%s", diff)
		}
		writes("cluster")
		time.Sleep(time.Minute)
		writes("cluster")
		h.want(t, "writes.stopped reason=cluster why=it is so")
		writes("unchecked")
		time.Sleep(time.Second)
		writes("cluster")
		time.Sleep(time.Hour)
		writes("cluster")
		h.want(t)
		writes("paused")
		h.want(t, "writes.stopped reason=paused why=it is so")
		writes("")
		h.want(t, "writes.allowed revision=r")
	})
}

// A state is told after one reading more at least, and after four at most.
func TestWaitFollowsReadings(t *testing.T) {
	t.Parallel()
	row, _ := RowOf(ClusterLost)
	for every, want := range map[time.Duration]time.Duration{0: time.Minute, time.Second: 4 * time.Second, 15 * time.Second: time.Minute, 10 * time.Minute: 10 * time.Minute} {
		if got := row.wait(ID{"unreachable"}, every); got != want {
			t.Errorf("with a reading every %s: got %s, want %s", every, got, want)
		}
	}
}

// The log line has the name of the event first and the fields in the order of the row; a plain row has no name. The line of an event that ends a span comes before the
// subscribers, every other one after them.
func TestLines(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	log := slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}))
	s := NewSink(log, func(e Event) { fmt.Fprintln(&out, "told", e.Name, e.Text("op"), e.Text("none")) })
	s.Happened(StepEnded, Details{Fine: true, Fields: []any{"op", "start", "vmid", 7, "error", error(nil), "warnings", []string(nil), "duration", time.Second}})
	s.Happened(StepEnded, Details{Fields: []any{"op", "stop", "error", errors.New("no"), "extra", 1}})
	s.Happened(GuestHidden, Details{Fields: []any{"guest", "Container/a", "vmid", 7}})
	s.Happened(VMListUsed, Details{Fields: []any{"path", "/x"}})
	want := strings.Join([]string{
		`level=INFO msg="step done" event=step.ended vmid=7 op=start duration=1s`, "told step.ended start ",
		`level=WARN msg="step not done" event=step.ended op=stop error=no extra=1`, "told step.ended stop ",
		"told guest.hidden  ", `level=WARN msg="guest hidden from the token" event=guest.hidden vmid=7 guest=Container/a`,
		"told vmlist.used  ", `level=INFO msg="vmlist file used again" path=/x`, "",
	}, "\n")
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
}

func TestMarks(t *testing.T) {
	t.Parallel()
	m := Marks[string, int]{"known": 1}
	if m.Changed("known", 1) || !m.Changed("known", 2) || !m.Changed("new", 1) || m.Changed("new", 1) {
		t.Error("got an old mark as changed, or a new one as known")
	}
	m.Keep(func(key string) bool { return key == "new" })
	if m.Changed("new", 1) || !m.Changed("known", 2) {
		t.Error("got the other key forgotten, want the one that is gone")
	}
}

// TestNothingIsAllocated states again what is known of a guest: the cycle does so for thousands of guests.
func TestNothingIsAllocated(t *testing.T) {
	s := guestInDoubt()
	if n := testing.AllocsPerRun(100, func() { stateAgain(s) }); n != 0 {
		t.Errorf("got %.0f allocations, want none", n)
	}
}

// BenchmarkNothingChanges states what is known of a guest with two held steps, as each cycle does.
func BenchmarkNothingChanges(b *testing.B) {
	s := guestInDoubt()
	b.ReportAllocs()
	for b.Loop() {
		stateAgain(s)
	}
}

func guestInDoubt() *Subject {
	s := NewSink(slog.New(slog.DiscardHandler)).Subject()
	stateAgain(s)
	return s
}

func stateAgain(s *Subject) {
	vmid, why := 201, "it destroys the guest"
	for _, op := range [...]string{"destroy", "config"} {
		s.Lasts(PlannedStep, ID{"web-1", op, "destructive"}, nil)
		s.Lasts(StepHeld, ID{op, "approval", "4f1c"}, func() Details { return Details{Fields: []any{"vmid", vmid, "op", op, "why", why}} })
	}
	s.Rest(PlannedStep, nil)
	s.Rest(StepHeld, func(ID) Name { return StepWithdrawn })
	s.Is(GuestHidden, false, ID{}, func() Details { return Details{Fields: []any{"vmid", vmid}} }, nil)
	s.Is(GuestDrifted, true, ID{}, func() Details { return Details{Fields: []any{"vmid", vmid}} }, nil)
}

// TestOutageWhoseReasonChanges alternates the reason of an outage at each reading. Until it is told, the time counts from its begin.
func TestOutageWhoseReasonChanges(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHeard()
		s := h.Subject().ReadEvery(15 * time.Second)
		for i := range 40 {
			reason := []string{"unreachable", "late"}[i%2]
			s.Is(ClusterLost, true, ID{reason}, fields("reason", reason, "error", "x"), nil)
			time.Sleep(15 * time.Second)
		}
		if !slices.ContainsFunc(h.lines, func(line string) bool { return strings.Contains(line, string(ClusterLost)) }) {
			t.Errorf("got the lines %q of an outage of ten minutes, want it told", h.lines)
		}
	})
}
