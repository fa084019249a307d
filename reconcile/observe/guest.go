package observe

import (
	"context"
	"errors"
	"fmt"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
)

// ErrMoved marks a guest that exists and is not where the inventory lists it: it has moved since, or is moving.
var ErrMoved = errors.New("the guest is not on the node that the list of guests has")

// Reading is the outcome of looking for one guest. Exactly one of Seen, Absence and Err is set.
type Reading struct {
	VMID    int
	Row     cluster.Row     // where the guest was looked for; without a node if nowhere
	Seen    guest.Observed  // the guest, if it was read
	Absence cluster.Absence // Gone or Hidden, if it is not there
	Err     error           // ErrMoved, or why it could not be read
}

// Find looks for a guest where row has it, and reads it in full. Listed reports whether the inventory contains the row; a row without a
// node is a guest of which only the vmid is known. A guest is Gone only if the cluster itself reports its vmid as free.
func Find(ctx context.Context, reader cluster.Reader, row cluster.Row, listed bool, version guest.Version) Reading {
	r := Reading{VMID: row.VMID, Row: row}
	if row.Node != "" {
		r.Seen, r.Err = ReadGuest(ctx, reader, row, version)
	}
	if row.Node == "" || errors.Is(r.Err, cluster.ErrNotExist) || !listed && errors.Is(r.Err, cluster.ErrDenied) {
		r.Absence, r.Err = absence(ctx, reader, row.VMID)
	}
	if listed && r.Absence == cluster.Hidden {
		r.Absence, r.Err = "", fmt.Errorf("read guest %d on %s: %w", row.VMID, row.Node, ErrMoved)
	}
	return r
}

// ReadGuest reads a guest in full on the node of row. It reads the run state from the guest itself if row does not have it, and notes the
// cluster's release. Every reading of a guest passes through here.
func ReadGuest(ctx context.Context, reader cluster.Reader, row cluster.Row, version guest.Version) (guest.Observed, error) {
	var process *guest.Process
	if row.Status == guest.StatusUnknown {
		var err error
		if row.Status, process, err = reader.Status(ctx, row); err != nil {
			return guest.Observed{}, err
		}
	}
	seen, err := reader.Observe(ctx, row)
	seen.Version, seen.Process = version, process
	return seen, err
}

// WithSnapshots returns a guest that was just read with its snapshots. It fails with ErrConflict if the configuration has changed since.
func WithSnapshots(ctx context.Context, reader cluster.Reader, seen guest.Observed) (guest.Observed, error) {
	snapshots, err := reader.Snapshots(ctx, cluster.Row{Kind: seen.Kind, VMID: seen.VMID, Node: seen.Node})
	if err != nil {
		return seen, fmt.Errorf("read the snapshots of guest %d: %w", seen.VMID, err)
	}
	if snapshots.Digest != seen.Digest {
		return seen, fmt.Errorf("read the snapshots of guest %d: its configuration changed meanwhile: %w", seen.VMID, cluster.ErrConflict)
	}
	seen.Snapshots = &snapshots
	return seen, nil
}

// absence asks the cluster about a vmid that no list has: Gone if it is free, Hidden if a guest has it that the token may not see.
func absence(ctx context.Context, reader cluster.Reader, vmid int) (cluster.Absence, error) {
	taken, err := reader.Exists(ctx, vmid)
	switch {
	case err != nil:
		return "", fmt.Errorf("ask for vmid %d: %w", vmid, err)
	case taken:
		return cluster.Hidden, nil
	default:
		return cluster.Gone, nil
	}
}
