package manifest

import (
	"gitops-agent/reconcile/guest"
)

// placement is where a guest may be. The field node of a spec is short for one preferred node.
type placement struct {
	prefer  textList
	migrate opt[string]
}

func (p *placement) fields() []field {
	return []field{
		{"prefer", "node", "Nodes that the guest may be on; it is created on the first one. In place of node.", byHand(list(&p.prefer, nodeName, ""))},
		{"migrate", "", "Whether a guest on any other node is moved to the first one: deny leaves it where it is, offline moves it while it is stopped, online also while it runs (a container restarts). Default: deny.", choice(&p.migrate, string(guest.MigrateDeny), string(guest.MigrateOffline), string(guest.MigrateOnline))},
	}
}

// nodes returns the nodes that the guest may be on, the preferred one first.
func (c *common) nodes() []string {
	if c.node.set {
		return []string{c.node.value}
	}
	return texts(c.placement.prefer)
}

// home returns the node to create the guest on, or "" if the manifest does not name one.
func (c *common) home() string {
	if nodes := c.nodes(); len(nodes) > 0 {
		return nodes[0]
	}
	return ""
}

// migration returns whether the guest is moved from another node.
func (c *common) migration() guest.Migration {
	if c.placement.migrate.set {
		return guest.Migration(c.placement.migrate.value)
	}
	return guest.MigrateDeny
}

// lowerPlacement checks where the guest may be, and records it under the name that ignoreFields uses.
func (c *common) lowerPlacement(l *lowering) {
	p := &c.placement
	if c.node.set {
		l.recordNative("node", c.node.place)
	}
	if p.prefer.set {
		l.recordNative("node", p.prefer.place)
	}
	switch {
	case c.node.set && p.prefer.set:
		l.problem(c.node.place, "got node beside "+l.describePlace(p.prefer.place)+", want one of the two", "null drops an inherited one")
	case p.prefer.set && len(p.prefer.value) == 0:
		l.missing(p.prefer.place, "got an empty list, want at least one node", "null leaves the field alone")
	case c.migration() != guest.MigrateDeny && c.home() == "":
		l.missing(p.migrate.place, "got migrate: "+p.migrate.value+" without a node to move to", "add placement.prefer")
	}
}
