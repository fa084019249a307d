package manifest

import (
	"fmt"

	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/manifest/tree"
)

// Vmids that Proxmox accepts.
const (
	minVMID = 100
	maxVMID = 999999999
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

type clusterSpec struct {
	vmids    opt[vmidRange]
	guards   guards
	defaults defaults
}

func (c *clusterSpec) fields() []field {
	return []field{
		{"vmids", "", "Vmids for guests of this source. Guests without a vmid get one of them.", withExamples(child(&c.vmids), `{"from": 200, "to": 299}`)},
		{"guards", "", "Limits for the damage of one mistake.", withExamples(group(&c.guards), `{"maxDestroysPerDay": 3, "approvals": 2}`)},
		{"defaults", "", "What every guest inherits. Its classes override it.", group(&c.defaults)},
	}
}

type vmidRange struct{ from, to opt[int] }

func (v *vmidRange) fields() []field {
	return []field{
		{"from", "", "First vmid.", integer(&v.from, minVMID, maxVMID)},
		{"to", "", "Last vmid.", integer(&v.to, minVMID, maxVMID)},
	}
}

type guards struct{ maxDestroysPerDay, approvals opt[int] }

func (g *guards) fields() []field {
	return []field{
		{"maxDestroysPerDay", "", "Guests that may be destroyed in 24 hours. Default: 3.", integer(&g.maxDestroysPerDay, 0, 1000)},
		{"approvals", "", "Distinct identities that must approve a held step. Default: 1.", integer(&g.approvals, 1, 16)},
	}
}

type defaults struct{ machine, container *tree.Node }

func (d *defaults) fields() []field {
	return []field{
		{"virtualMachine", "", "For virtual machines: a spec as in VirtualMachine.", withExamples(subtree(&d.machine, string(guest.VirtualMachine)), `{"osType": "l26", "agent": {"enabled": true}}`)},
		{"container", "", "For containers: a spec as in Container.", withExamples(subtree(&d.container, string(guest.Container)), `{"unprivileged": true}`)},
	}
}

// of returns the defaults for a kind, or nil if there are none.
func (d *defaults) of(kind guest.Kind) *tree.Node {
	if kind == guest.Container {
		return d.container
	}
	return d.machine
}

// decodeCluster reads the Cluster and the defaults that it gives.
func decodeCluster(doc *document, r *report) (Cluster, defaults) {
	var s clusterSpec
	d := decoder{report: r, label: doc.label(), root: &s}
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
	checkInherited(d.below("defaults"), &s.defaults)
	return out, s.defaults
}

// inheritedName is the field for what guests of a kind inherit, in a class and in the defaults.
var inheritedName = map[guest.Kind]string{guest.VirtualMachine: "virtualMachine", guest.Container: "container"}

// checkInherited decodes inherited values once, so that a mistake is reported once, at its position, whichever guests inherit it.
func checkInherited(d decoder, given *defaults) {
	for _, kind := range []guest.Kind{guest.VirtualMachine, guest.Container} {
		n := given.of(kind)
		if n == nil {
			continue
		}
		s := newSpec(kind)
		below := d.below(inheritedName[kind])
		below.root, below.base = s, below.path
		decodeObject(below, n, s)
		for _, own := range []string{"vmid", "class", "name", "hostname"} {
			if value := n.Get(own); value != nil && !value.IsNull() {
				below.below(own).problem(value.Key, "a guest cannot inherit its "+own, "set it in the guest, or list classes in spec.class")
			}
		}
	}
}
