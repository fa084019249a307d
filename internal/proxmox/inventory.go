package proxmox

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"gitops-agent/internal/bounds"
	"gitops-agent/internal/proxmox/reply"
	"gitops-agent/internal/proxmox/route"
	"gitops-agent/internal/proxmox/wire"
	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
)

// Inventory lists the guests that the token may see, sorted by vmid, in one call. Node, lock, tags, pool and HA state are
// current. Name, run state and template lag by up to ten seconds, and are missing for a new guest. The same call lists the nodes, so it is not limited to
// guests.
//
// Source: PVE API, GET /cluster/resources.
func (r *Reader) Inventory(ctx context.Context) (cluster.Inventory, error) {
	readAt := time.Now()
	body, err := r.readRaw(ctx, &wire.Exchange{Route: route.Resources, Path: "/cluster/resources"})
	if err != nil {
		return cluster.Inventory{}, fmt.Errorf("list guests: %w", err)
	}
	rows, nodes, err := decodeResources(body)
	if err != nil {
		return cluster.Inventory{}, &cluster.OutageError{Outage: cluster.OutageInvalid, Err: fmt.Errorf("list guests: %w", err)}
	}
	slices.SortFunc(rows, func(a, b cluster.Row) int { return cmp.Compare(a.VMID, b.VMID) })
	version := r.version.get(readAt, func() (Version, error) { return r.Version(ctx) })
	if version != (guest.Version{}) && version.Before(firstWithNodeStates) {
		if err := r.addMaintenance(ctx, &nodes); err != nil {
			return cluster.Inventory{}, err
		}
	}
	return cluster.Inventory{Rows: rows, Offline: nodes.offline, Maintenance: nodes.maintenance, Capacity: nodes.capacity, ReadAt: readAt, Version: version}, nil
}

// nodeList is what the list shows of nodes and their storages: names of those that are not available, and the capacity of all.
type nodeList struct {
	offline, maintenance []string
	capacity             cluster.Capacity
}

// firstWithNodeStates is the first release whose list of resources shows the HA manager's states of nodes. It takes them from the manager's own file.
//
// Source: pve-manager 8.2.9, PVE/API2/Cluster.pm, "hastate" of a node.
var firstWithNodeStates = guest.Version{Major: 8, Minor: 3}

// addMaintenance adds the nodes that are in maintenance according to the HA manager's own file.
//
// Source: PVE API, GET /cluster/ha/status/manager_status.
func (r *Reader) addMaintenance(ctx context.Context, nodes *nodeList) error {
	status, err := get[struct {
		Manager struct {
			Nodes map[string]string `json:"node_status"`
		} `json:"manager_status"`
	}](ctx, r, &wire.Exchange{Route: route.HAManager, Path: "/cluster/ha/status/manager_status"})
	if err != nil {
		return fmt.Errorf("read the HA manager's states of nodes: %w", err)
	}
	for node, state := range status.Manager.Nodes {
		if state == "maintenance" && !slices.Contains(nodes.offline, node) {
			nodes.maintenance = append(nodes.maintenance, node)
		}
	}
	slices.Sort(nodes.maintenance)
	return nil
}

// nodeState is what the list shows of a node. The HA manager's state of a node is in the same field as that of a guest.
type nodeState int

const (
	nodeAvailable nodeState = iota
	nodeOffline
	nodeMaintenance
)

// maxRows bounds the guests of a cluster.
const maxRows = 100_000

// decodeResources reads the reply of /cluster/resources: {"data":[{"type":…,"vmid":…,…},…]}, and returns the guests, and what it shows of the nodes
// and their storages. It skips other rows. A guest that cannot be read is an error: the list would otherwise look like a list with fewer guests.
//
// It reads the bytes once, because the list is read in every tick. The texts share the memory of the reply.
func decodeResources(body string) (rows []cluster.Row, nodes nodeList, err error) {
	c := &reply.Cursor{Text: body}
	sawData := false
	err = c.Object(func(field string) error {
		if field != "data" || c.Peek() == 'n' {
			_, err := c.Skip()
			return err
		}
		sawData = true
		return c.Array(func() error {
			row, other, err := decodeResource(c)
			nodes.add(row, other)
			if err != nil || row.Kind == "" {
				return err
			}
			if len(rows) == maxRows {
				return fmt.Errorf("guests: %w of %d", bounds.ErrExceeded, maxRows)
			}
			rows = append(rows, row)
			return route.AddressOf(row).Check()
		})
	})
	if err == nil {
		err = c.End()
	}
	switch {
	case err != nil:
		return nil, nodeList{}, err
	case !sawData:
		return nil, nodeList{}, reply.ErrNoData
	}
	nodes.sort()
	return rows, nodes, nil
}

