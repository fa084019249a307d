package reconcile

import (
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
)

// left is a step that the journal holds open: Proxmox is known to have taken some of its calls, the last of them as the task "u".
func left(op Op, dispatched, calls int, upid string) journal.OpenStep {
	o := journal.OpenStep{Time: time.Unix(1750000000, 0), Dispatched: dispatched, UPID: upid}
	o.Step, o.VMID, o.Kind, o.Node, o.Op = "s", 201, "VirtualMachine", "pve1", string(op)
	o.TaskVMID, o.TaskTypes = 201, taskTypes(Call{Op: op, Kind: guest.VirtualMachine})
	o.Detail = map[string]string{detailCalls: strconv.Itoa(calls)}
	return o
}

func TestSettle(t *testing.T) {
	ended := func(exit string) map[string]Task { return map[string]Task{"u": {UPID: "u", Exit: exit}} }
	there := map[int]bool{201: true}
	ours := map[int]guest.Observed{201: liveWeb(guest.StatusStopped)}
	torso := liveWeb(guest.StatusStopped)
	torso.Lock = "create"
	stranger := liveWeb(guest.StatusStopped, "tags", "theirs")
	lost := []Task{{UPID: "old", Exit: "OK"}, {UPID: "u", Running: true, Start: time.Unix(1750000000, 0)}}
	synchronous := left(OpConfig, 1, 1, "")
	synchronous.TaskTypes = nil
	untyped := left(OpConfig, 0, 1, "")
	untyped.TaskTypes = nil
	tests := map[string]struct {
		open   journal.OpenStep
		reader answers
		want   journal.Result
		asked  string // of the cluster, in order
	}{
		"task_done":          {left(OpConfig, 1, 1, "u"), answers{ends: ended("OK")}, journal.Done, "wait u"},
		"task_with_warnings": {left(OpCreate, 1, 1, "u"), answers{ends: ended("WARNINGS: 2")}, journal.Done, "wait u"},
		"task_failed":        {left(OpStart, 1, 1, "u"), answers{ends: ended("start failed: exit code 1")}, journal.Failed, "wait u"},
		"task_died_start_up": {left(OpStart, 1, 1, "u"), answers{taken: there, ends: ended("unexpected status"), status: "running"}, journal.Done, "wait u, exists 201, status 201"},
		"task_odd_warnings":  {left(OpStart, 1, 1, "u"), answers{ends: ended("WARNINGS: none")}, journal.Failed, "wait u"},

		"forgotten_create_there": {left(OpCreate, 1, 1, "u"), answers{taken: there, guests: ours}, journal.Done, "wait u, exists 201, observe 201"},
		"forgotten_create_gone":  {left(OpCreate, 1, 1, "u"), answers{}, journal.NotRun, "wait u, exists 201"},
		"forgotten_config":       {left(OpConfig, 1, 1, "u"), answers{taken: there}, journal.Unknown, "wait u, exists 201"},
		"forgotten_resize":       {left(OpResize, 1, 1, "u"), answers{taken: there}, journal.Unknown, "wait u, exists 201"},

		"synchronous_config": {synchronous, answers{}, journal.Done, ""},
		"no_reply_untyped":   {untyped, answers{taken: there}, journal.Unknown, "exists 201"},

		"no_reply_create_there":    {left(OpCreate, 0, 1, ""), answers{taken: there, guests: ours}, journal.Done, "tasks, exists 201, observe 201"},
		"no_reply_create_torso":    {left(OpCreate, 0, 1, ""), answers{taken: there, guests: map[int]guest.Observed{201: torso}}, journal.Failed, "tasks, exists 201, observe 201"},
		"no_reply_create_stranger": {left(OpCreate, 0, 1, ""), answers{taken: there, guests: map[int]guest.Observed{201: stranger}}, journal.NotRun, "tasks, exists 201, observe 201"},
		"no_reply_create_hidden":   {left(OpCreate, 0, 1, ""), answers{taken: there, observeErr: map[int]error{201: ErrDenied}}, journal.Unknown, "tasks, exists 201, observe 201"},
		"no_reply_reboot":          {left(OpReboot, 0, 1, ""), answers{taken: there}, journal.NotRun, "tasks"},
		"no_reply_reboot_ran":      {left(OpReboot, 0, 1, ""), answers{taken: there, tasks: lost, ends: ended("OK")}, journal.Failed, "tasks, wait u, exists 201"},
		"no_reply_create_gone":     {left(OpCreate, 0, 1, ""), answers{}, journal.NotRun, "tasks, exists 201"},
		"no_reply_task_still_runs": {left(OpCreate, 0, 1, ""), answers{taken: there, guests: ours, tasks: lost, ends: ended("OK")}, journal.Done, "tasks, wait u, exists 201, observe 201"},
		"no_reply_config":          {left(OpConfig, 0, 1, ""), answers{taken: there}, journal.Unknown, "tasks, exists 201"},
		"no_reply_start_up":        {left(OpStart, 0, 1, ""), answers{taken: there, status: "running"}, journal.Done, "tasks, exists 201, status 201"},
		"no_reply_start_down":      {left(OpStart, 0, 1, ""), answers{taken: there, status: "stopped"}, journal.NotRun, "tasks, exists 201, status 201"},
		"no_reply_stop_down":       {left(OpStop, 0, 1, ""), answers{taken: there, status: "stopped"}, journal.Done, "tasks, exists 201, status 201"},
		"no_reply_shutdown_up":     {left(OpShutdown, 0, 1, ""), answers{taken: there, status: "running"}, journal.NotRun, "tasks, exists 201, status 201"},
		"no_reply_start_moved":     {left(OpStart, 0, 1, ""), answers{taken: there, statusErr: ErrNotExist}, journal.Unknown, "tasks, exists 201, status 201"},
		"no_reply_destroy_gone":    {left(OpDestroy, 0, 2, ""), answers{}, journal.Done, "tasks, exists 201"},
		"no_reply_destroy_there":   {left(OpDestroy, 0, 2, ""), answers{taken: there}, journal.NotRun, "tasks, exists 201"},

		// The task that is known is the one of the stop. It says nothing about the destroy.
		"half_a_destroy_there": {left(OpDestroy, 1, 2, "u"), answers{taken: there, ends: ended("OK")}, journal.Failed, "tasks, exists 201"},
		"half_a_destroy_gone":  {left(OpDestroy, 1, 2, "u"), answers{ends: ended("OK")}, journal.Done, "tasks, exists 201"},
		"whole_destroy":        {left(OpDestroy, 2, 2, "u"), answers{ends: ended("OK")}, journal.Done, "wait u"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			reader := &fakeReader{answers: test.reader}
			got, err := settle(t.Context(), reader, test.open, owned201(), time.Time{})
			if err != nil || got != test.want {
				t.Errorf("got %q, %v, want %q", got, err, test.want)
			}
			if diff := cmp.Diff(test.asked, strings.Join(reader.asked, ", ")); diff != "" {
				t.Errorf("calls differ (-want +got):\n%s", diff)
			}
		})
	}
}

