package lane

import (
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/internal/fixture"
	"gitops-agent/reconcile/journal"
)

// openStep returns a step that the journal has as open: Proxmox has accepted some of its calls, the last one as the task "u".
func openStep(op cluster.Op, dispatched, calls int, upid string) journal.OpenStep {
	o := journal.OpenStep{Time: time.Unix(1750000000, 0), Dispatched: dispatched, UPID: upid}
	o.Step, o.VMID, o.Kind, o.Node, o.Op = "s", 201, "VirtualMachine", "pve1", string(op)
	o.TaskVMID, o.TaskTypes = 201, cluster.Call{Op: op, Kind: guest.VirtualMachine}.TaskTypes()
	o.Detail = map[string]string{detailCalls: strconv.Itoa(calls)}
	return o
}

func TestSettle(t *testing.T) {
	ended := func(outcome cluster.TaskOutcome) map[string]cluster.Task {
		return map[string]cluster.Task{"u": {UPID: "u", Outcome: outcome}}
	}
	there := map[int]bool{201: true}
	ours := map[int]guest.Observed{201: fixture.LiveWeb(guest.StatusStopped)}
	partlyCreated := fixture.LiveWeb(guest.StatusStopped)
	partlyCreated.Lock = "create"
	otherGuest := fixture.LiveWeb(guest.StatusStopped, "tags", "theirs")
	lost := []cluster.Task{{UPID: "old", Outcome: cluster.TaskSucceeded}, {UPID: "u", Running: true, Start: time.Unix(1750000000, 0)}}
	synchronous := openStep(cluster.OpConfig, 1, 1, "")
	synchronous.TaskTypes = nil
	untyped := openStep(cluster.OpConfig, 0, 1, "")
	untyped.TaskTypes = nil
	tests := map[string]struct {
		open   journal.OpenStep
		reader fixture.Answers
		want   journal.Result
		asked  string // the requests to the cluster, in order
	}{
		"task_done":          {openStep(cluster.OpConfig, 1, 1, "u"), fixture.Answers{Ends: ended(cluster.TaskSucceeded)}, journal.Done, "wait u"},
		"task_with_warnings": {openStep(cluster.OpCreate, 1, 1, "u"), fixture.Answers{Ends: ended(cluster.TaskWarned)}, journal.Done, "wait u"},
		"task_failed":        {openStep(cluster.OpStart, 1, 1, "u"), fixture.Answers{Ends: ended(cluster.TaskFailed)}, journal.Failed, "wait u"},
		"task_died_start_up": {openStep(cluster.OpStart, 1, 1, "u"), fixture.Answers{Taken: there, Ends: ended(cluster.TaskLost), RunState: "running"}, journal.Done, "wait u, exists 201, status 201"},

		"forgotten_create_there": {openStep(cluster.OpCreate, 1, 1, "u"), fixture.Answers{Taken: there, Guests: ours}, journal.Done, "wait u, exists 201, observe 201"},
		"forgotten_create_gone":  {openStep(cluster.OpCreate, 1, 1, "u"), fixture.Answers{}, journal.NotRun, "wait u, exists 201"},
		"forgotten_config":       {openStep(cluster.OpConfig, 1, 1, "u"), fixture.Answers{Taken: there}, journal.Unknown, "wait u, exists 201"},
		"forgotten_resize":       {openStep(cluster.OpResize, 1, 1, "u"), fixture.Answers{Taken: there}, journal.Unknown, "wait u, exists 201"},

		"synchronous_config": {synchronous, fixture.Answers{}, journal.Done, ""},
		"no_reply_untyped":   {untyped, fixture.Answers{Taken: there}, journal.Unknown, "exists 201"},

		"no_reply_create_there":       {openStep(cluster.OpCreate, 0, 1, ""), fixture.Answers{Taken: there, Guests: ours}, journal.Done, "tasks, exists 201, observe 201"},
		"no_reply_create_partial":     {openStep(cluster.OpCreate, 0, 1, ""), fixture.Answers{Taken: there, Guests: map[int]guest.Observed{201: partlyCreated}}, journal.Failed, "tasks, exists 201, observe 201"},
		"no_reply_create_other_guest": {openStep(cluster.OpCreate, 0, 1, ""), fixture.Answers{Taken: there, Guests: map[int]guest.Observed{201: otherGuest}}, journal.NotRun, "tasks, exists 201, observe 201"},
		"no_reply_create_hidden":      {openStep(cluster.OpCreate, 0, 1, ""), fixture.Answers{Taken: there, ObserveErr: map[int]error{201: cluster.ErrDenied}}, journal.Unknown, "tasks, exists 201, observe 201"},
		"no_reply_reboot":             {openStep(cluster.OpReboot, 0, 1, ""), fixture.Answers{Taken: there}, journal.NotRun, "tasks"},
		"no_reply_reboot_ran":         {openStep(cluster.OpReboot, 0, 1, ""), fixture.Answers{Taken: there, TaskList: lost, Ends: ended(cluster.TaskSucceeded)}, journal.Failed, "tasks, wait u, exists 201"},
		"no_reply_create_gone":        {openStep(cluster.OpCreate, 0, 1, ""), fixture.Answers{}, journal.NotRun, "tasks, exists 201"},
		"no_reply_task_still_runs":    {openStep(cluster.OpCreate, 0, 1, ""), fixture.Answers{Taken: there, Guests: ours, TaskList: lost, Ends: ended(cluster.TaskSucceeded)}, journal.Done, "tasks, wait u, exists 201, observe 201"},
		"no_reply_config":             {openStep(cluster.OpConfig, 0, 1, ""), fixture.Answers{Taken: there}, journal.Unknown, "tasks, exists 201"},
		"no_reply_start_up":           {openStep(cluster.OpStart, 0, 1, ""), fixture.Answers{Taken: there, RunState: "running"}, journal.Done, "tasks, exists 201, status 201"},
		"no_reply_start_down":         {openStep(cluster.OpStart, 0, 1, ""), fixture.Answers{Taken: there, RunState: "stopped"}, journal.NotRun, "tasks, exists 201, status 201"},
		"no_reply_stop_down":          {openStep(cluster.OpStop, 0, 1, ""), fixture.Answers{Taken: there, RunState: "stopped"}, journal.Done, "tasks, exists 201, status 201"},
		"no_reply_shutdown_up":        {openStep(cluster.OpShutdown, 0, 1, ""), fixture.Answers{Taken: there, RunState: "running"}, journal.NotRun, "tasks, exists 201, status 201"},
		"no_reply_start_moved":        {openStep(cluster.OpStart, 0, 1, ""), fixture.Answers{Taken: there, StatusErr: cluster.ErrNotExist}, journal.Unknown, "tasks, exists 201, status 201"},
		"no_reply_destroy_gone":       {openStep(cluster.OpDestroy, 0, 2, ""), fixture.Answers{}, journal.Done, "tasks, exists 201"},
		"no_reply_destroy_there":      {openStep(cluster.OpDestroy, 0, 2, ""), fixture.Answers{Taken: there}, journal.NotRun, "tasks, exists 201"},

		// The known task is the task of the stop. It proves nothing about the destroy.
		"half_a_destroy_there": {openStep(cluster.OpDestroy, 1, 2, "u"), fixture.Answers{Taken: there, Ends: ended(cluster.TaskSucceeded)}, journal.Failed, "tasks, exists 201"},
		"half_a_destroy_gone":  {openStep(cluster.OpDestroy, 1, 2, "u"), fixture.Answers{Ends: ended(cluster.TaskSucceeded)}, journal.Done, "tasks, exists 201"},
		"whole_destroy":        {openStep(cluster.OpDestroy, 2, 2, "u"), fixture.Answers{Ends: ended(cluster.TaskSucceeded)}, journal.Done, "wait u"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			reader := &fixture.FakeReader{Answers: test.reader}
			got, err := settle(t.Context(), reader, test.open, fixture.Owned201(), doubt{since: test.open.Time})
			if err != nil || got != test.want {
				t.Errorf("got %q, %v, want %q", got, err, test.want)
			}
			if diff := cmp.Diff(test.asked, strings.Join(reader.Asked, ", ")); diff != "" {
				t.Errorf("calls differ (-want +got):\n%s", diff)
			}
		})
	}
}

