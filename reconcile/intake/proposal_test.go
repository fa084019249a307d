package intake

import (
	"testing"

	"gitops-agent/gitsource"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/report"
	"gitops-agent/verify"
)

// A proposal is judged as a poll would judge it, and nothing is journaled.
func TestJudge(t *testing.T) {
	t.Parallel()
	a := newAccepting(t)
	policy, err := a.opts.Policy()
	a.ok(err)
	head, err := a.opts.Source.Fetch(t.Context())
	a.ok(err)
	p := Proposal{Repo: a.opts.Source.Repository(), Policy: policy, Scope: a.opts.Scope}
	j, err := p.Judge(t.Context(), head.Commit)
	a.ok(err)
	if !j.Accepted.Valid() || j.Commit != head.Commit || j.Base != "" || a.opts.Journal.State().Accepted != nil {
		t.Errorf("got %+v, want the head as the first revision, and an empty journal", j)
	}
	p.State.Accepted = &journal.Accepted{Commit: string(head.Commit), ProvenTime: j.Accepted.Revision().ProvenTime()}
	if j, err := p.Judge(t.Context(), head.Commit); err != nil || !j.Accepted.Valid() || j.Base != head.Commit {
		t.Errorf("the accepted revision: got %+v and %v, want it accepted again", j, err)
	}
	p.State.Accepted.Commit = "1111111111111111111111111111111111111111"
	j, err = p.Judge(t.Context(), head.Commit)
	if refused := Refusal(head.Commit, err); j.Accepted.Valid() || refused == nil || refused.Reason != string(verify.ReasonNotDescendant) {
		t.Errorf("another history: got %+v and %v, want %s", j, err, verify.ReasonNotDescendant)
	}
	note := RewriteNote{Dir: t.TempDir()}
	a.ok(note.Write(head.Commit))
	p.Note = note
	if j, err := p.Judge(t.Context(), head.Commit); err != nil || !j.Accepted.Valid() {
		t.Errorf("allowed rewrite: got %+v and %v, want it accepted", j, err)
	}
	if note.read() != head.Commit {
		t.Error("got no permission any more, want it kept")
	}
	p.State.Accepted = nil
	p.Scope.Cluster = "another"
	if _, err := p.Judge(t.Context(), head.Commit); Refusal(head.Commit, err) == nil || Refusal(head.Commit, err).Reason != report.RefusedCluster {
		t.Errorf("another cluster: got %v, want it refused", err)
	}
	if _, err := p.Judge(t.Context(), gitsource.ID("short")); err == nil || Refusal("", err) != nil {
		t.Errorf("no commit id: got %v, want an error that is not a refusal", err)
	}
}