// A call without an answer may act minutes later. Where its guest shows no effect the step stays open until then, and is unknown afterwards,
// which spends its order; a composite whose own call was never sent is not. A task from before the step says nothing, and an effect is
// believed at once.
func TestSettleWaitsForWhatMayComeLate(t *testing.T) {
	there := map[int]bool{201: true}
	earlier := []Task{{UPID: "old", Exit: "OK", Start: time.Unix(1750000000, 0).Add(-time.Minute)}}
	since := []Task{{UPID: "own", Exit: "OK", Start: time.Unix(1750000000, 0)}}
	const early = journal.Result("")
	tests := map[string]struct {
		open          journal.OpenStep
		reader        answers
		before, after journal.Result // that the call can act no more
	}{
		"create":           {left(OpCreate, 0, 1, ""), answers{}, early, journal.Unknown},
		"start":            {left(OpStart, 0, 1, ""), answers{taken: there, status: "stopped"}, early, journal.Unknown},
		"started":          {left(OpStart, 0, 1, ""), answers{taken: there, status: "running"}, journal.Done, journal.Done},
		"start_earlier":    {left(OpStart, 0, 1, ""), answers{taken: there, status: "stopped", tasks: earlier}, early, journal.Unknown},
		"stop":             {left(OpStop, 0, 1, ""), answers{taken: there, status: "running"}, early, journal.Unknown},
		"shutdown":         {left(OpShutdown, 0, 1, ""), answers{taken: there, status: "running"}, early, journal.Unknown},
		"reboot":           {left(OpReboot, 0, 1, ""), answers{taken: there}, early, journal.Unknown},
		"reboot_earlier":   {left(OpReboot, 0, 1, ""), answers{taken: there, tasks: earlier}, early, journal.Unknown},
		"rebooted":         {left(OpReboot, 0, 1, ""), answers{taken: there, tasks: since}, journal.Failed, journal.Failed},
		"migrate":          {left(OpMigrate, 0, 1, ""), answers{taken: there}, early, journal.Unknown},
		"migrated":         {left(OpMigrate, 0, 1, ""), answers{taken: there, tasks: since}, journal.Unknown, journal.Unknown},
		"template":         {left(OpTemplate, 0, 1, ""), answers{taken: there}, early, journal.Unknown},
		"destroy":          {left(OpDestroy, 0, 1, ""), answers{taken: there}, early, journal.Unknown},
		"destroyed":        {left(OpDestroy, 0, 1, ""), answers{}, journal.Done, journal.Done},
		"destroy_stops":    {left(OpDestroy, 0, 2, ""), answers{taken: there}, early, journal.NotRun},
		"destroy_stopped":  {left(OpDestroy, 1, 2, "u"), answers{taken: there}, early, journal.Unknown},
		"destroy_unlocked": {left(OpDestroy, 1, 3, "u"), answers{taken: there}, early, journal.Failed},
		"config":           {left(OpConfig, 0, 1, ""), answers{taken: there}, journal.Unknown, journal.Unknown},
		"resize":           {left(OpResize, 0, 1, ""), answers{taken: there}, journal.Unknown, journal.Unknown},
		"move":             {left(OpMove, 0, 1, ""), answers{taken: there}, journal.Unknown, journal.Unknown},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			for late, want := range map[time.Time]journal.Result{time.Now().Add(time.Minute): test.before, time.Now().Add(-time.Minute): test.after} {
				got, err := settle(t.Context(), &fakeReader{answers: test.reader}, test.open, owned201(), late)
				if got != want || (want == early) != errors.Is(err, ErrUnanswered) {
					t.Errorf("got %q, %v where the call may act until %s, want %q", got, err, time.Until(late).Round(time.Minute), want)
				}
			}
		})
	}
}

