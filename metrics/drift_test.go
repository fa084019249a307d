package metrics_test

import (
	"strings"
	"testing"
	"time"

	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/reason"
	"gitops-agent/reconcile/report"
)

// TestDriftStart checks that a guest which only waits for a restart has no age of drift, so that the alert for drift leaves it to the one for restarts.
func TestDriftStart(t *testing.T) {
	t.Parallel()
	drifted, waits := plan.Condition{Type: plan.Drifted, Reason: reason.Differs}, plan.Condition{Type: plan.PendingRestart, Reason: reason.PendingRestart}
	written, open := report.Change{Key: "memory", Waits: true}, report.Change{Key: "cores"}
	tests := map[string]struct {
		changes    []report.Change
		conditions []plan.Condition
		want       string
	}{
		"differs":                           {[]report.Change{open}, []plan.Condition{drifted}, "1.7e+09"},
		"only waits for a restart":          {[]report.Change{written, written}, []plan.Condition{drifted, waits}, "0"},
		"waits, and differs in another key": {[]report.Change{written, open}, []plan.Condition{drifted, waits}, "1.7e+09"},
		"waits, and its restart failed":     {[]report.Change{written}, []plan.Condition{drifted, waits, {Type: plan.Failed}}, "1.7e+09"},
		"run state":                         {nil, []plan.Condition{drifted}, "1.7e+09"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			m, registry := newMetrics(t)
			m.Report(report.Report{Guests: []report.Guest{{
				GuestName: report.GuestName{Kind: guest.VirtualMachine, Name: "web-1", VMID: 201}, Sync: report.OutOfSync, DriftSince: time.Unix(1_700_000_000, 0),
				Changes: test.changes, Conditions: test.conditions,
			}}})
			want := `gitops_agent_guest_drift_start_timestamp_seconds{kind="VirtualMachine",vmid="201"} ` + test.want + "\n"
			if got := scrape(t, registry); !strings.Contains(got, want) {
				t.Errorf("got no %q in the metrics", want)
			}
		})
	}
}
