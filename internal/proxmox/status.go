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

// RunStates reads the run states of the guests of a node and kind that the token may see. Other than for GET /cluster/resources, the node looks when it is asked. full=1 asks
// each virtual machine whether it is paused, all at once, and waits at most three seconds for those that do not answer; Proxmox's own pvestatd does the same every ten seconds.
//
// Source: PVE API, GET /nodes/{node}/qemu and GET /nodes/{node}/lxc; PVE::QemuServer and PVE::LXC vmstatus.
func (r *Reader) RunStates(ctx context.Context, node string, kind guest.Kind) (map[int]guest.Status, error) {
	if err := route.CheckNode(node); err != nil {
		return nil, err
	}
	path := "/nodes/" + node + "/" + kind.API()
	if kind == guest.VirtualMachine {
		path += "?full=1"
	}
	rows, err := get[[]struct {
		VMID      reply.Scalar `json:"vmid"`
		Status    string       `json:"status"`
		QMPStatus string       `json:"qmpstatus"`
	}](ctx, r, &wire.Exchange{Route: route.Guests, Path: path, Node: node})
	if err != nil {
		return nil, fmt.Errorf("list the %ss of node %s: %w", kind, node, err)
	}
	states := make(map[int]guest.Status, len(rows))
	for _, row := range rows {
		vmid, err := row.VMID.Whole()
		if err != nil {
			return nil, fmt.Errorf("list the %ss of node %s: %w", kind, node, err)
		}
		states[vmid] = statusOf(row.Status, row.QMPStatus)
	}
	return states, nil
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
