package intake

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"time"

	"gitops-agent/gitsource"
	"gitops-agent/reconcile/journal"
	"gitops-agent/verify"
)

// FloorPool is the pool whose comment contains the floor. The pool has no members.
const FloorPool = "gitops-agent"

// floor is the newest revision that was ever accepted for the cluster. The cluster itself stores it. An agent that lost its state, or got
// an older state back from a backup, does not accept anything below the floor.
type floor struct {
	Commit     gitsource.ID
	ProvenTime time.Time
	Sequence   uint64
}

// errFloor reports a pool comment that does not have the agent's form. An agent without a local state accepts nothing until a person has
// looked at the comment.
var errFloor = errors.New("the comment of pool " + FloorPool + " does not have the form that the agent writes")

var floorText = regexp.MustCompile(`^gitops-agent floor ([0-9]{1,19}) ([0-9a-f]{40}) (\S{20,35})$`)

// String returns the floor as the pool's comment: "gitops-agent floor 12 <commit> 2026-03-01T12:00:00Z".
func (f floor) String() string {
	return fmt.Sprintf("gitops-agent floor %d %s %s", f.Sequence, f.Commit, f.ProvenTime.UTC().Format(time.RFC3339Nano))
}

// parseFloor reads a pool's comment.
func parseFloor(comment string) (floor, error) {
	m := floorText.FindStringSubmatch(comment)
	if m == nil {
		return floor{}, fmt.Errorf("%w: got %.80q", errFloor, comment)
	}
	sequence, err := strconv.ParseUint(m[1], 10, 64)
	proven, terr := time.Parse(time.RFC3339Nano, m[3])
	if err := errors.Join(err, terr); err != nil || sequence == 0 {
		return floor{}, fmt.Errorf("%w: got %.80q", errFloor, comment)
	}
	f := floor{Commit: gitsource.ID(m[2]), ProvenTime: proven.UTC(), Sequence: sequence}
	if f.String() != comment {
		return floor{}, fmt.Errorf("%w: got %.80q, want %q", errFloor, comment, f.String())
	}
	return f, nil
}

// readFloor returns the cluster's floor, or the zero floor if none was ever written.
func readFloor(ctx context.Context, keeper FloorKeeper) (floor, error) {
	comment, found, err := keeper.PoolComment(ctx, FloorPool)
	if err != nil || !found {
		return floor{}, err
	}
	return parseFloor(comment)
}

// floorOf returns an accepted revision as a floor.
func floorOf(a journal.Accepted) floor {
	return floor{Commit: gitsource.ID(a.Commit), ProvenTime: a.ProvenTime, Sequence: a.Sequence}
}

// above reports whether the floor is newer than last, the revision that the local state accepted last.
func (f floor) above(last *journal.Accepted) bool {
	return f.Sequence > 0 && (last == nil || f.Sequence > last.Sequence)
}

// FloorKeeper stores the floor outside of the agent's own disk: in the comment of a Proxmox pool.
type FloorKeeper interface {
	// PoolComment returns the comment of a pool, or false if the pool does not exist.
	PoolComment(ctx context.Context, pool string) (comment string, found bool, err error)
	// SetPoolComment writes the comment of a pool, and creates the pool if it does not exist.
	SetPoolComment(ctx context.Context, pool, comment string) error
}

// baseline is the revision that a head has to descend from.
type baseline struct {
	verify.Base
	sequence  uint64
	fromFloor bool // the base is the cluster's floor, because the local state is missing or older
}
