package observe

import (
	"context"
	"fmt"
	"gitops-agent/reconcile/cluster"
)

// Absent asks the cluster itself about a vmid that no list shows.
func Absent(ctx context.Context, reader cluster.Reader, vmid int) (cluster.Absence, error) {
	taken, err := reader.Exists(ctx, vmid)
	switch {
	case err != nil:
		return cluster.Unknown, fmt.Errorf("ask for vmid %d: %w", vmid, err)
	case taken:
		return cluster.Hidden, nil
	default:
		return cluster.Gone, nil
	}
}
