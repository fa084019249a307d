package proxmox

import (
	"context"
	"fmt"
	"slices"
	"time"

	"gitops-agent/internal/proxmox/reply"
	"gitops-agent/internal/proxmox/route"
	"gitops-agent/internal/proxmox/wire"
	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"

	pve "github.com/luthermonson/go-proxmox"
)

// oldestMajor is the oldest major release that this package supports.
const oldestMajor = 8

// Ready fails with cluster.ErrNotReady while the cluster has no quorum, does not answer or is too old, and with cluster.ErrDenied if the token
// lacks Sys.Audit on /. A single node needs no quorum.
//
// The library's type is not used: its decoder panics if the quorum comes as a string.
//
// Source: PVE API, GET /cluster/status and GET /version.
func (r *Reader) Ready(ctx context.Context) error {
	var err error
	version := r.version.get(time.Now(), func() (v Version, _ error) { v, err = r.Version(ctx); return v, err })
	if version == (guest.Version{}) && err != nil {
		return err
	}
	if version.Major < oldestMajor {
		return outage(cluster.OutageTooOld, "Proxmox VE %s, want %d or newer", version, oldestMajor)
	}
	rows, err := get[[]reply.Member](ctx, r, &wire.Exchange{Route: route.ClusterInfo, Path: "/cluster/status"})
	if err != nil {
		return fmt.Errorf("read cluster status: %w", err)
	}
	if len(rows) == 0 {
		return outage(cluster.OutageInvalid, "cluster status is empty")
	}
	if at := slices.IndexFunc(rows, reply.Member.LacksQuorum); at >= 0 {
		return outage(cluster.OutageNoQuorum, "cluster %s has no quorum", rows[at].Name)
	}
	return nil
}

// outage returns why the cluster is not ready.
func outage(reason cluster.Outage, format string, args ...any) error {
	return &cluster.OutageError{Outage: reason, Err: fmt.Errorf("%w: %s", cluster.ErrNotReady, fmt.Sprintf(format, args...))}
}

// Version reads the release of the endpoint that answers. It is the cheapest call that proves address, certificate and token.
//
// The library's Version method is not used: it writes a field of the client without a lock.
//
// Source: PVE API, GET /version.
func (r *Reader) Version(ctx context.Context) (Version, error) {
	reply, err := get[pve.Version](ctx, r, &wire.Exchange{Route: route.Version, Path: "/version"})
	if err != nil {
		return Version{}, fmt.Errorf("read version: %w", err)
	}
	version, err := parseVersion(reply.Version)
	if err != nil {
		return Version{}, fmt.Errorf("read version: %w", err)
	}
	return version, nil
}
