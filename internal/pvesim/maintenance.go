package pvesim

import (
	"slices"
	"time"
)

// SetMaintenance begins or ends the maintenance mode of a node, as "ha-manager crm-command node-maintenance" does. The manager then keeps its own services
// away from the node. Proxmox still accepts calls for the node, and its guests run on.
func (s *Sim) SetMaintenance(node string, on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.maintenance = slices.DeleteFunc(s.maintenance, func(n string) bool { return n == node })
	if on && s.hasNode(node) {
		s.maintenance = append(s.maintenance, node)
	}
}

// haNodeState returns the state that the HA manager has of a node: "" while it does not work, as in the recordings: here it
// works while a node is in maintenance. The state is locked.
func (s *Sim) haNodeState(node string) string {
	switch {
	case len(s.maintenance) == 0:
		return ""
	case slices.Contains(s.maintenance, node):
		return "maintenance"
	case !s.isOnline(node):
		return "unknown"
	}
	return "online"
}

// lrmRow returns what the manager knows of the local resource manager of a node. The state is locked.
func (s *Sim) lrmRow(node string) *object {
	mode := "idle"
	if slices.Contains(s.maintenance, node) {
		mode = "maintenance mode"
	}
	o := &object{}
	for _, kv := range [][2]string{
		{"id", "lrm:" + node}, {"type", "lrm"}, {"node", node}, {"status", node + " (" + mode + ", " + time.Now().Format(time.ANSIC) + ")"},
	} {
		o.str(kv[0], kv[1])
	}
	o.num("timestamp", time.Now().Unix())
	return o
}

// haManagerStatus returns the manager's own file, and whether the node that answers has a quorum.
func haManagerStatus(c *call) (reply, error) {
	var o, manager, nodes, quorum object
	for _, n := range c.sim.opts.Nodes {
		if state := c.sim.haNodeState(n); state != "" {
			nodes.str(n, state)
		}
	}
	manager.raw("node_status", nodes.bytes())
	if round := c.sim.lastHARound(); !round.IsZero() && len(c.sim.ha) > 0 {
		manager.str("master_node", c.sim.opts.Nodes[0])
		manager.num("timestamp", round.Unix())
	}
	quorum.str("quorate", itoa(int(1-boolToInt(c.sim.noQuorum))))
	quorum.str("node", c.sim.opts.Nodes[0])
	o.raw("quorum", quorum.bytes())
	o.raw("manager_status", manager.bytes())
	return dataReply(o.bytes())
}
