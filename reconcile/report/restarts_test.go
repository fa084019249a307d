package report_test

import (
	"slices"
	"testing"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/reason"
	"gitops-agent/reconcile/report"
)

// TestOnlyRestarts checks when waiting has no use any more: only if nothing but restarts is left, and neither the agent nor a time nor an approval makes them.
func TestOnlyRestarts(t *testing.T) {
	t.Parallel()
	left := []string{"VirtualMachine/web-1"}
	tests := map[string]struct {
		edit func(*report.Report, *report.Guest)
		want []string
	}{
		"a_restart":               {func(*report.Report, *report.Guest) {}, left},
		"and_a_warning":           {func(_ *report.Report, g *report.Guest) { add(g, plan.Warned) }, left},
		"the_manifest_forbids_it": {func(_ *report.Report, g *report.Guest) { hold(g, reason.ManifestForbids) }, left},
		"a_step_restarts_it":      {func(_ *report.Report, g *report.Guest) { g.Operation = report.Waiting }, nil},
		"it_is_being_restarted":   {func(_ *report.Report, g *report.Guest) { g.Operation = report.Busy }, nil},
		"a_window_restarts_it":    {func(_ *report.Report, g *report.Guest) { hold(g, reason.Window) }, nil},
		"an_approval_restarts_it": {func(_ *report.Report, g *report.Guest) { hold(g, reason.Approval) }, nil},
		"it_drifted_too":          {func(_ *report.Report, g *report.Guest) { add(g, plan.Drifted) }, nil},
		"a_change_is_pending_too": {func(_ *report.Report, g *report.Guest) { add(g, plan.Pending) }, nil},
		"its_restart_failed":      {func(_ *report.Report, g *report.Guest) { add(g, plan.Failed) }, nil},
		"another_guest_is_unknown": {func(r *report.Report, _ *report.Guest) {
			r.Guests = append(r.Guests, report.Guest{Sync: report.SyncUnknown})
		}, nil},
		"work_is_queued":         {func(r *report.Report, _ *report.Guest) { r.QueueDepth = 1 }, nil},
		"a_head_is_refused":      {func(r *report.Report, _ *report.Guest) { r.Source.Refused = &report.Refused{} }, nil},
		"a_head_is_checked":      {func(r *report.Report, _ *report.Guest) { r.Source.Head = "bbb" }, nil},
		"a_rollout_goes_on":      {func(r *report.Report, _ *report.Guest) { r.Rollouts = []report.Rollout{{State: journal.RolloutPaused}} }, nil},
		"nothing_may_be_written": {func(r *report.Report, _ *report.Guest) { r.Writes.Allowed = false }, nil},
		"all_in_sync":            {func(_ *report.Report, g *report.Guest) { g.Sync, g.Conditions = report.Synced, nil }, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := report.Report{Writes: report.Writes{Allowed: true}, Source: report.Source{Head: "aaa", Accepted: &report.Revision{Commit: "aaa"}}}
			r.Guests = []report.Guest{{Sync: report.Synced}, {
				GuestName: report.GuestName{Kind: guest.VirtualMachine, Name: "web-1", VMID: 201}, Sync: report.OutOfSync, Operation: report.Idle,
				Conditions: []plan.Condition{{Type: plan.PendingRestart, Reason: reason.PendingRestart}},
			}}
			web := r.Guests[1]
			test.edit(&r, &web)
			r.Guests[1] = web
			if got := r.OnlyRestarts(); !slices.Equal(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func add(g *report.Guest, kind plan.ConditionType) {
	g.Conditions = append(g.Conditions, plan.Condition{Type: kind})
}

// hold holds the restart of a guest.
func hold(g *report.Guest, why reason.Name) {
	g.Operation = report.Waiting
	g.Held = []report.HeldStep{{Op: cluster.OpReboot, Hold: report.Hold{Reason: why}}}
	add(g, plan.Held)
}
