package notify

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gitops-agent/gitsource/fault"
	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/event"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/pause"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/reason"
	"gitops-agent/reconcile/report"
)

// fieldsOf are values for the fields of events.
func fieldsOf(row event.Row) []any {
	var fields []any
	for name := range strings.FieldsSeq(row.Fields) {
		name = strings.TrimSuffix(name, "?")
		value := map[string]any{"vmid": 101, "guest": "VirtualMachine/web-101", "op": "destroy", "digest": "4f1c", "rollout": "web", "endpoint": "pve1:8006", "upid": "UPID:1"}[name]
		if value == nil {
			value = "some " + name
		}
		fields = append(fields, name, value)
	}
	return fields
}

// worstReport has every problem, and the state in which an event begins.
func worstReport(of event.Name) report.Report {
	r := bestReport()
	r.Source = report.Source{
		LastSuccess: time.Now(), Refused: &report.Refused{}, Waiting: &report.WaitingHead{}, Ahead: &report.Ahead{Unknown: []string{"x"}}, Reason: fault.Unreachable, Error: "no route",
		RootExpires: time.Now(), RootExpired: true,
	}
	r.Proxmox = report.Proxmox{Reason: cluster.OutageLate, Endpoints: []cluster.Endpoint{{Address: "pve1:8006", ClockAhead: 60}}}
	r.Journal = report.Journal{}
	r.Writes = report.Writes{Reason: reason.StopStateDirectory, Paused: &pause.Note{}}
	r.Guards = &report.Guards{Held: []report.HeldStep{{Digest: "4f1c"}}}
	r.Orders = []report.Order{{Commit: "some commit", Unmatched: true}}
	r.Rollouts = []report.Rollout{{Name: "web", State: journal.RolloutFailed}}
	g := &r.Guests[0]
	g.Sync, g.DriftSince, g.Held = report.OutOfSync, time.Now(), []report.HeldStep{{Op: "destroy"}}
	g.Conditions = []plan.Condition{{Type: plan.Blocked, Reason: reason.Denied}, {Type: plan.Blocked, Reason: reason.HAError}, {Type: plan.Failed, Reason: reason.TaskHangs}}
	if of == event.AgentSuperseded {
		r.Writes.Reason = reason.StopSuperseded
	}
	if of == event.RolloutHeld {
		r.Rollouts[0].State = journal.RolloutHeld
	}
	return r
}

// bestReport has no problem.
func bestReport() report.Report {
	return report.Report{
		Time: time.Now(), Source: report.Source{LastSuccess: time.Now(), RootExpires: time.Now().Add(time.Hour), Head: "a", Accepted: &report.Revision{Commit: "a"}},
		Proxmox: report.Proxmox{Ready: true, Endpoints: []cluster.Endpoint{{Address: "pve1:8006"}}}, Journal: report.Journal{Healthy: true},
		Writes: report.Writes{Allowed: true}, Guards: &report.Guards{},
		Guests: []report.Guest{{GuestName: report.GuestName{Kind: guest.VirtualMachine, Name: "web-101", VMID: 101}, Sync: report.Synced, Operation: report.Idle}},
	}
}

// unreadReport is that of an agent that has read nothing of remote and cluster yet.
func unreadReport(of event.Name) report.Report {
	r := report.Report{Time: time.Now(), Source: report.Source{Reason: fault.Unread}, Journal: report.Journal{Healthy: true}, Proxmox: report.Proxmox{Reason: cluster.OutageUnread}}
	r.Writes = report.Writes{Reason: reason.StopUnchecked, Paused: &pause.Note{}}
	switch of { //nolint:exhaustive // the others are not known
	case event.StateLost:
		r.Writes.Reason = reason.StopStateDirectory
	case event.AgentSuperseded:
		r.Writes.Reason = reason.StopSuperseded
	case event.JournalFailed:
		r.Journal.Healthy = false
	}
	return r
}

// TestEndsGoToThoseWhoWereTold lets each state of the table begin, and end with an event, or while the agent does not run. Its end goes to the receiver that was
// told of the begin, once, and to no other one: also if the route selects the begin alone, if the routes were changed, and after a restart.
func TestEndsGoToThoseWhoWereTold(t *testing.T) {
	t.Parallel()
	for _, row := range event.Rows() {
		if !row.Lasts() {
			continue
		}
		for _, end := range append([]event.Name{row.End}, row.EndedBy...) {
			if end == "" {
				continue
			}
			t.Run(string(row.Name+" "+end), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) { testEnd(t, row, end) })
			})
		}
	}
}

