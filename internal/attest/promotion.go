package attest

import (
	"context"
	"errors"
	"fmt"

	"gitops-agent/gitsource"
)

// maxProblems bounds how many statements that count for nothing are named.
const maxProblems = 4

// Matched reports whether a known key signed that the cluster matched a commit on the branch. It compares the commit of the subject, the cluster and the
// branch, and no time, number of guests or observed state. If it is not so, problem names statements that count for nothing, nil if there are none.
func (r Reader) Matched(ctx context.Context, cluster, branch string, commit gitsource.ID) (found bool, problem, err error) {
	list, err := r.About(ctx, commit)
	if err != nil {
		return false, nil, err
	}
	var problems []error
	for _, a := range list {
		switch {
		case a.Problem == "" && a.Cluster == cluster && a.Branch == branch:
			return true, nil, nil
		case len(problems) == maxProblems:
		case a.Problem == "":
			problems = append(problems, fmt.Errorf("a statement is about %s/%s", a.Cluster, a.Branch))
		default:
			problems = append(problems, errors.New(a.Problem))
		}
	}
	return false, errors.Join(problems...), nil
}
