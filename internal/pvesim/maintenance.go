package pvesim

import "slices"

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
