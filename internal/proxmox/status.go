package proxmox

import (
	"context"
	"fmt"

	"gitops-agent/internal/proxmox/route"
	"gitops-agent/internal/proxmox/wire"
	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
)

// Status reads the run state of a guest from its node.
//
// Source: PVE API, GET /nodes/{node}/{kind}/{vmid}/status/current.
func (r *Reader) Status(ctx context.Context, row cluster.Row) (guest.Status, error) {
	about := route.AddressOf(row)
	if err := about.Check(); err != nil {
		return guest.StatusUnknown, fmt.Errorf("read status of %s: %w", about, err)
	}
	current, err := get[struct {
		Status    string `json:"status"`
		QMPStatus string `json:"qmpstatus"`
	}](ctx, r, &wire.Exchange{Route: route.Current, Path: about.Path() + "/status/current", Node: about.Node, About: about})
	if err != nil {
		return guest.StatusUnknown, fmt.Errorf("read status of %s: %w", about, err)
	}
	return statusOf(current.Status, current.QMPStatus), nil
}

// statusOf combines the two properties that Proxmox has for a run state. A QEMU process whose machine does not run is paused: its guest
// system cannot receive an ACPI shutdown.
//
// Source: PVE::QemuServer vmstatus and vm_is_paused.
func statusOf(status, qmp string) guest.Status {
	switch status {
	case "stopped":
		return guest.StatusStopped
	case "paused":
		return guest.StatusPaused
	case "running":
		switch qmp {
		case "paused", "prelaunch", "suspended":
			return guest.StatusPaused
		}
		return guest.StatusRunning
	default:
		return guest.StatusUnknown
	}
}
