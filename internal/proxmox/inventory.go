package proxmox

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
)

// Inventory lists the guests that the token may see, sorted by vmid, in one call. Node, lock, tags, pool and HA state are
// current. Name, run state and template lag by up to ten seconds, and are missing for a new guest.
//
// Source: PVE API, GET /cluster/resources.
func (r *Reader) Inventory(ctx context.Context) (cluster.Inventory, error) {
	readAt := time.Now()
	body, err := r.readRaw(ctx, &exchange{route: routeResources, path: "/cluster/resources?type=vm"})
	if err != nil {
		return cluster.Inventory{}, fmt.Errorf("list guests: %w", err)
	}
	rows, err := decodeResources(body)
	if err != nil {
		return cluster.Inventory{}, fmt.Errorf("list guests: %w", err)
	}
	slices.SortFunc(rows, func(a, b cluster.Row) int { return cmp.Compare(a.VMID, b.VMID) })
	version := r.version.get(readAt, func() (Version, error) { return r.Version(ctx) })
	return cluster.Inventory{Rows: rows, ReadAt: readAt, Version: version}, nil
}

// decodeResources reads the reply of /cluster/resources: {"data":[{"type":…,"vmid":…,…},…]}. It skips rows that are not guests. A row
// that cannot be read is an error: the list would otherwise look like a list with fewer guests.
//
// It reads the bytes once, because the list is read in every tick. The texts share the memory of the reply.
func decodeResources(body string) ([]cluster.Row, error) {
	c := &cursor{text: body}
	var rows []cluster.Row
	sawData := false
	err := c.object(func(field string) error {
		if field != "data" || c.peek() == 'n' {
			_, err := c.skip()
			return err
		}
		sawData = true
		return c.array(func() error {
			row, err := decodeResource(c)
			if err != nil || row.Kind == "" {
				return err
			}
			rows = append(rows, row)
			return addressOf(row).check()
		})
	})
	if err == nil {
		err = c.end()
	}
	switch {
	case err != nil:
		return nil, err
	case !sawData:
		return nil, errNoData
	}
	return rows, nil
}

// decodeResource reads one resource. The row has no kind if the resource is not a guest.
func decodeResource(c *cursor) (cluster.Row, error) {
	row := cluster.Row{Status: guest.StatusUnknown}
	err := c.object(func(field string) error {
		text, null, err := c.value()
		if err != nil || null {
			return err
		}
		switch field {
		case "type":
			row.Kind = kindOf(text)
		case "vmid":
			row.VMID, err = scalar(text).whole()
		case "node":
			row.Node = text
		case "name":
			row.Name = text
		case "status":
			row.Status = statusOf(text, "")
		case "template":
			row.Template = scalar(text).flag()
		case "lock":
			row.Lock = text
		case "tags":
			row.Tags = text
		case "pool":
			row.Pool = text
		case "hastate":
			row.HAState = text
		case "maxmem":
			row.MaxMem, err = scalar(text).size()
		case "maxdisk":
			row.MaxDisk, err = scalar(text).size()
		case "maxcpu":
			row.MaxCPU, err = scalar(text).float()
		}
		return err
	})
	return row, err
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
