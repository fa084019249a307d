package order

import (
	"strings"
	"testing"
	"time"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/schedule"
)

var noon = time.Date(2026, 11, 25, 12, 0, 30, 0, time.UTC)

// scheduleOf returns what the schedule of guest 201 asks for: "snapshot NAME" and "delete NAME".
func scheduleOf(t *testing.T, now time.Time, record journal.Snapshots, edit func(d *guest.Desired, o *journal.Owned)) string {
	t.Helper()
	times, err := schedule.ParseCalendar("hourly")
	if err != nil {
		t.Fatal(err)
	}
	d := guest.Desired{Ref: guest.Ref{Kind: guest.VirtualMachine, Name: "web-1", VMID: 201}, Snapshots: &guest.SnapshotSchedule{Text: "hourly", Times: times, Keep: 2}}
	owned := journal.Owned{VMID: 201, Kind: "VirtualMachine", Name: "web-1", Identity: "i"}
	if edit != nil {
		edit(&d, &owned)
	}
	state := journal.State{Owned: map[int]journal.Owned{201: owned}, Snapshots: map[int]journal.Snapshots{201: record}}
	var words []string
	for _, o := range OpenScheduled("home", []guest.Desired{d}, state, now)[201] {
		words = append(words, strings.TrimSuffix(string(o.Op), "-snapshot")+" "+o.Params[KeyName])
	}
	return strings.Join(words, ", ")
}

func TestOpenScheduled(t *testing.T) {
	t.Parallel()
	taken := func(names ...string) (list []journal.TakenSnapshot) {
		for _, name := range names {
			list = append(list, journal.TakenSnapshot{Name: name, Key: "key of " + name, Keep: 2})
		}
		return list
	}
	at := func(clock string) time.Time {
		hour, err := time.Parse(time.RFC3339, "2026-11-25T"+clock+":00Z")
		if err != nil {
			t.Fatal(err)
		}
		return hour
	}
	const due = "snapshot gitops-20261125-1200"
	tests := map[string]struct {
		record journal.Snapshots
		edit   func(d *guest.Desired, o *journal.Owned)
		want   string
	}{
		"first":             {want: due},
		"missed":            {record: journal.Snapshots{Identity: "i", Due: at("03:00")}, want: due},
		"used":              {record: journal.Snapshots{Identity: "i", Due: at("12:00")}},
		"failed":            {record: journal.Snapshots{Identity: "i", Due: at("12:00"), Failed: "no space"}},
		"another guest":     {record: journal.Snapshots{Identity: "j", Due: at("12:00"), Taken: taken("a", "b", "c")}, want: due},
		"clock a bit back":  {record: journal.Snapshots{Identity: "i", Due: at("12:05")}},
		"clock went back":   {record: journal.Snapshots{Identity: "i", Due: at("23:00")}, want: due},
		"back, and has one": {record: journal.Snapshots{Identity: "i", Due: at("23:00"), Taken: taken("gitops-20261125-1200")}},
		"surplus":           {record: journal.Snapshots{Identity: "i", Due: at("12:00"), Taken: taken("a", "b", "c")}, want: "delete a, delete b, delete c"},
		"not deleted": {record: journal.Snapshots{Identity: "i", Due: at("12:00"), Taken: []journal.TakenSnapshot{
			{Name: "a", Key: "a", Keep: 2, Failed: "busy"}, {Name: "b", Key: "b", Keep: 2}, {Name: "c", Key: "c", Keep: 2},
		}}},
		"smaller keep": {record: journal.Snapshots{Identity: "i", Due: at("12:00"), Taken: []journal.TakenSnapshot{
			{Name: "a", Key: "a", Keep: 4}, {Name: "b", Key: "b", Keep: 4}, {Name: "c", Key: "c", Keep: 2}, {Name: "d", Key: "d", Keep: 2},
		}}},
		"no schedule": {edit: func(d *guest.Desired, _ *journal.Owned) { d.Snapshots = nil }},
		"observed":    {edit: func(d *guest.Desired, _ *journal.Owned) { d.Observe = true }},
		"suspended":   {edit: func(d *guest.Desired, _ *journal.Owned) { d.Suspend = &guest.Suspension{Reason: "work"} }},
		"invalid":     {edit: func(d *guest.Desired, _ *journal.Owned) { d.Invalid = &guest.Invalid{} }},
		"claiming":    {edit: func(_ *guest.Desired, o *journal.Owned) { o.Claiming = true }},
		"other kind":  {edit: func(_ *guest.Desired, o *journal.Owned) { o.Kind = "Container" }},
	}
	for name, test := range tests {
		if got := scheduleOf(t, noon, test.record, test.edit); got != test.want {
			t.Errorf("%s: got %q, want %q", name, got, test.want)
		}
	}
}

