package pvesim

import "time"

// ghost is a VM that was destroyed while the list of its node was being made: the list still looks for its file.
type ghost struct {
	node  string
	until time.Time
}

// listed leaves a destroyed VM in the list of its node for a while. The state is locked.
func (s *Sim) listed(vmid int, node string, d time.Duration) {
	s.ghosts[vmid] = ghost{node: node, until: time.Now().Add(d)}
}

// checkGhosts fails a list of VMs that stumbles over a file that has just gone. The state is locked.
func (c *call) checkGhosts() error {
	for id, g := range c.sim.ghosts {
		switch {
		case !time.Now().Before(g.until):
			delete(c.sim.ghosts, id)
		case g.node == c.node():
			return die("Configuration file '%s' does not exist", configPath(QEMU, g.node, id))
		}
	}
	return nil
}
