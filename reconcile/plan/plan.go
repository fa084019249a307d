package plan

import (
	"cmp"
	"slices"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/secret"
)

// Desired is everything that the manifests ask for, and the records of the guests that the agent owns.
type Desired struct {
	Cluster    string // name of the cluster, part of every marker and step digest
	Revision   string // "main@sha1:<40 hex>"; empty for a working copy
	Guests     []guest.Desired
	Others     []guest.Desired               // guests that manifests name and that are not planned; guests of Guests may be among them
	Owned      map[int]journal.Owned         // by vmid
	Remembered map[int]journal.Guarded       // last accepted lifecycle, by vmid
	Applied    map[int]journal.Applied       // secrets that were sent to guests last, by vmid
	Secrets    map[secret.Place]secret.State // present state of the secrets; a secret that is missing here was not read
	NoRevision bool                          // no revision is in force, so it is unknown which guests are wanted

	ClusterContext *ClusterContext // the other guests, if a guest is planned alone; else nil
}

// Plan is the work that would bring the observed guests to the desired state. It is immutable.
type Plan struct {
	Cluster  string
	Revision string
	Guests   []Guest // by wave, then vmid, then label
}

// Guest is the part of a plan that concerns one guest.
type Guest struct {
	Ref        guest.Ref
	Node       string
	Wave       int
	Origin     guest.Origin
	Managed    bool           // a manifest names the guest
	Changes    []guest.Change // every difference, including those that no step can remove
	Steps      []Step         // in order; the later steps are planned again after the earlier ones ran
	Conditions []Condition    // why a difference has no step
}

// Empty reports whether every guest is as wanted.
func (p Plan) Empty() bool {
	return !slices.ContainsFunc(p.Guests, func(g Guest) bool { return !g.Empty() })
}

// Empty reports whether the guest has no change, no step and no condition.
func (g Guest) Empty() bool {
	return len(g.Changes) == 0 && len(g.Steps) == 0 && len(g.Conditions) == 0
}

// Steps returns every step of the plan in order.
func (p Plan) Steps() []Step {
	var steps []Step
	for _, g := range p.Guests {
		steps = append(steps, g.Steps...)
	}
	return steps
}

// New returns the steps that bring got to want, ordered by wave, then vmid, and within a guest configuration before
// run state. It is pure. An owned guest that no manifest names gets a destroy step, which the gate judges. A guest that is
// not owned gets no step unless its manifest contains adopt. No step destroys or attaches a volume that another guest uses.
//
// Why a removed manifest does not destroy its guest by itself: docs/adr/0004.
func New(want Desired, got cluster.Snapshot) Plan {
	plan := Plan{Cluster: want.Cluster, Revision: want.Revision, Guests: make([]Guest, 0, len(want.Guests))}
	volumes := newHolders(want, got)
	named := make(map[int]bool, len(want.Guests))
	for i := range want.Guests {
		d := &want.Guests[i]
		if d.VMID != 0 {
			named[d.VMID] = true
		}
		plan.Guests = append(plan.Guests, planGuest(want, d, got, volumes))
	}
	for vmid, owned := range want.Owned {
		if !named[vmid] {
			plan.Guests = append(plan.Guests, planUnnamed(want, owned, got, volumes))
		}
	}
	slices.SortFunc(plan.Guests, func(a, b Guest) int {
		return cmp.Or(cmp.Compare(a.Wave, b.Wave), cmp.Compare(a.Ref.VMID, b.Ref.VMID), cmp.Compare(a.Ref.Name, b.Ref.Name))
	})
	return plan
}
