package statusview

import (
	"strings"
	"testing"

	"gitops-agent/cmd/gitops-agent/internal/term"
	"gitops-agent/reconcile/report"
)

// TestWaitForACommitForOtherTargets waits for a commit that names only other targets: the agent passes over it, so the wait ends at once.
func TestWaitForACommitForOtherTargets(t *testing.T) {
	t.Parallel()
	r := report.Report{Converged: true}
	r.Source.Accepted = &report.Revision{Commit: "aaaa1111"}
	r.Source.Ahead = &report.Ahead{Commit: "bbbb2222", Commits: 2, Targets: []string{"hme/main"}}
	over, err := waitIsOver(r, Wait{Revision: "bbbb"})
	if !over || err == nil || term.ExitStatus(err) != term.ExitRefused || !strings.Contains(err.Error(), "hme/main") {
		t.Errorf("got %v, %v, want the wait to end with exit status 4 and the target", over, err)
	}
	if over, err := waitIsOver(r, Wait{Revision: "aaaa"}); !over || err != nil {
		t.Errorf("got %v, %v for the revision in force, want the end of the wait", over, err)
	}
}
