package intake

import (
	"context"
	"errors"
	"sync"

	"gitops-agent/gitsource"
	"gitops-agent/reconcile/report"
	"gitops-agent/verify"
)

// refusedHead is a head that was refused, with everything that decides about it. Anybody who can push may put many commits on the branch, which would otherwise be
// read and verified at each poll. A wait, and an error that says nothing about the head, are never remembered.
type refusedHead struct {
	head      gitsource.ID
	policy    *verify.Policy
	base      verify.Base
	byRecords bool   // the records of the journal count too: the manifests were refused, and not the signatures
	lineage   string // of the journal
	seq       uint64 // of the journal's last record
	err       error
}

// checkUnlessRefused is check for a head that was not accepted yet. It does not verify a head again that was refused, unless something has changed.
func (in *Intake) checkUnlessRefused(ctx context.Context, head gitsource.ID, base verify.Base) (Accepted, *verify.Policy, error) {
	if err := in.refusedBefore(head, base); err != nil {
		return Accepted{}, nil, err
	}
	var asked askedFor
	state := in.journal.State()
	accepted, policy, err := in.check(ctx, head, base, &asked)
	in.refused = refusedHead{}
	if isLasting(err, &asked) {
		var rejected *verify.RejectedError
		in.refused = refusedHead{head, policy, base, !errors.As(err, &rejected), state.Lineage, state.Seq, err}
	}
	return accepted, policy, err
}

// isLasting reports whether an error refuses a head, and would do so again until something changes on this machine.
func isLasting(err error, asked *askedFor) bool {
	var rejected *verify.RejectedError
	var refused *RefusedError
	switch {
	case errors.As(err, &rejected):
		// A clone of a damaged store may have the objects.
		return rejected.Reason != verify.ReasonIncompleteHistory && !asked.mayChange(rejected)
	case errors.As(err, &refused):
		return !asked.mayChange(nil)
	}
	return false
}

// refusedBefore returns why a head was refused, nil if it was not, or if something that decides about it has changed.
func (in *Intake) refusedBefore(head gitsource.ID, base verify.Base) error {
	r := in.refused
	policy, err := in.policy()
	if err != nil || r.err == nil || r.head != head || r.policy != policy || !sameBase(r.base, base) {
		return nil //nolint:nilerr // check reports the policy
	}
	if state := in.journal.State(); r.byRecords && (r.seq != state.Seq || r.lineage != state.Lineage) {
		return nil
	}
	var rejected *verify.RejectedError
	if errors.As(r.err, &rejected) {
		in.hooks.verify(report.VerifyOutcome{Commit: string(head), Reason: string(rejected.Reason), Known: true})
	}
	return r.err
}

func sameBase(a, b verify.Base) bool {
	return a.Commit == b.Commit && a.Rewrite == b.Rewrite && a.ProvenTime.Equal(b.ProvenTime)
}

// askedFor notes the commits about which sources of evidence were asked. Their answers may be others later.
type askedFor struct {
	mu      sync.Mutex
	commits map[gitsource.ID]bool
}

// mayChange reports whether other evidence could change a refusal. Without a rejected commit, all evidence counts.
func (a *askedFor) mayChange(rejected *verify.RejectedError) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if rejected == nil || rejected.Reason == verify.ReasonTimeWentBack {
		return len(a.commits) > 0
	}
	return a.commits[rejected.Commit]
}

// wrap returns sources that note what they are asked for.
func (a *askedFor) wrap(sources []verify.Evidence) []verify.Evidence {
	wrapped := make([]verify.Evidence, 0, len(sources))
	for _, s := range sources {
		wrapped = append(wrapped, notingEvidence{s, a})
	}
	return wrapped
}

// notingEvidence is a source of evidence that notes what it is asked for.
type notingEvidence struct {
	source verify.Evidence
	asked  *askedFor
}

func (e notingEvidence) Bundles(ctx context.Context, id gitsource.ID) ([]byte, error) {
	e.asked.mu.Lock()
	if e.asked.commits == nil {
		e.asked.commits = map[gitsource.ID]bool{}
	}
	e.asked.commits[id] = true
	e.asked.mu.Unlock()
	return e.source.Bundles(ctx, id) //nolint:wrapcheck // the source names what it could not read
}
