package intake

import (
	"context"
	"time"

	"gitops-agent/gitsource"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/report"
	"gitops-agent/reconcile/writer"
	"gitops-agent/verify"
)

// A Proposal is what the judgement of a tip needs that no agent has fetched: the repository with the tip, and the policy and the state of the agent. Its
// judgement is that of Intake.Poll at this moment, with the floor that the caller read, and changes nothing.
type Proposal struct {
	Repo          *gitsource.Repository
	Policy        *verify.Policy
	Scope         Scope
	State         journal.State // of the agent
	Floor         writer.Floor  // of the cluster; zero if there is none, or if it was not read
	Note          RewriteNote
	RecordSigners bool // as in Options
	Evidence      []verify.Evidence
	Promotion     *Promotion // as in Options
}

// A Judgement is what the agent would accept.
type Judgement struct {
	Commit   gitsource.ID  // that would come into force: the tip, or an older commit if newer ones name only other clusters
	Base     gitsource.ID  // the accepted revision or, if it is newer, the floor; "" if there is neither
	Accepted Accepted      // valid if there is no error
	Ahead    *report.Ahead // the commits of the tip above Commit, nil if there are none
}

// Judge decides whether the agent would accept a tip. Refusal returns the reason in an error that is a refusal; any other error means that nothing was
// decided.
func (p Proposal) Judge(ctx context.Context, tip gitsource.ID) (Judgement, error) {
	var j Judgement
	var base baseline
	var earlier Accepted
	var revoked bool
	last := p.State.Accepted
	switch {
	case p.Floor.Above(last):
		j.Base = gitsource.ID(p.Floor.Commit)
		base = baseline{verify.Base{Commit: j.Base, ProvenTime: p.Floor.ProvenTime}, p.Floor.Sequence, true}
	case last != nil:
		j.Base = gitsource.ID(last.Commit)
		base.Base = verify.Base{Commit: j.Base, ProvenTime: last.ProvenTime}
		if _, err := p.Repo.Commit(ctx, j.Base); err == nil { // the agent keeps it; a rewritten history does not contain it
			earlier, err = p.check(ctx, j.Base, base.Base, Accepted{})
			revoked = refusal(j.Base, err, time.Time{}) != nil
		}
	}
	var err error
	if j.Commit, err = p.Policy.Candidate(ctx, p.Repo, tip); err != nil {
		return j, err
	}
	if j.Commit != tip {
		if j.Ahead, err = aheadOf(ctx, p.Repo, p.Policy.Target(), tip, j.Commit); err != nil {
			return j, err
		}
	}
	base.Rewrite = p.Note.read()
	if j.Accepted, err = p.check(ctx, j.Commit, base.Base, earlier); err != nil {
		return j, base.explain(err)
	}
	if revoked && !signedByChanger(j.Accepted.revision) {
		j.Accepted = Accepted{}
		return j, revokedError(j.Commit)
	}
	return j, nil
}

func (p Proposal) check(ctx context.Context, head gitsource.ID, base verify.Base, earlier Accepted) (Accepted, error) {
	rev, err := WithEvidence(p.Policy, p.State, head, p.Evidence...).Check(ctx, p.Repo, head, base)
	if err != nil {
		return Accepted{}, err
	}
	if err := p.Promotion.Check(ctx, p.Repo, rev); err != nil {
		return Accepted{}, err
	}
	return acceptFor(ctx, p.Repo, rev, p.Scope, earlier, recordsSigners(p.Policy, p.RecordSigners), p.State)
}

// Refusal returns why the agent would refuse a head or let it wait, or nil if the error of a judgement is neither.
func Refusal(head gitsource.ID, err error) *report.Refused {
	if w := waitingForStatement(head, err); w != nil {
		return &report.Refused{Commit: w.Commit, Reason: w.Reason, Error: w.Text(), Hint: w.Hint, Since: time.Now()}
	}
	return refusal(head, err, time.Now())
}