// TestSettleWaitsForLateEffects checks calls without an answer, which may take effect minutes later. If the guest shows no effect, the step stays
// open until then, and is unknown afterwards, which spends its order; a composite whose own call was never sent is not unknown. A task from before
// the step proves nothing, and an effect counts at once.
func TestSettleWaitsForLateEffects(t *testing.T) {
	there := map[int]bool{201: true}
	earlier := []cluster.Task{{UPID: "old", Outcome: cluster.TaskSucceeded, Start: time.Unix(1750000000, 0).Add(-time.Minute)}}
	since := []cluster.Task{{UPID: "own", Outcome: cluster.TaskSucceeded, Start: time.Unix(1750000000, 0)}}
	const early = journal.Result("")
	tests := map[string]struct {
		open          journal.OpenStep
		reader        fixture.Answers
		before, after journal.Result // before and after the time in which the call can take effect
	}{
		"create":           {openStep(cluster.OpCreate, 0, 1, ""), fixture.Answers{}, early, journal.Unknown},
		"start":            {openStep(cluster.OpStart, 0, 1, ""), fixture.Answers{Taken: there, RunState: "stopped"}, early, journal.Unknown},
		"started":          {openStep(cluster.OpStart, 0, 1, ""), fixture.Answers{Taken: there, RunState: "running"}, journal.Done, journal.Done},
		"start_earlier":    {openStep(cluster.OpStart, 0, 1, ""), fixture.Answers{Taken: there, RunState: "stopped", TaskList: earlier}, early, journal.Unknown},
		"stop":             {openStep(cluster.OpStop, 0, 1, ""), fixture.Answers{Taken: there, RunState: "running"}, early, journal.Unknown},
		"shutdown":         {openStep(cluster.OpShutdown, 0, 1, ""), fixture.Answers{Taken: there, RunState: "running"}, early, journal.Unknown},
		"reboot":           {openStep(cluster.OpReboot, 0, 1, ""), fixture.Answers{Taken: there}, early, journal.Unknown},
		"reboot_earlier":   {openStep(cluster.OpReboot, 0, 1, ""), fixture.Answers{Taken: there, TaskList: earlier}, early, journal.Unknown},
		"rebooted":         {openStep(cluster.OpReboot, 0, 1, ""), fixture.Answers{Taken: there, TaskList: since}, journal.Failed, journal.Failed},
		"migrate":          {openStep(cluster.OpMigrate, 0, 1, ""), fixture.Answers{Taken: there}, early, journal.Unknown},
		"migrated":         {openStep(cluster.OpMigrate, 0, 1, ""), fixture.Answers{Taken: there, TaskList: since}, journal.Unknown, journal.Unknown},
		"template":         {openStep(cluster.OpTemplate, 0, 1, ""), fixture.Answers{Taken: there}, early, journal.Unknown},
		"destroy":          {openStep(cluster.OpDestroy, 0, 1, ""), fixture.Answers{Taken: there}, early, journal.Unknown},
		"destroyed":        {openStep(cluster.OpDestroy, 0, 1, ""), fixture.Answers{}, journal.Done, journal.Done},
		"destroy_stops":    {openStep(cluster.OpDestroy, 0, 2, ""), fixture.Answers{Taken: there}, early, journal.NotRun},
		"destroy_stopped":  {openStep(cluster.OpDestroy, 1, 2, "u"), fixture.Answers{Taken: there}, early, journal.Unknown},
		"destroy_unlocked": {openStep(cluster.OpDestroy, 1, 3, "u"), fixture.Answers{Taken: there}, early, journal.Failed},
		"config":           {openStep(cluster.OpConfig, 0, 1, ""), fixture.Answers{Taken: there}, journal.Unknown, journal.Unknown},
		"resize":           {openStep(cluster.OpResize, 0, 1, ""), fixture.Answers{Taken: there}, journal.Unknown, journal.Unknown},
		"move":             {openStep(cluster.OpMove, 0, 1, ""), fixture.Answers{Taken: there}, journal.Unknown, journal.Unknown},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			for late, want := range map[time.Time]journal.Result{time.Now().Add(time.Minute): test.before, time.Now().Add(-time.Minute): test.after} {
				got, err := settle(t.Context(), &fixture.FakeReader{Answers: test.reader}, test.open, fixture.Owned201(), doubt{late: late})
				if got != want || (want == early) != errors.Is(err, cluster.ErrUnanswered) {
					t.Errorf("got %q, %v where the call may act until %s, want %q", got, err, time.Until(late).Round(time.Minute), want)
				}
			}
		})
	}
}

