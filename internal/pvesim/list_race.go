package pvesim

import "time"

// destroyedVM is a VM that was destroyed while the list of its node was being made: the list still looks for its file.
type destroyedVM struct {
	node  string
	until time.Time
}

// startListRace leaves a destroyed VM in the list of its node for a while. The state is locked.
func (s *Sim) startListRace(vmid int, node string, d time.Duration) {
	s.listRaces[vmid] = destroyedVM{node: node, until: time.Now().Add(d)}
}

// checkListRaces fails a list of VMs that stumbles over a file that has just gone. The state is locked.
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
