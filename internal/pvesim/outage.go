package pvesim

import "slices"

// LoseQuorum leaves the cluster without a majority: reads go on, what needs /etc/pve to be writable is refused.
func (s *Sim) LoseQuorum() { s.setQuorum(false) }

// RegainQuorum ends LoseQuorum.
func (s *Sim) RegainQuorum() { s.setQuorum(true) }

func (s *Sim) setQuorum(quorate bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.inquorate = !quorate
}

// StopNode makes a node unreachable: calls for it answer 595. Its guests stay in the inventory as last seen.
func (s *Sim) StopNode(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.Contains(s.down, name) {
		s.down = append(s.down, name)
	}
}

// StartNode ends StopNode.
func (s *Sim) StartNode(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.down = slices.DeleteFunc(s.down, func(n string) bool { return n == name })
}

// needQuorum refuses calls that begin by asking for a quorate cluster. The state is locked.
func (c *call) needQuorum() error {
	if c.sim.inquorate {
		return die("cluster not ready - no quorum?")
	}
	return nil
}

// mayWrite refuses to write a config file while the cluster file system is read-only. The state is locked.
func (s *Sim) mayWrite(g *guest) error {
	if s.inquorate {
		return die("unable to open file '/etc/pve/%s.tmp.%d' - Permission denied", configPath(g.kind, g.node, g.vmid), s.nextPID)
	}
	return nil
}