// TestSettled decides about deletions by the snapshots that the guest has.
func TestSettled(t *testing.T) {
	t.Parallel()
	entries := []journal.TakenSnapshot{{Name: "a", Key: "1", Keep: 1}, {Name: "b", Key: "2", Keep: 1}, {Name: "c", Key: "3", Keep: 1}}
	section := func(name, key string) guest.SnapshotSection {
		return guest.SnapshotSection{Name: name, Keys: map[string]string{"description": Note(key, "") + "\n"}}
	}
	unfinished := section("b", "2")
	unfinished.Keys["snapstate"] = "prepare"
	tests := map[string]struct {
		live    []guest.SnapshotSection
		waits   bool
		refused string
	}{
		"newer":          {live: []guest.SnapshotSection{section("a", "1"), section("b", "2")}},
		"none newer":     {live: []guest.SnapshotSection{section("a", "1")}, waits: true},
		"newer unproven": {live: []guest.SnapshotSection{section("a", "1"), section("b", "9")}, waits: true},
		"newer is made":  {live: []guest.SnapshotSection{section("a", "1"), unfinished}, waits: true},
		"gone":           {live: []guest.SnapshotSection{section("b", "2")}, refused: "does not exist"},
		"another's":      {live: []guest.SnapshotSection{section("a", "2"), section("b", "2")}, refused: "description"},
		"no description": {live: []guest.SnapshotSection{{Name: "a"}, section("b", "2")}, refused: "description"},
	}
	for name, test := range tests {
		o := Open{Request: Request{Op: cluster.OpDeleteSnapshot}, Scheduled: &Scheduled{Keep: 1, Entry: entries[0], Newer: entries[1:]}}
		waits, refused := o.Settled(guest.Snapshots{Sections: test.live}, journal.Snapshots{})
		if waits != test.waits || (refused == "") != (test.refused == "") || !strings.Contains(refused, test.refused) {
			t.Errorf("%s: got %t, %q, want %t, %q", name, waits, refused, test.waits, test.refused)
		}
	}
	undeleted := journal.Snapshots{Taken: []journal.TakenSnapshot{{Failed: "x"}, {Failed: "x"}, {Failed: "x"}}}
	if _, refused := (Open{Request: Request{Op: cluster.OpSnapshot}, Scheduled: &Scheduled{}}).Settled(guest.Snapshots{}, undeleted); refused == "" {
		t.Error("got a further snapshot although three could not be deleted, want none")
	}
}

// TestEndedScheduled follows the record over the outcomes of calls. No list that another reader has is changed.
func TestEndedScheduled(t *testing.T) {
	t.Parallel()
	before := noon.Add(-time.Hour)
	begun := journal.Snapshots{Due: noon, Taken: []journal.TakenSnapshot{{Name: "a", Key: "1", Keep: 1}, {Name: "b", Key: "2", Keep: 1}}}
	tests := map[string]struct {
		op     cluster.Op
		name   string
		became journal.OrderState
		due    time.Time
		taken  string
		failed bool
	}{
		"taken":           {cluster.OpSnapshot, "b", journal.OrderRun, noon, "a b", false},
		"not taken":       {cluster.OpSnapshot, "b", journal.OrderFailed, noon, "a", true},
		"tried again":     {cluster.OpSnapshot, "b", journal.OrderSeen, before, "a", false},
		"unknown":         {cluster.OpSnapshot, "b", journal.OrderUnknown, noon, "a b", true},
		"deleted":         {cluster.OpDeleteSnapshot, "a", journal.OrderRun, noon, "b", false},
		"not deleted":     {cluster.OpDeleteSnapshot, "a", journal.OrderFailed, noon, "a(failed) b", false},
		"delete again":    {cluster.OpDeleteSnapshot, "a", journal.OrderSeen, noon, "a b", false},
		"delete in doubt": {cluster.OpDeleteSnapshot, "a", journal.OrderUnknown, noon, "a(failed) b", false},
	}
	for name, test := range tests {
		got := EndedScheduled(begun, test.op, test.name, before, test.became, "")
		var words []string
		for _, e := range got.Taken {
			if e.Failed != "" {
				e.Name += "(failed)"
			}
			words = append(words, e.Name)
		}
		if taken := strings.Join(words, " "); taken != test.taken || !got.Due.Equal(test.due) || (got.Failed != "") != test.failed {
			t.Errorf("%s: got %s at %s, failed %q, want %s", name, taken, got.Due, got.Failed, test.taken)
		}
	}
	if begun.Taken[0].Failed != "" || len(begun.Taken) != 2 {
		t.Errorf("got the first record changed: %+v", begun)
	}
}