// TestSettleKeepsUnreadableStepsOpen checks that a step stays open if its guest or task cannot be read.
func TestSettleKeepsUnreadableStepsOpen(t *testing.T) {
	there := map[int]bool{201: true}
	partlyCreated := fixture.LiveWeb(guest.StatusStopped)
	partlyCreated.Lock = "clone"
	young := func(o journal.OpenStep) journal.OpenStep {
		o.Time = time.Now()
		return o
	}
	tests := map[string]struct {
		open   journal.OpenStep
		reader fixture.Answers
	}{
		"task":          {openStep(cluster.OpConfig, 1, 1, "u"), fixture.Answers{WaitErr: cluster.ErrNotReady}},
		"tasks":         {openStep(cluster.OpConfig, 0, 1, ""), fixture.Answers{TasksErr: cluster.ErrNotReady}},
		"lost_task":     {openStep(cluster.OpCreate, 0, 1, ""), fixture.Answers{TaskList: []cluster.Task{{UPID: "u", Running: true}}, WaitErr: cluster.ErrNotReady}},
		"vmid":          {openStep(cluster.OpCreate, 0, 1, ""), fixture.Answers{ExistsErr: cluster.ErrDenied}},
		"partlyCreated": {young(openStep(cluster.OpCreate, 0, 1, "")), fixture.Answers{Taken: there, Guests: map[int]guest.Observed{201: partlyCreated}}},
		"run_state":     {openStep(cluster.OpStart, 0, 1, ""), fixture.Answers{Taken: there, StatusErr: cluster.ErrNotReady}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got, err := settle(t.Context(), &fixture.FakeReader{Answers: test.reader}, test.open, fixture.Owned201(), doubt{since: test.open.Time}); err == nil || got != "" {
				t.Errorf("got %q and no error, want none settled", got)
			}
		})
	}
}

// TestSettleAsksForTheTasksOfTheStep checks the task query: the clocks of agent and node differ, and Proxmox lists the task of a clone under its
// template.
func TestSettleAsksForTheTasksOfTheStep(t *testing.T) {
	open := openStep(cluster.OpCreate, 0, 1, "")
	open.TaskVMID, open.TaskTypes = 9000, cluster.Call{Op: cluster.OpCreate, CloneOf: 9000, Kind: guest.VirtualMachine}.TaskTypes()
	var reader fixture.FakeReader
	if _, err := settle(t.Context(), &reader, open, journal.Owned{}, doubt{}); err != nil {
		t.Fatal(err)
	}
	want := cluster.TaskQuery{Node: "pve1", VMID: 9000, Types: []string{"qmclone"}, Since: open.Time.Add(-clockSkew)}
	if diff := cmp.Diff(want, reader.Query); diff != "" {
		t.Errorf("query differs (-want +got):\n%s", diff)
	}
}