// otherResource is what a resource has that is not a guest.
type otherResource struct {
	kind, status, storage string
	plugin                string // the type of a storage
	mem, disk             int64  // bytes in use
	shared                bool
}

// add notes a node or a storage.
func (n *nodeList) add(row cluster.Row, other otherResource) {
	switch other.kind {
	case "node":
		switch nodeStateOf(row, other) {
		case nodeOffline:
			n.offline = append(n.offline, row.Node)
		case nodeMaintenance:
			n.maintenance = append(n.maintenance, row.Node)
		case nodeAvailable:
		}
		n.capacity.Nodes = append(n.capacity.Nodes, cluster.NodeCapacity{Node: row.Node, MaxMem: row.MaxMem, Mem: other.mem, CPUs: row.MaxCPU})
	case "storage":
		n.capacity.Storages = append(n.capacity.Storages, cluster.StorageCapacity{
			Node: row.Node, Storage: other.storage, Size: row.MaxDisk, Used: other.disk, Shared: other.shared, Available: other.status == "available", Thick: other.plugin == "lvm",
		})
	}
}

func (n *nodeList) sort() {
	slices.Sort(n.offline)
	slices.Sort(n.maintenance)
	slices.SortFunc(n.capacity.Nodes, func(a, b cluster.NodeCapacity) int { return cmp.Compare(a.Node, b.Node) })
	slices.SortFunc(n.capacity.Storages, func(a, b cluster.StorageCapacity) int {
		return cmp.Or(cmp.Compare(a.Node, b.Node), cmp.Compare(a.Storage, b.Storage))
	})
}

// decodeResource reads one resource. The row has no kind if the resource is not a guest; a field that cannot be read is then no error.
func decodeResource(c *reply.Cursor) (row cluster.Row, other otherResource, err error) {
	row.Status = guest.StatusUnknown
	var bad error
	err = c.Object(func(field string) error {
		text, null, err := c.Value()
		if err != nil || null {
			return err
		}
		switch field {
		case "type":
			other.kind, row.Kind = text, kindOf(text)
		case "vmid":
			row.VMID, err = reply.Scalar(text).Whole()
		case "node":
			row.Node = text
		case "name":
			row.Name = text
		case "status":
			other.status, row.Status = text, statusOf(text, "")
		case "template":
			row.Template = reply.Scalar(text).Flag()
		case "lock":
			row.Lock = text
		case "tags":
			row.Tags = text
		case "pool":
			row.Pool = text
		case "hastate":
			row.HAState = text
		case "maxmem":
			row.MaxMem, err = reply.Scalar(text).Size()
		case "maxdisk":
			row.MaxDisk, err = reply.Scalar(text).Size()
		case "maxcpu":
			row.MaxCPU, err = reply.Scalar(text).Float()
		case "uptime":
			row.Uptime = uptimeOf(text)
		case "storage":
			other.storage = text
		case "plugintype":
			other.plugin = text
		case "shared":
			other.shared = reply.Scalar(text).Flag()
		case "mem":
			other.mem, _ = reply.Scalar(text).Size()
		case "disk":
			other.disk, _ = reply.Scalar(text).Size()
		}
		bad = cmp.Or(bad, err)
		return nil
	})
	if err == nil && row.Kind != "" {
		err = bad
	}
	return row, other, err
}

// nodeStateOf returns the state of a node.
func nodeStateOf(row cluster.Row, node otherResource) nodeState {
	switch {
	case node.status == "offline":
		return nodeOffline
	case row.HAState == "maintenance":
		return nodeMaintenance
	default:
		return nodeAvailable
	}
}

// kindOf returns the kind of guest for a resource type of Proxmox, "" if the type is not a guest.
func kindOf(resource string) guest.Kind {
	switch resource {
	case "qemu":
		return guest.VirtualMachine
	case "lxc":
		return guest.Container
	default:
		return ""
	}
}
