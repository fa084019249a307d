package cluster

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"gitops-agent/reconcile/edge"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/object"
)

// HARules is the kind of the rules of the HA manager. What else decides where it runs guests is read with them.
const HARules guest.Kind = "AffinityRule"

// ObjectReader reads the objects of kinds that are no guests: pools, jobs, rules.
type ObjectReader interface {
	// HABalances reports whether the HA manager moves running guests between nodes to balance these, whatever its rules leave open.
	HABalances(ctx context.Context) (bool, error)
	// Objects reads the objects of a kind that the token may see, and those of ids, by their ids. An object of ids that is not in the result does not exist:
	// its absence from a list alone proves nothing, so the kind asks for it. With an UnreadError, the objects that it does not name were read.
	Objects(ctx context.Context, kind guest.Kind, ids []string) (map[string]Object, error)
	// CheckObject reads what forbids an operation on an object that Proxmox would carry out all the same, and returns a UsedError if something uses the object. First is
	// what used it the last time, the zero Key if nothing did: it is read first.
	CheckObject(ctx context.Context, op Op, kind guest.Kind, id string, first object.Key) error
}

// UsedError refuses to remove an object that something uses.
type UsedError struct {
	By edge.Edge // from what uses the object; its text is "rule 0 of guest 300 names it"
}

// Error states what uses the object.
func (e *UsedError) Error() string { return "the object is in use: " + e.By.Text }

// IsUsed reports whether a removal was refused because something uses the object.
func IsUsed(err error) bool {
	var used *UsedError
	return errors.As(err, &used)
}

// Object is one reading of an object that is no guest.
type Object struct {
	ID     string            // Proxmox's own: the name of a pool, the id of a job
	Keys   map[string]string // native texts in the canonical form of the kind; a key that is not set is missing
	Digest string            // of what a call would change, for a call that carries one; "" if the API has none
	Never  bool              // it is enabled and has a schedule, and Proxmox knows no time at which it runs next
}

// UnreadError says that some objects of a kind could not be read, as without a privilege on a guest, and that the others were.
type UnreadError struct {
	ByID map[string]error
}

func (e *UnreadError) Error() string {
	var texts []string
	for _, id := range slices.Sorted(maps.Keys(e.ByID)) {
		texts = append(texts, id+": "+e.ByID[id].Error())
	}
	return strings.Join(texts, "; ")
}

// Unwrap returns why each object could not be read.
func (e *UnreadError) Unwrap() []error { return slices.Collect(maps.Values(e.ByID)) }

// Objects is the newest reading of a kind.
type Objects struct {
	ByID   map[string]Object
	Asked  []string  // ids that were asked for: those that are not in ByID do not exist
	Part   bool      // nothing but the objects of Asked was read
	ReadAt time.Time // zero if the kind was never read
	Err    string    // why the newest reading failed; ByID is older

	Unread map[string]string // why objects could not be read, by their ids, which are not in Asked

	Balanced bool // of the rules of the HA manager: it moves running guests to balance the nodes as well
}

// Knows reports whether the newest reading shows whether an object exists.
func (o Objects) Knows(id string) bool {
	_, exists := o.ByID[id]
	return o.Err == "" && !o.ReadAt.IsZero() && (exists || slices.Contains(o.Asked, id))
}
