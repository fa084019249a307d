package pvesim

// haCall turns a power call on a managed guest into a task that only records the requested state. It does nothing for other guests, and
// managed is then false.
func (c *call) haCall(typ, word, state string) (rep reply, managed bool, err error) {
	c.sim.mu.Lock()
	h := c.sim.ha[c.vmid()]
	c.sim.mu.Unlock()
	if h == nil {
		return reply{}, false, nil
	}
	rep, err = c.start(typ, c.vmid(), func(t *task) error {
		if err := t.work(1); err != nil {
			return err
		}
		return t.locked(func() error {
			t.printf("Requesting HA %s for %s %d", word, kindLabel(h.kind), h.vmid)
			h.state = state
			t.sim.scheduleHA(h)
			return nil
		})
	})
	return rep, true, err
}

// scheduleHA makes the manager act on a resource in its next round, with tasks of its own. The state is locked.
func (s *Sim) scheduleHA(h *haResource) {
	s.afterRounds(1, func() {
		s.mu.Lock()
		g, current := s.guests[h.vmid], s.ha[h.vmid]
		idle := g == nil || current != h || s.noQuorum
		if !idle {
			h.managerState = h.state
		}
		start := !idle && !g.running && (h.state == "started" || h.state == "enabled")
		stop := !idle && g.running && (h.state == "stopped" || h.state == "disabled")
		s.mu.Unlock()
		if start || stop {
			s.haStartOrShutdown(g, start)
		}
	})
}

// haStartOrShutdown starts a guest or shuts it down on its current node, as root@pam. The state is not locked.
func (s *Sim) haStartOrShutdown(g *guest, start bool) {
	s.mu.Lock()
	node := g.node
	s.mu.Unlock()
	typ := typePrefix(g.kind)
	if !start {
		s.spawn(node, typ+"shutdown", itoa(g.vmid), g.vmid, "root@pam", nil, func(t *task) error {
			return t.runOnGuest(g.kind, g.vmid, func() error {
				if g.running {
					s.markStopped(g)
				}
				return nil
			})
		})
		return
	}
	s.spawn(node, typ+"start", itoa(g.vmid), g.vmid, "root@pam", nil, func(t *task) error {
		if g.kind == LXC {
			return t.startCT(node, g.vmid)
		}
		return t.startVM(node, g.vmid)
	})
}

// checkNotManaged rejects the destruction of a managed guest without purge. The state is locked.
func (c *call) checkNotManaged(g *guest) error {
	if c.sim.ha[g.vmid] == nil || c.flag("purge") {
		return nil
	}
	return apiErrorf("unable to remove %s %d - used in HA resources and purge parameter not set.", g.label(), g.vmid)
}
