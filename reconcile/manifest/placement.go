package manifest

import (
	"cmp"

	"gitops-agent/reconcile/guest"
)

// placement is where a guest may be. The field node of a spec is short for one preferred node.
type placement struct {
	prefer  textList
	migrate opt[string]
	auto    opt[autoPlacement]
}

func (p *placement) fields() []field {
	return []field{
		{"prefer", "node", "Nodes that the guest may be on; it is created on the first one. Replaces the field node.", byHand(list(&p.prefer, nodeName, ""))},
		{"migrate", "", "Whether a guest on any other node is moved to the first one: deny leaves it where it is, offline moves it while it is stopped, online also while it runs (a container restarts). Default: deny.", choice(&p.migrate, string(guest.MigrateDeny), string(guest.MigrateOffline), string(guest.MigrateOnline))},
		{"auto", "", "The agent chooses the node when it creates the guest, from what the nodes have left. It never moves a guest that exists. Replaces node and prefer.", withExamples(child(&p.auto), `{"prefer": "spread", "antiAffinity": ["role"], "nodes": ["pve1", "pve2"]}`, `{}`)},
	}
}

// autoPlacement is how the agent chooses the node of a new guest.
type autoPlacement struct {
	prefer       opt[string]
	antiAffinity textList
	nodes        textList
}

func (a *autoPlacement) fields() []field {
	return []field{
		{"prefer", "", "Of the nodes where the guest fits, take the one of which the least memory is taken, or the fewest processors, or with the fewest guests. Default: least-memory.", choice(&a.prefer, string(guest.LeastMemory), string(guest.LeastCPU), string(guest.Spread))},
		{"antiAffinity", "", "Labels. The guest avoids nodes with guests that have the same value of one of them, before it follows prefer.", withExamples(list(&a.antiAffinity, labelName, ""), `["role"]`)},
		{"nodes", "", "Nodes that may be chosen. Default: every node.", list(&a.nodes, nodeName, "")},
	}
}

// placed returns how the agent chooses the node of the guest, nil if it does not.
func (c *common) placed() *guest.Placement {
	if !c.placement.auto.set {
		return nil
	}
	a := &c.placement.auto.value
	return &guest.Placement{Prefer: guest.Preference(cmp.Or(a.prefer.value, string(guest.LeastMemory))), AntiAffinity: texts(a.antiAffinity), Nodes: texts(a.nodes)}
}

// lowerAuto checks the choice of a node against the other fields about nodes.
func (c *common) lowerAuto(l *lowering) {
	p := &c.placement
	at, auto := p.auto.place, &p.auto.value
	switch {
	case !p.auto.set:
	case c.node.set:
		l.problem(c.node.place, "got node beside "+l.describePlace(at)+", want one of the two", "null drops an inherited one")
	case p.prefer.set:
		l.problem(p.prefer.place, "got placement.prefer beside "+l.describePlace(at)+", want one of the two", "null drops an inherited one; the nodes that may be chosen are placement.auto.nodes")
	case p.migrate.set && p.migrate.value != string(guest.MigrateDeny):
		l.problem(p.migrate.place, "got migrate: "+p.migrate.value+" beside "+l.describePlace(at)+", but a guest whose node the agent chose is never moved", "leave it out, or use placement.prefer")
	}
	if auto.nodes.set && len(auto.nodes.value) == 0 {
		l.missing(auto.nodes.place, "got an empty list, want at least one node", "null leaves the field alone")
	}
}
