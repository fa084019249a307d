package observe

import (
	"context"
	"fmt"
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
	case history[0].Cause != boot.Unexplained:
	case !boot.NeedsCause(record, live):
		history[0].Cause = boot.Moved // it has no values, so it does not matter
	default:
		var err error
		if history, err = historyOf(ctx, reader, inventory, record, live); err != nil {
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
	history := boot.Explain(tasks, record.Process, live)
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

// tasksEverywhere returns the tasks of a guest on all nodes: a migration is listed on the node that the guest left. It fails if a node is offline.
func tasksEverywhere(ctx context.Context, reader cluster.Reader, inventory cluster.Inventory, live guest.Observed) ([]cluster.Task, error) {
	nodes := []string{live.Node}
	for _, n := range inventory.Capacity.Nodes {
		nodes = append(nodes, n.Node)
	}
	nodes = append(nodes, inventory.Offline...)
	slices.Sort(nodes)
	var tasks []cluster.Task
	for _, node := range slices.Compact(nodes) {
		list, err := reader.Tasks(ctx, cluster.TaskQuery{Node: node, VMID: live.VMID})
		if err != nil {
			return nil, fmt.Errorf("find out why guest %d runs in another process: %w", live.VMID, err)
		}
		tasks = append(tasks, list...)
	}
	return tasks, nil
}
