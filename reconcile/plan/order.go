package plan

import (
	"fmt"
	"slices"
	"strconv"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/order"
)

// withOrders adds the steps of the guest's orders. A guest gets none while it is locked or its run state is not known, and if it was not read or is not the
// guest that its manifest means: its orders wait. An order that the guest does not allow becomes a step that ends the order.
func withOrders(p Guest, want Desired, d *guest.Desired, got cluster.Snapshot) Guest {
	orders := want.Orders[d.VMID]
	if len(orders) == 0 || d.VMID == 0 {
		return p
	}
	live, seen := got.Guests[d.VMID]
	if !seen || got.Absent[d.VMID] != "" || live.Lock != "" || live.Status == guest.StatusUnknown || !isSameGuest(p) {
		return p
	}
	identity := want.Owned[d.VMID].Identity
	for i := range orders {
		o := &orders[i]
		step := orderStep(p, d, live, o)
		if o.Identity != identity {
			step.Refused = fmt.Sprintf("vmid %d belongs to another guest than when the order was accepted", d.VMID)
		}
		if step.Refused != "" {
			step.Calls = nil
		}
		p.Orders = append(p.Orders, step)
	}
	return p
}

// isSameGuest reports whether the plan found the guest that the manifest means.
func isSameGuest(p Guest) bool {
	return !slices.ContainsFunc(p.Conditions, func(c Condition) bool {
		return c.Type == IdentityConflict || c.Type == NotObserved || c.Reason == ReasonInvalid || c.Reason == ReasonPartlyCreated
	})
}

// orderStep returns the step of an order.
func orderStep(p Guest, d *guest.Desired, live guest.Observed, o *order.Open) Step {
	step := newStep(p, live, o.Op, o.Class(), "order of "+o.Subject)
	step.Order = o
	call := newCall(o.Op, live)
	call.Params = orderParams(o, d)
	step.Calls = []cluster.Call{call}
	step.Refused = order.Contradiction(o.Request, d.WantedState())
	if step.Refused == "" {
		step.Refused = PowerRefusal(o.Op, live)
	}
	return step
}

// PowerRefusal returns why Proxmox would refuse an order of the run state, or why it would change nothing; "" if it would not.
func PowerRefusal(op cluster.Op, live guest.Observed) string {
	stopped, paused, running := live.Status == guest.StatusStopped, live.Status == guest.StatusPaused, live.Status == guest.StatusRunning
	switch {
	case live.Template:
		return "the guest is a template"
	case live.HA && (op.Reaches() != "" && op != cluster.OpReboot || op == cluster.OpSuspend):
		return "the HA manager keeps the run state of the guest: change spec.ha of its manifest"
	case op == cluster.OpStart && !stopped:
		return "the guest is not stopped: it is " + string(live.Status)
	case op != cluster.OpStart && stopped:
		return "the guest is stopped"
	case paused && (op == cluster.OpShutdown || op == cluster.OpReboot):
		return "the guest is paused, so it cannot shut down: resume it before, or stop it"
	case paused && (op == cluster.OpReset || op == cluster.OpSuspend):
		return "the guest is paused"
	case running && op == cluster.OpResume:
		return "the guest is not paused"
	}
	return ""
}

// orderParams returns the parameters of an order's call. The manifest says how long the guest may take to shut down, unless the order does.
func orderParams(o *order.Open, d *guest.Desired) map[string]string {
	if o.Op != cluster.OpShutdown && o.Op != cluster.OpReboot {
		return nil
	}
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
