package cluster

import (
	"context"
	"slices"
	"time"

	"gitops-agent/reconcile/guest"
)

// ObjectReader reads the objects of kinds that are no guests: pools, jobs, rules.
type ObjectReader interface {
	// Objects reads the objects of a kind that the token may see, and those of ids, by their ids. An object of ids that is not in the result does not exist:
	// its absence from a list alone proves nothing, so the kind asks for it.
	Objects(ctx context.Context, kind guest.Kind, ids []string) (map[string]Object, error)
	// ObjectUser reads what uses an object that Proxmox would remove all the same, "" if nothing does.
	ObjectUser(ctx context.Context, kind guest.Kind, id string) (string, error)
}

// Object is one reading of an object that is no guest.
type Object struct {
	ID     string            // Proxmox's own: the name of a pool, the id of a job
	Keys   map[string]string // native texts in the canonical form of the kind; a key that is not set is missing
	Digest string            // of what a call would change, for a call that carries one; "" if the API has none
}

// Objects is the newest reading of a kind.
type Objects struct {
	ByID   map[string]Object
	Asked  []string  // ids that were asked for: those that are not in ByID do not exist
	Part   bool      // nothing but the objects of Asked was read
	ReadAt time.Time // zero if the kind was never read
	Err    string    // why the newest reading failed; ByID is older
}

// Knows reports whether the newest reading shows whether an object exists.
func (o Objects) Knows(id string) bool {
	_, exists := o.ByID[id]
	return o.Err == "" && !o.ReadAt.IsZero() && (exists || slices.Contains(o.Asked, id))
}
