package writer

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"sync"
	"time"

	"gitops-agent/reconcile/journal"
)

// Pool is the pool whose comment contains the floor and the writer. The pool has no members.
const Pool = "gitops-agent"

// ErrComment reports a pool comment that does not have the agent's form. An agent without a local state accepts nothing until a person has
// looked at the comment.
var ErrComment = errors.New("the comment of pool " + Pool + " does not have the form that the agent writes")

// Floor is the newest revision that was ever accepted for the cluster. The zero Floor is none. Floors can be compared with ==.
type Floor struct {
	Commit     string
	ProvenTime time.Time
	Sequence   uint64
}

// FloorOf returns an accepted revision as a floor.
func FloorOf(a journal.Accepted) Floor {
	return Floor{Commit: a.Commit, ProvenTime: a.ProvenTime, Sequence: a.Sequence}
}

// Above reports whether the floor is newer than last, the revision that the local state accepted last.
func (f Floor) Above(last *journal.Accepted) bool {
	return f.Sequence > 0 && (last == nil || f.Sequence > last.Sequence)
}

// Mark names the process that may write. The zero Mark is nobody. A greater number was claimed later.
type Mark struct {
	Number uint64
	Nonce  string
}

// Comment is the content of the pool's comment. The zero Comment is that of a cluster without an agent.
type Comment struct {
	Floor  Floor
	Writer Mark
}

var commentText = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^gitops-agent floor ([0-9]{1,19}) ([0-9a-f]{40}) (\S{20,35})(?: writer ([0-9]{1,19}) ([A-Z2-7]{16}))?$`)
})

// String returns the comment's text: "gitops-agent floor 12 <commit> 2026-03-01T12:00:00Z writer 3 <nonce>". Older releases wrote no writer.
func (c Comment) String() string {
	f := c.Floor
	text := fmt.Sprintf("gitops-agent floor %d %s %s", f.Sequence, f.Commit, f.ProvenTime.UTC().Format(time.RFC3339Nano))
	if c.Writer != (Mark{}) {
		text += fmt.Sprintf(" writer %d %s", c.Writer.Number, c.Writer.Nonce)
	}
	return text
}

// Parse reads the text of a comment.
func Parse(text string) (Comment, error) {
	m := commentText().FindStringSubmatch(text)
	if m == nil {
		return Comment{}, fmt.Errorf("%w: got %.120q", ErrComment, text)
	}
	sequence, err := strconv.ParseUint(m[1], 10, 64)
	proven, timeErr := time.Parse(time.RFC3339Nano, m[3])
	c := Comment{Floor: Floor{Commit: m[2], ProvenTime: proven.UTC(), Sequence: sequence}}
	var numberErr error
	if m[5] != "" {
		c.Writer.Nonce = m[5]
		c.Writer.Number, numberErr = strconv.ParseUint(m[4], 10, 64)
	}
	if errors.Join(err, timeErr, numberErr) != nil || sequence == 0 || m[5] != "" && c.Writer.Number == 0 {
		return Comment{}, fmt.Errorf("%w: got %.120q", ErrComment, text)
	}
	if c.String() != text {
		return Comment{}, fmt.Errorf("%w: got %.120q, want %q", ErrComment, text, c.String())
	}
	return c, nil
}
