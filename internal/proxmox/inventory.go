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
// current; name, run state and template lag by up to ten seconds, and are missing for a guest just made.
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
	return cluster.Inventory{Rows: rows, ReadAt: readAt, Version: r.release.of(ctx, r, readAt)}, nil
}

// decodeResources reads the reply of /cluster/resources: {"data":[{"type":…,"vmid":…,…},…]}. What is no guest is left out. One row
// that cannot be read is an error: the list would otherwise pass for one with fewer guests.
//
// It walks the bytes once, for the list comes every tick. The texts share the memory of one string.
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

// decodeResource reads one resource. Where it is no guest, the row has no kind.
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

// kindOf returns the kind of guest that a type of resources stands for, "" where it is none.
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

func addressOf(row cluster.Row) address {
	return address{kind: row.Kind, node: row.Node, vmid: row.VMID}
}
