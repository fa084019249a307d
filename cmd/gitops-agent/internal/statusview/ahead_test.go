package statusview

import (
	"strings"
	"testing"

	"gitops-agent/cmd/gitops-agent/internal/term"
	"gitops-agent/reconcile/reason"
	"gitops-agent/reconcile/report"
)

// A revision that does not verify any more is accepted and not in force: no line says both.
func TestAcceptedAndNotInForce(t *testing.T) {
	t.Parallel()
	r := report.Report{Converged: false, Writes: report.Writes{Reason: reason.StopUnverified, Message: "signer unknown"}}
	r.Source.Accepted = &report.Revision{Commit: "aaaa1111aaaa"}
	rows := headRows(r)
	if rows[0][0].Text != "accepted" {
		t.Errorf("got the row %v, want the revision as accepted", rows[0])
	}
	if over, _ := waitIsOver(r, Wait{Revision: "aaaa"}); over {
		t.Error("got the end of a wait for a revision that is not in force")
	}
	if got := outstanding(r, "", nil); got != "aaaa111 is accepted, and not in force: signer unknown" {
		t.Errorf("got %q", got)
	}
	r.Writes = report.Writes{Allowed: true, Reason: reason.WritesAllowed}
	if rows := headRows(r); rows[0][0].Text != "in force" {
		t.Errorf("got the row %v, want the revision in force", rows[0])
	}
}

// TestWaitForACommitForOtherTargets waits for a commit that names only other targets: the agent passes over it, so the wait ends at once.
func TestWaitForACommitForOtherTargets(t *testing.T) {
	t.Parallel()
	r := report.Report{Converged: true}
	r.Source.Accepted = &report.Revision{Commit: "aaaa1111"}
	r.Source.Ahead = &report.Ahead{Commit: "bbbb2222", Commits: 2, Targets: []string{"hme/main"}, IDs: []string{"bbbb2222", "cccc3333"}, Unknown: []string{"hme/main"}, Hint: "sign one more"}
	for _, revision := range []string{"bbbb", "cccc3333"} {
		over, err := waitIsOver(r, Wait{Revision: revision})
		if hint, _ := term.Hint(err); !over || err == nil || term.ExitStatus(err) != term.ExitRefused || !strings.Contains(err.Error(), "no manifest of the kind Cluster") || hint != "sign one more" {
			t.Errorf("%s: got %v, %v, want the wait to end with exit status 4, the target and the remedy", revision, over, err)
		}
	}
	if over, err := waitIsOver(r, Wait{Revision: "aaaa"}); !over || err != nil {
		t.Errorf("got %v, %v for the revision in force, want the end of the wait", over, err)
	}
}
