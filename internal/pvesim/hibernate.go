package pvesim

import "time"

// hibernate saves the memory of a running VM to disk and stops the VM. The VM is locked until its next start, which resumes it.
func hibernate(c *call) (reply, error) {
	return c.start("qmsuspend", c.vmid(), func(t *task) error {
		return t.runOnGuest(QEMU, c.vmid(), func() error {
			g, err := c.findForTask(QEMU)
			if err != nil {
				return err
			}
			if err := checkRunning(g); err != nil {
				return err
			}
			if err := g.checkLock(); err != nil {
				return err
			}
			state, err := t.saveState(g, "suspend-"+time.Now().Format(time.DateOnly))
			if err != nil {
				return err
			}
			t.printf("State saved, quitting")
			g.running = false
			g.edit(func(conf *config) {
				conf.Values["lock"] = "suspended"
				conf.Values["vmstate"] = state
				conf.Values["runningmachine"] = runningMachine(conf.Values)
				conf.Values["runningcpu"] = "qemu64"
				conf.Values["running-nets-host-mtu"] = " "
			})
			c.sim.countEffect(g.vmid, Stopped)
			return nil
		})
	})
}

// resumeHibernated starts a hibernated VM from its saved state. The state is locked.
func (t *task) resumeHibernated(g *guest) {
	t.printf("Resuming suspended VM")
	state := g.conf.Values["vmstate"]
	t.printf("activating and using '%s' as vmstate", state)
	g.edit(func(conf *config) {
		for _, k := range []string{"lock", "vmstate", "runningmachine", "runningcpu", "running-nets-host-mtu"} {
			delete(conf.Values, k)
		}
	})
	t.sim.free(state, freedAfterResume)
	t.printf("Resumed VM, removing state")
	t.sim.markRunning(g)
}
