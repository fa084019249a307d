package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/order"
)

// withOrders adds the steps of the guest's orders. A guest gets none while it is locked, on its way or its run state is not known, and if it was not read or is not the
// guest that its manifest means: its orders wait. If an end of its protection waits, its orders wait until it is taken back. An order about snapshots waits until they were read. An order that the guest does not allow becomes a step that ends the order.
func withOrders(p Guest, want Desired, d *guest.Desired, got cluster.Snapshot) Guest {
	orders := want.Orders[d.VMID]
	if len(orders) == 0 || d.VMID == 0 {
		return p
	}
	live, seen := got.Guests[d.VMID]
	if row, _ := got.Inventory.Row(d.VMID); row.HAMoves() {
		return p
	}
	if !seen || got.Absent[d.VMID] != "" || live.Lock != "" || live.Status == guest.StatusUnknown || !isSameGuest(p, d) {
		return p
	}
	owned, isOwned := want.Owned[d.VMID]
	if isOwned && losesProtection(live) { // an order would bring the end of the protection into effect, as a step would
		if len(p.Steps) == 0 {
			p.Steps = []Step{withWaitingRemovals(keepStep(p, live), live)}
		}
		return p
	}
	identity := owned.Identity
	for i := range orders {
		o := &orders[i]
		if o.Op.NeedsSnapshots() && live.Snapshots == nil {
			continue
		}
		step := orderStep(p, d, live, o)
		if o.Scheduled != nil {
			waits, refused := o.Settled(*live.Snapshots, want.Snapshots[d.VMID])
			if waits || live.Status == guest.StatusPaused {
				continue
			}
			step.Refused = cmp.Or(step.Refused, refused)
		}
		if o.Identity != identity {
			step.Refused = fmt.Sprintf("vmid %d belongs to another guest than when the order was accepted", d.VMID)
		}
		if step.Refused != "" {
			step.Calls = nil
		} else {
			step.Loses = orderLosses(&step, want, d, got)
			step = withWaitingRemovals(step, live)
		}
		p.Orders = append(p.Orders, step)
	}
	withHindrance(p.Orders, p.hindrance, live)
	return p
}

// isSameGuest reports whether the plan found the guest that the manifest means, and this release accepts the manifest.
func isSameGuest(p Guest, d *guest.Desired) bool {
	return p.Present && d.Invalid == nil && !slices.ContainsFunc(p.Conditions, func(c Condition) bool { return c.Type == NotObserved })
}

// orderStep returns the step of an order.
func orderStep(p Guest, d *guest.Desired, live guest.Observed, o *order.Open) Step {
	reason := "order of " + o.Subject
	if o.Scheduled != nil {
		reason = "spec.snapshots: " + o.Scheduled.Text
	}
	step := newStep(p, live, o.Op, o.Class(), reason)
	step.Order = o
	call := orderCall(o, d, live)
	step.Calls = []cluster.Call{call}
	step.Touches = Touches(step.Calls, live)
	switch o.Op { //nolint:exhaustive // of orders
	case cluster.OpBackup:
		step.CopyTargets = []string{call.Params["storage"]}
	case cluster.OpRollback, cluster.OpDeleteSnapshot:
		step.Snapshot, step.Restores = SnapshotOf(o.Request, live)
		step.Protected = live.IsProtected() && overridesProtection(step)
		step.resumes = o.Op == cluster.OpRollback && hasMemory(o.Request, live)
	}
	step.Refused = order.Contradiction(o.Request, d)
	if step.Refused == "" {
		step.Refused = OrderRefusal(o.Request, live)
	}
	return step
}

// orderCall returns the call of an order.
func orderCall(o *order.Open, d *guest.Desired, live guest.Observed) cluster.Call {
	call := newCall(o.Op, live)
	switch o.Op { //nolint:exhaustive // the others have no parameters
	case cluster.OpShutdown, cluster.OpReboot:
		call.Params = shutdownParams(o, d)
	case cluster.OpMigrate:
		return migrateCall(live, o.Params[order.KeyTarget], d.Lifecycle)
	case cluster.OpSnapshot:
		call.Params = map[string]string{cluster.ParamSnapshot: o.Params[order.KeyName], "description": order.Note(o.Key, "")}
		if o.Params[order.KeyMemory] == order.Yes {
			call.Params["vmstate"] = "1"
		}
	case cluster.OpRollback, cluster.OpDeleteSnapshot:
		call.Params = map[string]string{cluster.ParamSnapshot: o.Params[order.KeyName]}
	case cluster.OpBackup:
		call.Params = backupParams(o)
	}
	return call
}

// shutdownParams returns the parameters of a shutdown or a restart. The manifest says how long the guest may take, unless the order does.
func shutdownParams(o *order.Open, d *guest.Desired) map[string]string {
	seconds := shutdownSeconds(d.Lifecycle)
	if given := o.Duration(order.KeyTimeout); given > 0 {
		seconds = int(given.Seconds())
	}
	params := map[string]string{"timeout": strconv.Itoa(seconds)}
	if o.Params[order.KeyForce] == order.Yes {
		params["forceStop"] = "1"
	}
	return params
}

// backupParams returns the parameters of a backup. Proxmox would delete older backups by the settings of the storage, and an order deletes nothing that it does
// not name. The compression is that of Proxmox's web interface.
func backupParams(o *order.Open) map[string]string {
	params := map[string]string{
		"storage": o.Params[order.KeyStorage], "mode": cmp.Or(o.Params[order.KeyMode], order.ModeSnapshot), "compress": "zstd", "remove": "0",
		"notes-template": order.Note(o.Key, o.Params[order.KeyNotes]),
	}
	if o.Params[order.KeyProtected] == order.Yes {
		params["protected"] = "1"
	}
	return params
}
