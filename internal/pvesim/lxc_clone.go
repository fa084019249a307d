package pvesim

import "maps"

// cloneCT locks the source's config with "disk" and the target's config with "create" until the task has copied.
func cloneCT(c *call) (reply, error) {
	newID := atoi(c.params["newid"])
	err := c.sim.locked(func() error {
		if err := c.permitClone(newID); err != nil {
			return err
		}
		src, err := c.ct()
		if err != nil {
			return err
		}
		if err := src.checkLock(); err != nil {
			return err
		}
		if err := c.checkLinkedClone(src); err != nil {
			return err
		}
		if err := c.permitCloneTargets(src); err != nil {
			return err
		}
		if src.running {
			return apiErrorf("cannot clone a running container without a snapshot")
		}
		if old := c.sim.guests[newID]; old != nil {
			return apiErrorf("%s %d already exists on node '%s'", old.label(), newID, old.node)
		}
		g := newGuest(newID, LXC, c.targetNode())
		g.edit(func(conf *config) { conf.Values["lock"] = "create" })
		c.sim.guests[newID] = g
		c.sim.cloneFirewall(c.vmid(), newID)
		src.edit(func(conf *config) { conf.Values["lock"] = "disk" })
		return nil
	})
	if err != nil {
		return reply{}, err
	}
	return c.start("vzclone", c.vmid(), func(t *task) error { return t.cloneCT(c, newID) })
}

func (t *task) cloneCT(c *call, newID int) error {
	var made []string
	t.logLine("creating a clone of container %d with ID %d", c.vmid(), newID)
	err := t.work(1)
	if workerDied(err) {
		return err
	}
	return t.commitGuest(newID, func() error {
		src, srcErr := c.ct()
		if srcErr == nil {
			src.edit(func(conf *config) { delete(conf.Values, "lock") })
		}
		if err == nil {
			err = srcErr
		}
		if err == nil {
			err = t.copyCT(c, src, newID, &made)
		}
		if err != nil {
			t.sim.freeAllocated(made)
			delete(t.sim.guests, newID)
			return apiErrorf("clone failed: %s", firstLine(err.Error()))
		}
		c.addToPool(newID)
		t.sim.countEffect(newID, Cloned)
		return nil
	})
}

func (t *task) copyCT(c *call, src *guest, newID int, made *[]string) error {
	from, err := c.cloneSource(src)
	if err != nil {
		return err
	}
	v := maps.Clone(from)
	for _, k := range []string{"template", "lock", "parent", "snaptime"} {
		delete(v, k)
	}
	maps.DeleteFunc(v, func(k, _ string) bool { return isUnused(k) })
	for _, slot := range diskSlots(LXC, v) {
		d, err := parseMount(slot, v[slot])
		if err != nil {
			return err
		}
		if !d.ownsVolume() {
			continue
		}
		if d, err = t.copyDrive(c, src, newID, d, made); err != nil {
			return err
		}
		v[slot] = d.text()
	}
	for _, k := range slotsOf(v, isNet) {
		if n, err := lxcNetFormat.parse(k, v[k]); err == nil {
			n["hwaddr"] = t.sim.newMAC()
			v[k] = lxcNetFormat.format(n)
		}
	}
	if h := c.params["hostname"]; h != "" {
		v["hostname"] = h
	}
	if d, ok := c.params["description"]; ok {
		v["description"] = d
	}
	t.warnOfOS(v)
	t.sim.guests[newID].edit(func(conf *config) { conf.Values = v })
	return nil
}
