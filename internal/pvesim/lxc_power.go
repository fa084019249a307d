package pvesim

// startCT applies the pending changes of a container and starts it.
func (t *task) startCT(node string, vmid int) error {
	return t.withGuestLock(LXC, vmid, func() error {
		err := t.locked(func() error {
			g, err := t.sim.find(LXC, node, vmid)
			if err != nil {
				return err
			}
			if !t.sim.isQuorate(node) {
				return apiErrorf("cluster not ready - no quorum?")
			}
			if g.isTemplate() {
				return apiErrorf("you can't start a CT if it's a template")
			}
			if err := g.checkLock(); err != nil {
				return err
			}
			if g.running {
				return apiErrorf("CT %d already running", vmid)
			}
			return nil
		})
		if err != nil {
			return err
		}
		if err := t.work(1); err != nil {
			return err
		}
		return t.locked(func() error {
			g, err := t.sim.find(LXC, node, vmid)
			if err != nil {
				return err
			}
			return t.sim.startContainer(g)
		})
	})
}

// startContainer applies the pending changes of a stopped container and marks it as running. The state is locked.
func (s *Sim) startContainer(g *guest) error {
	if g.conf.HasPending() {
		conf := g.conf.Clone()
		if err := s.applyCT(g, conf); err != nil {
			return err
		}
		g.write(conf)
	}
	if err := s.checkVolumes(g); err != nil {
		return err
	}
	s.markRunning(g)
	return nil
}
