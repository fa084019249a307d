package lane

import (
	"slices"
	"strings"
	"time"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/epoch"
	"gitops-agent/reconcile/gate"
	"gitops-agent/reconcile/guard"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/image"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/kind"
	"gitops-agent/reconcile/manifest"
	"gitops-agent/reconcile/order"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/reason"
)

// Basis is the input of the lanes. The engine makes a new one whenever a part changes. It is immutable.
type Basis struct {
	Cluster       string
	Revision      string          // "main@sha1:<40 hex>"; "" while none is in force
	Epoch         epoch.Number    // the epoch in which steps of this basis may begin
	Guests        []guest.Desired // with the guards in effect
	Images        []image.Desired
	Objects       []kind.Desired
	Policies      gate.Policies            // of Guests
	Rules         *gate.Rules              // of Guests; nil without policies
	Unplaced      map[string]plan.Unplaced // why no node was chosen for a new guest, by label
	Guards        manifest.Guards          // of the Cluster, in effect
	Minimum       guard.Minimum
	Weakenings    []guard.Weakening                        // held; a lane puts none into force
	Withheld      map[int]gate.Withheld                    // guests that a rollout has not released
	Former        map[journal.Label][]journal.Introduction // of those that are planned for an earlier revision
	VMIDs         manifest.Range                           // of the Cluster
	Inventory     cluster.Inventory
	Seen          map[int]guest.Observed         // every guest that was read, by vmid
	SeenObjects   map[guest.Kind]cluster.Objects // the newest reading of other objects
	OwnGuests     map[int]bool                   // vmids of the guests in which the agent may run itself
	NoWrites      reason.Stop
	Why           string                                        // why nothing may be written
	Waits         func(plan.Step) plan.Wait                     // what a step has to wait for; nil never waits
	Hanging       func(journal.State, time.Time) map[string]int // number of hanging tasks by node; nil knows none
	Limits        gate.Limits                                   // of the signers; nil if the policy is not known
	AllowedServer func(string) bool                             // reports whether nodes may download from a server; nil allows none
	Separate      bool                                          // the people who introduced a step may not approve it
}

// Desired returns the desired state of all guests.
func (b *Basis) Desired(state journal.State) plan.Desired {
	want := b.desiredWith(state, b.Guests)
	want.Objects = plan.NewObjects(b.Objects, b.Guests, state)
	return want
}

// desiredWith returns the desired state of all guests, and what schedules ask for of some of them. It has no other objects: to compare them with all guests is
// too much for each turn of a lane.
func (b *Basis) desiredWith(state journal.State, scheduled []guest.Desired) plan.Desired {
	now := time.Now()
	return plan.Desired{
		Images:  b.images(state),
		Cluster: b.Cluster, Revision: b.Revision, Guests: order.WithOverrides(b.Guests, state, now), Owned: state.Owned, Remembered: state.Guarded, Applied: state.Applied,
		Attached: state.Attached, Orders: openOrders(b.Cluster, scheduled, state, now), Snapshots: state.Snapshots, Weakenings: b.Weakenings, VMIDs: b.VMIDs, Unplaced: b.Unplaced, Lifted: plan.LiftedProtection(state), NoRevision: b.Revision == "", Unread: state.Unread,
	}
}

// openOrders returns what signed orders, and the schedules of some guests, ask for at a moment.
func openOrders(clusterName string, guests []guest.Desired, state journal.State, now time.Time) map[int][]order.Open {
	return order.WithScheduled(order.OpenOrders(state, now.Add(-gate.OrderLifetime)), order.OpenScheduled(clusterName, guests, state, now))
}

// NeedSnapshots returns the vmids of the guests whose snapshots have to be read at a moment.
func (b *Basis) NeedSnapshots(state journal.State, now time.Time) map[int]bool {
	return order.NeedSnapshots(openOrders(b.Cluster, b.Guests, state, now))
}