func testEnd(t *testing.T, row event.Row, end event.Name) {
	t.Helper()
	route := Route{Receiver: "a", Events: []string{string(row.Name)}, GroupWait: time.Second, RepeatInterval: 1000 * time.Hour}
	other := Route{Receiver: "b", Events: []string{string(event.PlanMade)}}
	file := filepath.Join(t.TempDir(), "notifications.json")
	endRow, _ := event.RowOf(end)
	l := newLab(t)
	l.reports(worstReport(row.Name))
	stop := l.start(t, file, route, other)
	want := func(what string, messages int, of event.Row) {
		t.Helper()
		got := l.sent("a", 5*time.Minute)
		if len(got) != messages || messages == 1 && of.Name != "" && got[0] != sentenceOf(of) {
			t.Errorf("%s: got %q, want %d messages of %s", what, got, messages, of.Name)
		}
		if got := l.sent("b", 0); len(got) != 0 {
			t.Errorf("%s: got %q for the other receiver, want nothing", what, got)
		}
	}
	begin := func() { l.tell(row.Name, fieldsOf(row)...) }
	finish := func() { l.tell(end, fieldsOf(endRow)...) }
	wantEnd := func(what string) {
		t.Helper()
		if endRow.Lasts() {
			l.reports(worstReport(end))
		}
		finish()
		want(what, 1, endRow)
		if endRow.Lasts() { // the receiver knows the problem that this event began
			next, _ := event.RowOf(cmp.Or(endRow.End, endRow.EndedBy[0]))
			l.tell(next.Name, fieldsOf(next)...)
			want(what+" of what ended it", 1, next)
			l.reports(worstReport(row.Name))
		}
	}

	begin()
	want("the begin", 1, row)
	wantEnd("the end")
	finish()
	want("another end", 0, endRow)

	begin()
	want("the begin before other routes", 1, row)
	l.n.Configure(l.settings(other)) // a has no route any more
	wantEnd("the end after other routes")

	l.n.Configure(l.settings(route, other))
	begin()
	want("the begin before a restart", 1, row)
	stop()
	l.reports(unreadReport(row.Name))
	stop = l.start(t, file, route, other)
	if row.Name == event.ConfigRefused { // that is over with the start
		want("the start", 1, event.Row{})
		begin()
		want("a config that is refused again", 1, row)
		stop()
		stop = l.start(t, file, route, other)
	} else {
		want("a start that has read nothing", 0, endRow)
		l.reports(worstReport(row.Name))
		begin()
		want("the same begin after a restart", 0, row)
		stop()
		stop = l.start(t, file, other)
		wantEnd("the end after another restart")
		begin() // no receiver is told
		want("a begin for no receiver", 0, row)
		stop()
		stop = l.start(t, file, route)
		begin()
		want("the begin once more", 1, row)
		stop()
		stop = l.start(t, file, route, other)
	}
	l.reports(bestReport())
	want("the end while the agent did not run", 1, event.Row{})
	want("later", 0, row)
	stop()
}

// sentenceOf returns the text of an event with the values of fieldsOf.
func sentenceOf(row event.Row) string {
	e := Event{Name: row.Name, Attributes: event.Texts{}}
	for fields := fieldsOf(row); len(fields) > 0; fields = fields[2:] {
		e.Attributes[fmt.Sprint(fields[0])] = fmt.Sprint(fields[1])
	}
	return Text(e)
}

// A file that cannot be read or written is a line in the log, and problems are sent all the same.
func TestMemoryThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	for name, prepare := range map[string]func(file string) error{
		"damaged":   func(file string) error { return os.WriteFile(file, []byte("{"), 0o600) },
		"directory": func(file string) error { return os.MkdirAll(filepath.Join(file, "x"), 0o700) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				file := filepath.Join(t.TempDir(), "notifications.json")
				if err := prepare(file); err != nil {
					t.Fatal(err)
				}
				l := newLab(t)
				defer l.start(t, file, Route{Receiver: "a"})()
				l.failed(102)
				if got := l.sent("a", 30*time.Second); len(got) != 1 {
					t.Errorf("got %q, want the failure", got)
				}
			})
		})
	}
}
