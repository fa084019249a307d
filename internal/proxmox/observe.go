package proxmox

import (
	"context"
	"fmt"
	"time"

	"gitops-agent/internal/proxmox/reply"
	"gitops-agent/internal/proxmox/route"
	"gitops-agent/internal/proxmox/wire"
	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
)

// Observe reads one guest's keys, pending values and digest in one call. Lock, template and name of the configuration take precedence over the
// inventory, which may lag. ReadAt is the time before the request was sent, so that a change during the request is newer than the
// observation. ErrNotExist means that the node of row has no such guest: the guest may have moved.
//
// Source: PVE API, GET /nodes/{node}/{kind}/{vmid}/pending. GET /config does not show values that wait for a restart.
func (r *Reader) Observe(ctx context.Context, row cluster.Row) (guest.Observed, error) {
	about := route.AddressOf(row)
	if err := about.Check(); err != nil {
		return guest.Observed{}, fmt.Errorf("read %s: %w", about, err)
	}
	readAt := time.Now()
	x := &wire.Exchange{Route: route.Pending, Path: about.Path() + "/pending", Node: about.Node, About: about, MaxReply: reply.MaxPending}
	body, err := r.readRaw(ctx, x)
	if err != nil {
		return guest.Observed{}, fmt.Errorf("read %s: %w", about, err)
	}
	config, err := reply.DecodePending(body)
	if err != nil {
		return guest.Observed{}, fmt.Errorf("decode configuration of %s: %w", about, err)
	}
	return observed(row, config, readAt), nil
}

// observed combines a row of the inventory with the guest's configuration.
func observed(row cluster.Row, config reply.Config, readAt time.Time) guest.Observed {
	o := guest.Observed{
		Ref:      guest.Ref{Kind: row.Kind, Name: row.Name, VMID: row.VMID},
		Node:     row.Node,
		Keys:     config.Keys,
		Digest:   config.Digest,
		Status:   row.Status,
		Lock:     row.Lock,
		Template: row.Template,
		HA:       row.HAState != "",
		Pool:     row.Pool,
		ReadAt:   readAt,
	}
	if name := config.Keys[nameKey(row.Kind)]; name.Set {
		o.Name = name.Text
	}
	if lock := config.Keys["lock"]; lock.Set {
		o.Lock = lock.Text
	}
	if template := config.Keys["template"]; template.Set {
		o.Template = reply.Scalar(template.Text).Flag()
	}
	return o
}

// nameKey returns the key that holds a guest's name.
func nameKey(kind guest.Kind) string {
	if kind == guest.Container {
		return "hostname"
	}
	return "name"
}
