package intake

import (
	"context"

	"gitops-agent/gitsource"
	"gitops-agent/reconcile/report"
	"gitops-agent/verify"
)

// selection is the candidate of a head under a policy. A branch of several clusters can have many commits above the candidate, which need not be read
// again at each poll.
type selection struct {
	policy          *verify.Policy
	head, candidate gitsource.ID
	ahead           *report.Ahead // nil if the head is the candidate
}

// candidate returns the commit that the branch with this head has for the cluster. While the policy cannot be read it is the head, which is then not
// checked.
func (in *Intake) candidate(ctx context.Context, head gitsource.ID) (gitsource.ID, error) {
	policy, err := in.policy()
	if err != nil {
		return head, nil //nolint:nilerr // accept reports the policy
	}
	if in.selected.policy == policy && in.selected.head == head {
		return in.selected.candidate, nil
	}
	id, err := policy.Candidate(ctx, in.source.Repository(), head)
	if err != nil {
		return head, err
	}
	selected := selection{policy: policy, head: head, candidate: id}
	if id != head {
		if selected.ahead, err = aheadOf(ctx, in.source.Repository(), policy.Target(), head, id); err != nil {
			return head, err
		}
		in.log.InfoContext(ctx, "newer commits name only other clusters", "head", string(head), "revision", string(id), "commits", selected.ahead.Commits, "targets", selected.ahead.Targets)
	}
	in.selected = selected
	return id, nil
}
