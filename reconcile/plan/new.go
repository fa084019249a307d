package plan

import (
	"cmp"
	"slices"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guard"
)

// New returns the steps that bring got to want, ordered by wave, then vmid, and within a guest configuration before
// run state. It is pure. An owned guest that no manifest names gets a destroy step, which the gate judges. A guest that is
// not owned gets no step unless its manifest contains adopt. No step destroys or attaches a volume that another guest uses. An Image gets a step for each
// node that lacks its file, and one for each former file that it no longer keeps, and another object the one step that makes, changes or removes it. While
// records may be missing, what has none is unknown.
//
// Why a removed manifest does not destroy its guest by itself: docs/adr/0004.
func New(want Desired, got cluster.Snapshot) Plan {
	plan := Plan{Cluster: want.Cluster, Revision: want.Revision, Guests: make([]Guest, 0, len(want.Guests))}
	got = withLifted(got, want.Lifted)
	want.gone = guard.Gone(want.Remembered)
	want.derived = newDerived(want, got)
	volumes := newHolders(want, got)
	named := make(map[int]bool, len(want.Guests))
	for i := range want.Guests {
		d := &want.Guests[i]
		if d.VMID != 0 {
			named[d.VMID] = true
		}
		p := withTakenVolumes(planGuest(want, d, got, volumes), want, d, got, volumes)
		if !d.Backup { // whether backups cover the others is found once for all of them
			p = withOrders(withTouches(p, got.Guests[d.VMID]), want, d, got)
		}
		plan.Guests = append(plan.Guests, p)
	}
	cover := newCoverage(want, plan.Guests, got)
	for i := range want.Guests {
		if p, d := &plan.Guests[i], &want.Guests[i]; d.Backup {
			*p = withOrders(withTouches(withBackup(*p, want, d, got, cover), got.Guests[d.VMID]), want, d, got)
		}
	}
	for vmid, owned := range want.Owned {
		if !named[vmid] {
			plan.Guests = append(plan.Guests, withTouches(planUnnamed(want, owned, got, volumes), got.Guests[vmid]))
		}
	}
	plan.Guests = append(plan.Guests, planImages(want, got)...)
	objects := planObjects(want, got)
	withLeftAlone(plan.Guests, objects)
	plan.Guests = append(plan.Guests, objects...)
	slices.SortFunc(plan.Guests, func(a, b Guest) int {
		return cmp.Or(cmp.Compare(a.Wave, b.Wave), cmp.Compare(a.Ref.VMID, b.Ref.VMID), cmp.Compare(a.Ref.Name, b.Ref.Name), cmp.Compare(a.Ref.Kind, b.Ref.Kind))
	})
	addWeakenings(&plan, want.Weakenings)
	return withoutUnread(plan, want)
}
