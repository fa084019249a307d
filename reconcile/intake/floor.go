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

// FloorPool is the pool whose comment is the floor. It has no members.
const FloorPool = "gitops-agent"

// floor is the newest revision that was ever accepted for the cluster, as the cluster itself remembers it. An agent that lost its
// state, or got an older one back from a backup, does not accept anything below it.
type floor struct {
	Commit     gitsource.ID
	ProvenTime time.Time
	Sequence   uint64
}

// errFloor says that the floor cannot be read for what it is. Nothing is accepted until a person looked.
var errFloor = errors.New("the comment of pool " + FloorPool + " is not what the agent writes")

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
		return floor{}, fmt.Errorf("%w: got %.80q, which says the same in other words", errFloor, comment)
	}
	return f, nil
}

// readFloor returns the cluster's floor, the zero floor where none was ever written.
func readFloor(ctx context.Context, keeper FloorKeeper) (floor, error) {
	comment, found, err := keeper.PoolComment(ctx, FloorPool)
	if err != nil || !found {
		return floor{}, err
	}
	return parseFloor(comment)
}

// floorOf returns the floor that an accepted revision makes.
func floorOf(a journal.Accepted) floor {
	return floor{Commit: gitsource.ID(a.Commit), ProvenTime: a.ProvenTime, Sequence: a.Sequence}
}

// above reports whether the floor is newer than what the local state accepted last.
func (f floor) above(last *journal.Accepted) bool {
	return f.Sequence > 0 && (last == nil || f.Sequence > last.Sequence)
}

// FloorKeeper keeps the floor where it outlives the agent's own disk: in the comment of a Proxmox pool.
type FloorKeeper interface {
	// PoolComment returns the comment of a pool, and false where there is no such pool.
	PoolComment(ctx context.Context, pool string) (comment string, found bool, err error)
	// SetPoolComment writes the comment of a pool, and makes the pool where it is missing.
	SetPoolComment(ctx context.Context, pool, comment string) error
}

// foundation is what a head has to descend from.
type foundation struct {
	verify.Base
	sequence  uint64
	forgotten bool // it is the cluster's floor: the local state does not know what happened before it
}
