package pvesim

import "time"

// destroyedVM is a VM that was destroyed while the list of its node was made: until the time, the list still reads the config file.
type destroyedVM struct {
	node  string
	until time.Time
}

// startListRace makes the list of a node read the config file of a destroyed VM for d. The state is locked.
func (s *Sim) startListRace(vmid int, node string, d time.Duration) {
	s.listRaces[vmid] = destroyedVM{node: node, until: time.Now().Add(d)}
}

// checkListRaces returns the error of a list of VMs that reads a config file which has just been removed. The state is locked.
func (c *call) checkListRaces() error {
	for id, g := range c.sim.listRaces {
		switch {
		case !time.Now().Before(g.until):
			delete(c.sim.listRaces, id)
		case g.node == c.node():
			return apiErrorf("Configuration file '%s' does not exist", configPath(QEMU, g.node, id))
		}
	}
	return nil
}