// desiredFor returns the desired state of one guest.
func (b *Basis) desiredFor(vmid int, state journal.State) plan.Desired {
	var own []guest.Desired
	if i := slices.IndexFunc(b.Guests, func(d guest.Desired) bool { return d.VMID == vmid }); i >= 0 {
		own = b.Guests[i : i+1]
	}
	want := b.desiredWith(state, own)
	want.Weakenings, want.Images = nil, plan.Images{}
	if len(own) == 0 || own[0].Backup || own[0].Migrate.Moves() {
		want.Objects = plan.NewObjects(b.Objects, b.Guests, state).OnlyAround()
	}
	all := want.Guests
	want.Guests, want.Others, want.ClusterContext = nil, all, &plan.ClusterContext{Guests: b.Seen}
	if i := slices.IndexFunc(all, func(d guest.Desired) bool { return d.VMID == vmid }); i >= 0 {
		want.Guests = all[i : i+1 : i+1]
	}
	want.Owned = make(map[int]journal.Owned, 1)
	if owned, ok := state.Owned[vmid]; ok {
		want.Owned[vmid] = owned
	}
	return want
}

// desired returns what the manifests want of a guest, and whether one names it.
func (b *Basis) desired(vmid int) (*guest.Desired, bool) {
	for i := range b.Guests {
		if b.Guests[i].VMID == vmid {
			return &b.Guests[i], true
		}
	}
	return nil, false
}

// secretsOf returns the secrets that the manifest of a guest names.
func (b *Basis) secretsOf(vmid int) []guest.Secret {
	if d, named := b.desired(vmid); named {
		return d.Secrets
	}
	return nil
}

// finishForbiddenBy returns the part of a guest's manifest that forbids a call that finishes an earlier step, "" if there is none.
func (b *Basis) finishForbiddenBy(op cluster.Op, vmid int, now time.Time) string {
	d, named := b.desired(vmid)
	switch {
	case !named:
	case d.Observe:
		return "mode: observe"
	case d.Suspend.Active(now):
		return d.Suspend.String()
	case op == cluster.OpStart && d.State == guest.Stopped:
		return "state: stopped"
	}
	return ""
}

// Scope returns what the signers may touch.
func (b *Basis) Scope(state journal.State) gate.Scope {
	return gate.Scope{
		Former: b.Former, Cluster: b.Cluster, Limits: b.Limits, Introduced: state.Introduced, Owned: state.Owned, Assigned: state.Assigned, Attached: state.Attached, Inventory: b.Inventory, Objects: state.Objects,
		Guests: b.Guests, Guarded: state.Guarded, Left: state.Left, Policies: state.Policies,
	}
}

// Gate returns the gate of this basis at a moment.
func (b *Basis) Gate(state journal.State, now time.Time) gate.Gate {
	g := gate.Gate{
		Cluster: b.Cluster, Now: now, Policies: b.Policies, Remembered: state.Guarded, Owned: state.Owned,
		Approvals: gate.NewApprovals(state.Orders), RequiredApprovals: b.Guards.Approvals, NamedGuests: len(b.Guests), NamedObjects: len(b.Images) + len(b.Objects), MaxDestroy: b.Guards.MaxDestroysPerDay,
		Minimum: b.Minimum, Destroyed: len(state.Destroys), Waits: b.Waits, SeparateApprover: b.Separate, Scope: b.Scope(state), OwnGuests: b.OwnGuests, Withheld: b.Withheld, Offline: b.Inventory.Offline, Maintenance: b.Inventory.Maintenance,
		Rules: b.Rules, Seen: b.Seen,
	}
	if b.Hanging != nil {
		g.HangingTasks = b.Hanging(state, now)
	}
	for _, open := range state.Open {
		if open.Op == string(cluster.OpDestroy) {
			g.Destroyed++
		}
	}
	if b.NoWrites != reason.WritesAllowed {
		g.NoWrites = strings.TrimSpace(string(b.NoWrites) + ": " + b.Why)
	}
	return g
}
