package pvesim

// startCT applies what is pending and starts.
func (t *task) startCT(node string, vmid int) error {
	return t.withLock(LXC, vmid, func() error {
		err := t.locked(func() error {
			g, err := t.sim.find(LXC, node, vmid)
			if err != nil {
				return err
			}
			if t.sim.inquorate {
				return die("cluster not ready - no quorum?")
			}
			if g.isTemplate() {
				return die("you can't start a CT if it's a template")
			}
			if err := g.checkLock(); err != nil {
				return err
			}
			if g.running {
				return die("CT %d already running", vmid)
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
			return t.sim.boot(g)
		})
	})
}

// boot makes a stopped container running, with what was pending. The state is locked.
func (s *Sim) boot(g *guest) error {
	if g.conf.hasPending() {
		conf := g.conf.clone()
		if err := s.applyCT(g, conf); err != nil {
			return err
		}
		g.write(conf)
	}
	if err := s.checkVolumes(g); err != nil {
		return err
	}
	s.run(g)
	return nil
}

func destroyCT(c *call) (reply, error) {
	err := c.sim.locked(func() error {
		g, err := c.ct()
		if err != nil {
			return err
		}
		if err := g.checkProtection("can't remove CT " + itoa(g.vmid)); err != nil {
			return err
		}
		if g.running && !c.is("force") {
			return die("unable to destroy CT %d - container is running", g.vmid)
		}
		if err := c.leaveHA(g); err != nil {
			return err
		}
		return g.checkLock()
	})
	if err != nil {
		return reply{}, err
	}
	return c.start("vzdestroy", c.vmid(), func(t *task) error {
		return t.onGuest(LXC, c.vmid(), func() error {
			g, err := c.ct()
			if err != nil {
				return err
			}
			if err := g.checkLock(); err != nil {
				return err
			}
			if g.running {
				if !c.is("force") {
					return die("unable to destroy CT %d - container is running", g.vmid)
				}
				c.sim.halt(g)
			}
			return t.destroy(g, c)
		})
	})
}

// resizeCT refuses what it can before the task: the digest, a lock, shrinking, and the size it has already.
func resizeCT(c *call) (reply, error) {
	err := c.sim.locked(func() error {
		g, err := c.ct()
		if err != nil {
			return err
		}
		if err := g.checkLock(); err != nil {
			return err
		}
		if err := g.checkDigest(c.params["digest"]); err != nil {
			return err
		}
		slot := c.params["disk"]
		if g.conf.values[slot] == "" {
			return die("no such volume: %s", slot)
		}
		d, err := parseMount(slot, g.conf.values[slot])
		if err != nil {
			return err
		}
		v := c.sim.volume(d.file())
		if v == nil {
			return die("volume '%s' does not exist", d.file())
		}
		if err := c.permitGrowth(g); err != nil {
			return err
		}
		switch n := newSize(c.params["size"], v.Size); {
		case n < v.Size:
			return die("unable to shrink disk size")
		case n == v.Size:
			return die("disk is already at specified size")
		}
		return nil
	})
	if err != nil {
		return reply{}, err
	}
	return c.start("resize", c.vmid(), func(t *task) error {
		return t.onGuest(LXC, c.vmid(), func() error {
			g, err := c.ct()
			if err != nil {
				return err
			}
			if err := g.checkLock(); err != nil {
				return err
			}
			return t.resize(g, c.params["disk"], c.params["size"])
		})
	})
}

func templateCT(c *call) (reply, error) {
	err := c.sim.locked(func() error {
		g, err := c.ct()
		if err != nil {
			return err
		}
		return mayBecomeTemplate(g)
	})
	if err != nil {
		return reply{}, err
	}
	_, err = c.start("vztemplate", c.vmid(), func(t *task) error {
		return t.onGuest(LXC, c.vmid(), func() error {
			g, err := c.ct()
			if err != nil {
				return err
			}
			return c.sim.makeTemplate(g)
		})
	})
	if err != nil {
		return reply{}, err
	}
	return null() // a worker runs all the same
}
