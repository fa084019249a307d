package intake

import (
	"context"
	"time"

	"gitops-agent/gitsource"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/report"
	"gitops-agent/verify"
)

// Evidence finds what a transparency log knows of commits of gitsign's online mode.
type Evidence interface {
	// Sources begins a search while the remote has these notes, "" for none. It returns what package verify asks, in this order.
	Sources(notes gitsource.ID) []verify.Evidence
	// Problem returns why the newest search found nothing, or was not complete; nil if nothing was looked for.
	Problem() error
}

// withEvidence returns the policy with the evidence about a head. Asked notes what the sources are asked for.
func (in *Intake) withEvidence(policy *verify.Policy, head gitsource.ID, asked *askedFor) *verify.Policy {
	if in.evidence == nil {
		return WithEvidence(policy, in.journal.State(), head)
	}
	return WithEvidence(policy, in.journal.State(), head, asked.wrap(in.evidence.Sources(in.notes))...)
}

// WithEvidence returns the policy with the evidence about a head that an agent with this state uses: about the accepted revision that in the journal, so
// that nobody can change it or take it away, and otherwise that of the sources.
func WithEvidence(policy *verify.Policy, state journal.State, head gitsource.ID, sources ...verify.Evidence) *verify.Policy {
	if e := state.Evidence; e != nil && e.Commit == string(head) {
		return policy.WithEvidence(journaledEvidence(*e))
	}
	return policy.WithEvidence(sources...)
}

// journaledEvidence is the evidence about the accepted revision.
type journaledEvidence journal.Evidence

// Bundles returns the bundle, if it is about this commit.
func (e journaledEvidence) Bundles(_ context.Context, id gitsource.ID) ([]byte, error) {
	if string(id) != e.Commit {
		return nil, nil
	}
	return []byte(e.Bundle), nil
}

// evidenceRecord returns the record of the evidence that proved a revision, nil if its signature contains what the log knows.
func (a Accepted) evidenceRecord() []journal.Body {
	bundle := a.revision.Evidence()
	if bundle == nil {
		return nil
	}
	return []journal.Body{journal.Evidence{Commit: string(a.revision.Commit()), Bundle: string(bundle)}}
}

// waiting returns the report of a head that waits for evidence or for a statement, or nil if the error is another one.
func (in *Intake) waiting(head gitsource.ID, err error, at time.Time) *report.WaitingHead {
	if w := waitingForStatement(head, err); w != nil {
		w.Since = at
		return w
	}
	if !verify.IsMissingEvidence(err) {
		return nil
	}
	w := &report.WaitingHead{
		Commit: string(head), Reason: string(verify.ReasonEvidenceMissing), Error: err.Error(), Since: at,
		Hint: "gitops-agent evidence fetch A..B --rekor URL, then git push origin refs/notes/gitops-evidence; later commits: git config gitsign.rekorMode offline",
	}
	if in.evidence != nil {
		if problem := in.evidence.Problem(); problem != nil {
			w.Problem = problem.Error()
		}
	}
	return w
}