// A step that nobody could look at stays open.
func TestSettleKeepsWhatItCannotSee(t *testing.T) {
	there := map[int]bool{201: true}
	torso := liveWeb(guest.StatusStopped)
	torso.Lock = "clone"
	young := func(o journal.OpenStep) journal.OpenStep {
		o.Time = time.Now()
		return o
	}
	tests := map[string]struct {
		open   journal.OpenStep
		reader answers
	}{
		"task":      {left(OpConfig, 1, 1, "u"), answers{waitErr: ErrNotReady}},
		"tasks":     {left(OpConfig, 0, 1, ""), answers{tasksErr: ErrNotReady}},
		"lost_task": {left(OpCreate, 0, 1, ""), answers{tasks: []Task{{UPID: "u", Running: true}}, waitErr: ErrNotReady}},
		"vmid":      {left(OpCreate, 0, 1, ""), answers{existsErr: ErrDenied}},
		"torso":     {young(left(OpCreate, 0, 1, "")), answers{taken: there, guests: map[int]guest.Observed{201: torso}}},
		"run_state": {left(OpStart, 0, 1, ""), answers{taken: there, statusErr: ErrNotReady}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got, err := settle(t.Context(), &fakeReader{answers: test.reader}, test.open, owned201(), time.Time{}); err == nil || got != "" {
				t.Errorf("got %q and no error, want none settled", got)
			}
		})
	}
}

// The clocks of agent and node differ, and a clone's task is filed under its template.
func TestSettleAsksForTheTasksOfTheStep(t *testing.T) {
	open := left(OpCreate, 0, 1, "")
	open.TaskVMID, open.TaskTypes = 9000, taskTypes(Call{Op: OpCreate, CloneOf: 9000, Kind: guest.VirtualMachine})
	var reader fakeReader
	if _, err := settle(t.Context(), &reader, open, journal.Owned{}, time.Time{}); err != nil {
		t.Fatal(err)
	}
	want := TaskQuery{Node: "pve1", VMID: 9000, Types: []string{"qmclone"}, Since: open.Time.Add(-clockSkew)}
	if diff := cmp.Diff(want, reader.query); diff != "" {
		t.Errorf("query differs (-want +got):\n%s", diff)
	}
}
