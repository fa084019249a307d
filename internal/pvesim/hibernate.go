package pvesim

import "time"

// hibernate saves the memory of a running VM to disk and stops the VM. The VM is locked until its next start, which resumes it. If saving fails, the
// lock "suspending" stays.
func hibernate(c *call) (reply, error) {
	return c.start("qmsuspend", c.vmid(), func(t *task) error {
		return t.withGuestLock(QEMU, c.vmid(), func() error {
			var state string
			if err := t.locked(func() (err error) { state, err = t.beginHibernation(c); return err }); err != nil {
				return err
			}
			err := t.work(1)
			if workerDied(err) {
				return err
			}
			return t.locked(func() error { return t.endHibernation(c, state, err) })
		})
	})
}

// beginHibernation locks the config and allocates the volume for the memory. The state is locked.
func (t *task) beginHibernation(c *call) (state string, err error) {
	g, err := c.findForTask(QEMU)
	if err != nil {
		return "", err
	}
	for _, check := range []func() error{
		func() error { return c.sim.checkWritable(g) }, func() error { return checkRunning(g) }, g.checkLock,
	} {
		if err := check(); err != nil {
			return "", err
		}
	}
	if state, err = t.saveState(g, "suspend-"+time.Now().Format(time.DateOnly)); err != nil {
		return "", err
	}
	g.edit(func(conf *config) { conf.Values["lock"] = "suspending" })
	return state, nil
}

// endHibernation stops the VM, or frees the volume if saving has failed. The state is locked.
func (t *task) endHibernation(c *call, state string, err error) error {
	g, findErr := c.findForTask(QEMU)
	if findErr != nil {
		return findErr
	}
	if err != nil {
		t.sim.free(state, freedAfterFailure)
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
}

// resumeHibernated starts a hibernated VM from its saved state. Proxmox writes the cloud-init image as for every start, although the system goes on where it
// was. The state is locked.
//
// Source: qemu-server, PVE::QemuServer vm_start_nolock.
func (t *task) resumeHibernated(g *guest) error {
	t.printf("Resuming suspended VM")
	if err := t.sim.generateCloudInit(g, t.printf); err != nil {
		return err
	}
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
	g.resumed = true
	return nil
}
