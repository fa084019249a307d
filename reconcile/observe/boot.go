package observe

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"gitops-agent/reconcile/boot"
	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
)

// FollowBoot returns the record of what is in effect in a guest, after a reading of the guest that includes its run state, and whether the record has changed. It asks the
// cluster what else it needs: for the first record what the cloud-init drive lacks, and for another process than the recorded one why it runs. Inventory names the
// nodes of the cluster.
func FollowBoot(
	ctx context.Context, reader cluster.Reader, inventory cluster.Inventory, record journal.Applied, owned journal.Owned, live guest.Observed,
) (journal.Applied, bool, error) {
	switch {
	case owned.Identity == "" || live.Lock != "" || live.Status == guest.StatusUnknown:
		return record, false, nil
	case !boot.Recorded(record, owned):
		if live.Process == nil || live.Template {
			return record, false, nil
		}
		return withList(ctx, reader, boot.Baseline(record, owned, live), live), true, nil
	}
	history := []boot.Evidence{{Cause: boot.Quick(record, live)}}
	switch {
	case !boot.NeedsCause(record, live):
		if history[0].Cause == boot.Unexplained {
			history[0].Cause = boot.Moved // it has no values, so it does not matter
		}
	case history[0].Cause == boot.Boot:
		if known, err := historyOf(ctx, reader, inventory, record, live); err == nil && known[len(known)-1].Cause != boot.Unexplained {
			history = known
		}
	default:
		var err error
		if history, err = historyOf(ctx, reader, inventory, record, live); errors.Is(err, ErrOffline) {
			// What waits may be in effect. The process of the record stays, so that the node can explain the present one when it is back.
			after, _ := boot.Follow(record, live, boot.Evidence{})
			if after.Process = record.Process; !maps.Equal(after.InEffect, record.InEffect) || !maps.Equal(after.Waiting, record.Waiting) {
				return after, true, nil
			}
		}
		if err != nil {
			return record, false, err
		}
	}
	after, changed := boot.Follow(record, live, history...)
	if !after.Unlisted || live.Process == nil {
		return after, changed, nil
	}
	after = withList(ctx, reader, after, live)
	return after, changed || !after.Unlisted, nil
}

// withList returns a first record with what the cloud-init drive of a guest lacks. If Proxmox does not answer, the record stays without: what the guest has before the
// next step is noted, and the list is read later.
func withList(ctx context.Context, reader cluster.Reader, record journal.Applied, live guest.Observed) journal.Applied {
	lacking, err := cloudInitLacks(ctx, reader, live)
	if err != nil {
		return record
	}
	return boot.WithList(record, live, lacking)
}

// historyOf finds out what has happened to a guest since the process of its record.
func historyOf(ctx context.Context, reader cluster.Reader, inventory cluster.Inventory, record journal.Applied, live guest.Observed) ([]boot.Evidence, error) {
	tasks, err := tasksEverywhere(ctx, reader, inventory, live)
	if err != nil {
		return nil, err
	}
	unread := len(inventory.Offline) > 0
	history := boot.Explain(tasks, record.Process, live, unread)
	if unread && len(history) == 1 && history[0].Cause == boot.Unexplained && !record.Booted {
		return nil, fmt.Errorf("find out why guest %d runs in another process: %w", live.VMID, ErrOffline)
	}
	if record.Booted { // the token may not see the task of it
		history = append([]boot.Evidence{{Cause: boot.Boot, At: record.BootedAt}}, history...)
	}
	if !boot.IsRolledBack(history) {
		return history, nil
	}
	snapshots, err := reader.Snapshots(ctx, cluster.Row{Kind: live.Kind, VMID: live.VMID, Node: live.Node})
	if err != nil {
		return nil, fmt.Errorf("find out to which snapshot guest %d was rolled back: %w", live.VMID, err)
	}
	return boot.WithSnapshots(history, snapshots, live.Keys["parent"].Text), nil
}

// cloudInitLacks returns what the cloud-init drive of a guest lacks according to Proxmox.
func cloudInitLacks(ctx context.Context, reader cluster.Reader, live guest.Observed) (map[string]*string, error) {
	if live.Kind != guest.VirtualMachine || !guest.HasCloudInit(live) {
		return nil, nil
	}
	return reader.CloudInit(ctx, cluster.Row{Kind: live.Kind, VMID: live.VMID, Node: live.Node})
}

// ErrOffline means that only the tasks of a node that is offline can tell what happened to a guest. Asking again is of no use before the node is back.
var ErrOffline = errors.New("a node that is offline has its tasks")

// tasksEverywhere returns the tasks of a guest on all nodes that are not offline: a migration is listed on the node that the guest left.
func tasksEverywhere(ctx context.Context, reader cluster.Reader, inventory cluster.Inventory, live guest.Observed) ([]cluster.Task, error) {
	nodes := []string{live.Node}
	for _, n := range inventory.Capacity.Nodes {
		nodes = append(nodes, n.Node)
	}
	slices.Sort(nodes)
	var tasks []cluster.Task
	for _, node := range slices.Compact(nodes) {
		if slices.Contains(inventory.Offline, node) {
			continue
		}
		list, err := reader.Tasks(ctx, cluster.TaskQuery{Node: node, VMID: live.VMID})
		if err != nil {
			return nil, fmt.Errorf("find out why guest %d runs in another process: %w", live.VMID, err)
		}
		tasks = append(tasks, list...)
	}
	return tasks, nil
}

// TasksOfNodes returns a reader that lists the tasks of each node once, for the questions about a number of guests. A list that is cut answers none: each guest is asked for then,
// as one guest alone is.
func TasksOfNodes(reader cluster.Reader, guests int) cluster.Reader {
	if guests < 2 {
		return reader
	}
	return tasksOfNodes{reader, make(map[string]map[int][]cluster.Task)}
}

type tasksOfNodes struct {
	cluster.Reader
	lists map[string]map[int][]cluster.Task // by node and vmid; nil for a list that is cut
}

// Tasks implements cluster.Reader for a query about all tasks of one guest.
func (r tasksOfNodes) Tasks(ctx context.Context, query cluster.TaskQuery) ([]cluster.Task, error) {
	list, isRead := r.lists[query.Node]
	if !isRead {
		all, err := r.Reader.Tasks(ctx, cluster.TaskQuery{Node: query.Node})
		if err != nil {
			return nil, err
		}
		if len(all) < cluster.MaxTasks {
			list = make(map[int][]cluster.Task)
			for _, task := range all {
				list[task.VMID] = append(list[task.VMID], task)
			}
		}
		r.lists[query.Node] = list
	}
	if list == nil {
		return r.Reader.Tasks(ctx, query)
	}
	return list[query.VMID], nil
}
