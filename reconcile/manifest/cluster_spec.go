package manifest

import (
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/manifest/tree"
)

type clusterSpec struct {
	vmids    opt[vmidRange]
	imports  textList
	guards   guards
	rollouts opt[map[string]opt[namedRollout]]
	defaults defaults
}

func (c *clusterSpec) fields() []field {
	return []field{
		{"vmids", "", "Vmids for guests of this source. Guests without a vmid get one of them.", withExamples(child(&c.vmids), `{"from": 200, "to": 299}`)},
		{"imports", "", "Folders with GuestClasses that several clusters use, relative to the folder of the Cluster. source.paths need not contain them.", withExamples(list(&c.imports, importPath, ""), `["../common"]`)},
		{"guards", "", "Limits for the damage of one mistake.", withExamples(group(&c.guards), `{"maxDestroysPerDay": 3, "approvals": 2}`)},
		{"rollouts", "", "How a change reaches guests that have much in common: a few at a time. A class can have its own.", withExamples(namedObjects(&c.rollouts, dnsName), `{"web": {"select": {"classes": ["web"]}, "canary": 1, "maxUnavailable": "10%", "pause": "10m"}}`)},
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
		{"maxDestroysPerDay", "", "Calls to destroy a guest that may be sent in 24 hours, failed and repeated calls included. Default: 3.", integer(&g.maxDestroysPerDay, 0, 1000)},
		{"approvals", "", "Distinct people, by the name in trust.signers, that must approve a held step. Default: 1.", integer(&g.approvals, 1, 16)},
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
