package manifest

import (
	"fmt"

	"gitops-agent/reconcile/guest"
)

// Cluster contains the settings for the cluster as a whole. Its name must be the cluster name in the agent's configuration.
type Cluster struct {
	Name   string
	VMIDs  Range // of guests that the agent creates; the zero Range allocates nothing
	Guards Guards
	Origin guest.Origin
}

// Range is the vmids from From to To, including both.
type Range struct{ From, To int }

// Has reports whether a vmid is in the range.
func (r Range) Has(vmid int) bool { return r.From <= vmid && vmid <= r.To }

// Guards limit the damage of one mistake.
type Guards struct {
	MaxDestroysPerDay int // guests destroyed in 24 hours; default 3
	Approvals         int // distinct identities that must approve a held step; default 1
}

// decodeCluster reads the Cluster with its rollouts.
func decodeCluster(doc *document, r *report) (Cluster, []*clusterRollout, clusterSpec) {
	var s clusterSpec
	d := newDecoder(r, doc.label(), &s)
	before := r.count
	if doc.spec != nil {
		decodeObject(d, doc.spec, &s)
	}
	out := Cluster{
		Name: doc.meta.name.value, Origin: guest.Origin(doc.at),
		VMIDs:  Range{s.vmids.value.from.value, s.vmids.value.to.value},
		Guards: Guards{MaxDestroysPerDay: 3, Approvals: 1},
	}
	if s.guards.maxDestroysPerDay.set {
		out.Guards.MaxDestroysPerDay = s.guards.maxDestroysPerDay.value
	}
	if s.guards.approvals.set {
		out.Guards.Approvals = s.guards.approvals.value
	}
	if v := s.vmids; v.set && r.count == before && (out.VMIDs.From == 0 || out.VMIDs.To < out.VMIDs.From) {
		d.below("vmids").problem(v.at, fmt.Sprintf("got %d to %d, want a first and a last vmid", out.VMIDs.From, out.VMIDs.To), "")
	}
	checkInherited(d.below("defaults"), &s.defaults, inheritedHint, inheritedNever...)
	return out, decodeRollouts(d, s.rollouts.value), s
}

// inheritedNever are the fields that no class and no Cluster can give to a guest.
var inheritedNever = []string{"vmid", "class", "name", "hostname"}

const inheritedHint = "set it in the guest, or list classes in spec.class"

// checkInherited decodes inherited values once, so that a mistake is reported once, at its position, whichever guests inherit it. Never are the fields
// that cannot be inherited, with a hint where to set them.
func checkInherited(d decoder, given *defaults, hint string, never ...string) {
	for _, kind := range []guest.Kind{guest.VirtualMachine, guest.Container} {
		n := given.of(kind)
		if n == nil {
			continue
		}
		s := newSpec(kind)
		below := d.below(inheritedName[kind])
		below.root, below.base = s, below.path
		decodeObject(below, n, s)
		for _, own := range never {
			if value := n.Get(own); value != nil && !value.IsNull() {
				below.below(own).problem(value.Key, "a guest cannot inherit its "+own, hint)
			}
		}
	}
}
