package proxmox

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"gitops-agent/internal/proxmox/reply"
	"gitops-agent/internal/proxmox/route"
	"gitops-agent/internal/proxmox/wire"
	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
)

// Status reads the run state of a guest from its node.
//
// Source: PVE API, GET /nodes/{node}/{kind}/{vmid}/status/current.
func (r *Reader) Status(ctx context.Context, row cluster.Row) (guest.Status, *guest.Process, error) {
	about := route.AddressOf(row)
	if err := about.Check(); err != nil {
		return guest.StatusUnknown, nil, fmt.Errorf("read status of %s: %w", about, err)
	}
	current, err := get[struct {
		Status    string `json:"status"`
		QMPStatus string `json:"qmpstatus"`

		PID    reply.Scalar `json:"pid"`
		Uptime reply.Scalar `json:"uptime"`
	}](ctx, r, &wire.Exchange{Route: route.Current, Path: about.Path() + "/status/current", Node: about.Node, About: about})
	if err != nil {
		return guest.StatusUnknown, nil, fmt.Errorf("read status of %s: %w", about, err)
	}
	status := statusOf(current.Status, current.QMPStatus)
	pid, err := current.PID.Whole()
	if err != nil || pid <= 0 || status == guest.StatusStopped {
		return status, nil, nil //nolint:nilerr // a guest without the number of a process has none that is known
	}
	return status, &guest.Process{PID: pid, Uptime: uptimeOf(string(current.Uptime))}, nil
}

// Running reports of each guest of a node and kind that the token may see whether it has a process. Other than GET /cluster/resources, the node looks when it is asked. Only a
// request with full=1 asks each machine whether it is paused, and waits for machines that do not answer.
//
// Source: PVE API, GET /nodes/{node}/qemu and GET /nodes/{node}/lxc; PVE::QemuServer and PVE::LXC vmstatus.
func (r *Reader) Running(ctx context.Context, node string, kind guest.Kind) (map[int]bool, error) {
	if err := route.CheckNode(node); err != nil {
		return nil, err
	}
	rows, err := get[[]struct {
		VMID   reply.Scalar `json:"vmid"`
		Status string       `json:"status"`
	}](ctx, r, &wire.Exchange{Route: route.Guests, Path: "/nodes/" + node + "/" + kind.API(), Node: node})
	if err != nil {
		return nil, fmt.Errorf("list the %ss of node %s: %w", kind, node, err)
	}
	running := make(map[int]bool, len(rows))
	for _, row := range rows {
		vmid, err := row.VMID.Whole()
		switch status := statusOf(row.Status, ""); {
		case err != nil:
			return nil, fmt.Errorf("list the %ss of node %s: %w", kind, node, err)
		case status != guest.StatusUnknown:
			running[vmid] = status != guest.StatusStopped
		}
	}
	return running, nil
}

// uptimeOf returns a number of seconds, 0 if it cannot be read.
func uptimeOf(text string) time.Duration {
	seconds, err := strconv.ParseInt(text, 10, 64)
	if err != nil || seconds < 0 || seconds > maxUptime {
		return 0
	}
	return time.Duration(seconds) * time.Second
}

// CloudInit returns the values of a virtual machine that its cloud-init drive lacks, with those that the drive has.
//
// Source: PVE API, GET /nodes/{node}/qemu/{vmid}/cloudinit.
func (r *Reader) CloudInit(ctx context.Context, row cluster.Row) (map[string]*string, error) {
	about := route.AddressOf(row)
	if err := about.Check(); err != nil {
		return nil, fmt.Errorf("read cloud-init values of %s: %w", about, err)
	}
	entries, err := get[[]struct {
		Key     string        `json:"key"`
		Value   *reply.Scalar `json:"value"`
		Pending *reply.Scalar `json:"pending"`
		Delete  reply.Scalar  `json:"delete"`
	}](ctx, r, &wire.Exchange{Route: route.CloudInit, Path: about.Path() + "/cloudinit", Node: about.Node, About: about})
	if err != nil {
		return nil, fmt.Errorf("read cloud-init values of %s: %w", about, err)
	}
	lacking := make(map[string]*string)
	for _, e := range entries {
		switch {
		case e.Delete.Flag():
			lacking[e.Key] = nil
		case e.Pending == nil:
		case e.Value == nil:
			lacking[e.Key] = new(string)
		default:
			text := string(*e.Value)
			lacking[e.Key] = &text
		}
	}
	return lacking, nil
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
		case "paused", "prelaunch", "suspended", "postmigrate", "inmigrate":
			return guest.StatusPaused
		}
		return guest.StatusRunning
	default:
		return guest.StatusUnknown
	}
}
