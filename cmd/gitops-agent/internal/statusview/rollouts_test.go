package statusview

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"gitops-agent/cmd/gitops-agent/internal/term"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/report"
)

var rolloutTime = time.Date(2026, 3, 8, 12, 0, 0, 0, time.UTC)

func rolloutReport(state journal.RolloutState, withheld int) report.Report {
	return report.Report{
		Time: rolloutTime, Source: report.Source{Accepted: &report.Revision{Commit: "3f2a1c9e0d4b5a6c"}},
		Rollouts: []report.Rollout{{
			Name: "web", Revision: "3f2a1c9e0d4b5a6c", State: state, Batch: 3, Batches: 11, Guests: 200, Withheld: withheld, Since: rolloutTime.Add(-time.Hour),
			Why: "VirtualMachine/web-30: it does not run", Hint: "gitops-agent order promote Rollout/web revision=3f2a1c9e0d4b5a6c continues",
		}},
	}
}

func TestRolloutsTable(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	r := rolloutReport(journal.RolloutFailed, 159)
	table := rolloutsTable(r.Rollouts, r.Time)
	table.Write(&out, term.Palette{})
	for _, want := range []string{"web", "failed", "3 of 11", "159 of 200 guests", "3f2a1c9e0d", "VirtualMachine/web-30: it does not run", "promote Rollout/web revision=3f2a1c9e0d4b5a6c continues"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("got %q, want %q in it", out.String(), want)
		}
	}
}

func TestWaitForRollouts(t *testing.T) {
	t.Parallel()
	tests := map[journal.RolloutState]struct {
		over bool
		err  string
	}{
		journal.RolloutRunning: {false, ""},
		journal.RolloutPaused:  {false, ""},
		journal.RolloutDone:    {true, ""},
		journal.RolloutFailed:  {true, "Rollout/web: batch 3 of 11 has failed, 159 of 200 guests wait: VirtualMachine/web-30: it does not run"},
		journal.RolloutHeld:    {true, "is held"},
		journal.RolloutAborted: {true, "was aborted"},
	}
	for state, want := range tests {
		over, err := waitIsOver(rolloutReport(state, 159), Wait{Rollout: true, Revision: "3f2a1c9"})
		if over != want.over || (err == nil) != (want.err == "") || err != nil && !strings.Contains(err.Error(), want.err) {
			t.Errorf("%s: got %t, %v, want %t, %q", state, over, err, want.over, want.err)
		}
	}
	if over, err := waitIsOver(rolloutReport(journal.RolloutDone, 0), Wait{Rollout: true, Revision: "ffffff1"}); over || err != nil {
		t.Errorf("got %t, %v, want a wait for the revision", over, err)
	}
	if got := outstanding(rolloutReport(journal.RolloutRunning, 159), "", nil); !strings.Contains(got, "Rollout/web: batch 3 of 11 is being changed") {
		t.Errorf("got %q, want what the rollout waits for", got)
	}
}
