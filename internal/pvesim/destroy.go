package pvesim

import "slices"

// destroyVM rejects a protected or running VM at once. The task checks locks and linked clones.
func destroyVM(c *call) (reply, error) {
	err := c.sim.locked(func() error {
		g, err := c.vm()
		if err != nil {
			return err
		}
		if err := g.checkProtection("can't remove VM " + itoa(g.vmid)); err != nil {
			return err
		}
		if g.running {
			return apiErrorf("VM %d is running - destroy failed", g.vmid)
		}
		if err := c.checkNotManaged(g); err != nil {
			return err
		}
		return c.checkNotReplicated(g)
	})
	if err != nil {
		return reply{}, err
	}
	return c.start("qmdestroy", c.vmid(), func(t *task) error {
		return t.runOnGuest(QEMU, c.vmid(), func() error {
			g, err := c.vm()
			if err != nil {
				return err
			}
			if g.running {
				return apiErrorf("VM %d is running - destroy failed", g.vmid)
			}
			if l := g.conf.Values["lock"]; l != "suspended" { // a hibernated VM may be destroyed
				if err := g.checkLock(); err != nil {
					return err
				}
			}
			return t.destroy(g, c)
		})
	})
}

// volumesToFree returns the volumes that the config of a guest names now, after the next start, or as saved memory of a snapshot, and that belong to the
// guest's vmid. Volumes with another vmid in their name are not freed.
//
// Source: PVE::QemuServer destroy_vm, PVE::LXC destroy_lxc_container.
func (s *Sim) volumesToFree(g *guest) []string {
	var volumes []string
	add := func(id string) {
		if v := s.volume(id); v == nil || v.Owner == g.vmid {
			volumes = append(volumes, id)
		}
	}
	for _, section := range []values{g.conf.Values, g.conf.Pending} {
		for k, v := range section {
			if isUnused(k) {
				add(v)
			} else if isDisk(g.kind, k) {
				if d, err := parseDisk(g.kind, k, v); err == nil && d.ownsVolume() {
					add(d.file())
				}
			}
		}
	}
	for _, snap := range g.conf.Snapshots {
		if v := snap.Values["vmstate"]; v != "" {
			add(v)
		}
	}
	return volumes
}

// destroy removes the config and frees the volumes of the guest. With destroy-unreferenced-disks it also frees all other volumes of the vmid. The
// state is locked.
func (t *task) destroy(g *guest, c *call) error {
	s := t.sim
	volumes := s.volumesToFree(g)
	reasons := map[string]freeReason{}
	for _, id := range volumes {
		reasons[id] = freeReason(destroyReasonPrefix + itoa(g.vmid))
	}
	if c.flag("destroy-unreferenced-disks") {
		for _, v := range s.volumesOf(g.vmid) {
			volumes = append(volumes, v.ID)
		}
	}
	slices.Sort(volumes)
	for _, id := range volumes {
		if len(s.linkedClones(id)) > 0 {
			return apiErrorf("base volume '%s' is still in use by linked cloned", id)
		}
	}
	s.checkDestroy(g)
	for _, id := range slices.Compact(volumes) {
		if s.volume(id) == nil {
			t.printf("disk image '%s' does not exist", s.pathOf(id))
		}
		if reasons[id] == "" {
			reasons[id] = freeReason("destroy-unreferenced-disks of " + itoa(g.vmid))
		}
		s.free(id, reasons[id])
	}
	if c.flag("purge") {
		t.printf("purging %s %d from related configurations..", g.label(), g.vmid)
		s.dropFromBackupJobs(g.vmid)
		s.replications = slices.DeleteFunc(s.replications, func(j *replicationJob) bool { return j.vmid == g.vmid })
	}
	if s.ha[g.vmid] != nil {
		t.printf("NOTE: removed %s %d from HA resource configuration.", g.label(), g.vmid)
		s.dropFromHARules(s.ha[g.vmid].sid())
		delete(s.ha, g.vmid)
	}
	delete(s.guests, g.vmid)
	delete(s.firewalls, guestFirewall(g.vmid))
	if t.fault != nil && t.fault.Kind == ListRace && g.kind == QEMU {
		s.startListRace(g.vmid, g.node, t.fault.Delay)
	}
	s.removeFromPool(g.vmid)
	s.countEffect(g.vmid, Destroyed)
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
		if g.running && !c.flag("force") {
			return apiErrorf("unable to destroy CT %d - container is running", g.vmid)
		}
		if err := c.checkNotManaged(g); err != nil {
			return err
		}
		if err := c.checkNotReplicated(g); err != nil {
			return err
		}
		return g.checkLock()
	})
	if err != nil {
		return reply{}, err
	}
	return c.start("vzdestroy", c.vmid(), func(t *task) error {
		return t.runOnGuest(LXC, c.vmid(), func() error {
			g, err := c.ct()
			if err != nil {
				return err
			}
			if err := g.checkLock(); err != nil {
				return err
			}
			if g.running {
				if !c.flag("force") {
					return apiErrorf("unable to destroy CT %d - container is running", g.vmid)
				}
				c.sim.markStopped(g)
			}
			return t.destroy(g, c)
		})
	})
}
