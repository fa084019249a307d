package intake

import (
	"errors"
	"fmt"

	"gitops-agent/verify"
)

// baseline is the revision that a head has to descend from.
type baseline struct {
	verify.Base
	sequence  uint64
	fromFloor bool // the base is the cluster's floor, because the local state is missing or older
}

// explain says in the refusal of a branch that does not contain the cluster's floor what the floor is. Its commit identifies the repository and the branch
// that manage the cluster: the agent may have been given another repository.
func (b baseline) explain(err error) error {
	var rejected *verify.RejectedError
	if !b.fromFloor || !errors.As(err, &rejected) || rejected.Reason != verify.ReasonNotDescendant {
		return err
	}
	explained := *rejected
	explained.Err = fmt.Errorf("this Proxmox cluster is managed from the branch that contains commit %s, as the comment of its pool says: %w", b.Commit, rejected.Err)
	explained.Hint = "a Proxmox cluster has one repository and branch: give the agent that of the commit, or, if its history was rewritten, " +
		"allow the new head: gitops-agent allow-rewrite <full sha>"
	return &explained
}
