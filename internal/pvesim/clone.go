package pvesim

import "strings"

// cloneVM copies or links a VM in a task. The task has the vmid of the source.
func cloneVM(c *call) (reply, error) {
	newID := atoi(c.params["newid"])
	err := c.sim.locked(func() error {
		if err := c.permitClone(newID); err != nil {
			return err
		}
		src, err := c.vm()
		if err != nil {
			return apiErrorf("unable to find configuration file for VM %d on node '%s'", c.vmid(), c.node())
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
		return c.checkCloneID(newID)
	})
	if err != nil {
		return reply{}, err
	}
	return c.start("qmclone", c.vmid(), func(t *task) error {
		// the source's lock is held only while the id is reserved, the target's lock during the whole copy
		err := t.withGuestLock(QEMU, c.vmid(), func() error { return t.locked(func() error { return c.reserveCloneID(newID) }) })
		if err != nil {
			return err
		}
		return t.withGuestLock(QEMU, newID, func() error { return t.clone(c, newID) })
	})
}

func (c *call) checkCloneID(newID int) error {
	if c.sim.guests[newID] != nil {
		return apiErrorf("unable to create VM %d: config file already exists", newID)
	}
	return nil
}

// reserveCloneID creates the config of the target, which is locked and otherwise empty. The state is locked.
func (c *call) reserveCloneID(newID int) error {
	if err := c.checkCloneID(newID); err != nil {
		return err
	}
	g := newGuest(newID, QEMU, c.targetNode())
	g.setText("# qmclone temporary file\nlock: clone\n")
	c.sim.guests[newID] = g
	c.sim.cloneFirewall(c.vmid(), newID)
	return nil
}

func (c *call) permitClone(newID int) error {
	if err := c.requireQuorum(); err != nil {
		return err
	}
	if err := c.permitAllocate(newID); err != nil {
		return err
	}
	if st := c.params["storage"]; st != "" {
		if c.sim.storage(st) == nil {
			return apiErrorf("storage '%s' does not exist", st)
		}
		if err := c.require("/storage/"+st, "Datastore.AllocateSpace"); err != nil {
			return err
		}
	}
	if n := c.params["target"]; n != "" && !c.sim.hasNode(n) {
		return apiErrorf("no such cluster node '%s'", n)
	}
	return nil
}

// permitCloneTargets requires privileges on the storages of the copies and on the bridges of the clone. The state is locked.
func (c *call) permitCloneTargets(src *guest) error {
	v, err := c.cloneSource(src)
	if err != nil {
		return err
	}
	for _, slot := range diskSlots(src.kind, v) {
		d, err := parseDisk(src.kind, slot, v[slot])
		if err != nil || !d.ownsVolume() || c.params["storage"] != "" {
			continue
		}
		if err := c.require("/storage/"+d.storageOf(), "Datastore.AllocateSpace"); err != nil {
			return err
		}
	}
	format := qemuNetFormat
	if src.kind == LXC {
		format = lxcNetFormat
	}
	for _, k := range slotsOf(v, isNet) {
		if err := c.permitBridge(format, v[k]); err != nil {
			return err
		}
	}
	return nil
}

// targetNode returns the node on which a clone is created.
func (c *call) targetNode() string {
	if n := c.params["target"]; n != "" {
		return n
	}
	return c.node()
}

// isFull reports whether a clone copies the disks: by default for an ordinary guest, only on request for a template.
func (c *call) isFull(src *guest) bool {
	if _, given := c.params["full"]; given {
		return c.flag("full")
	}
	return !src.isTemplate()
}

// checkLinkedClone rejects a linked clone of volumes that are not base images, and an unknown snapshot. The state is locked.
func (c *call) checkLinkedClone(src *guest) error {
	v, err := c.cloneSource(src)
	if err != nil {
		return err
	}
	if c.isFull(src) {
		return nil
	}
	for _, name := range []string{"storage", "format"} {
		if c.params[name] != "" {
			return apiErrorf("parameter '%s' not allowed for linked clones", name)
		}
	}
	for _, slot := range diskSlots(src.kind, v) {
		d, err := parseDisk(src.kind, slot, v[slot])
		if err != nil || !d.ownsVolume() || d.isCloudInit() {
			continue
		}
		isBase := strings.Contains(d.file(), "/base-") || strings.Contains(d.file(), ":base-")
		if isBase && (src.kind == QEMU || c.sim.storage(d.storageOf()).Type != "dir") {
			continue
		}
		if src.kind == LXC {
			return apiErrorf("Linked clone feature for '%s' is not available", d.file())
		}
		of := ""
		if c.params["snapname"] != "" {
			of = "a snapshot of "
		}
		return apiErrorf("Linked clone feature is not supported for %s'%s' (%s)", of, d.file(), slot)
	}
	return nil
}

// cloneSource returns the values that are copied: those of the config or those of the named snapshot.
func (c *call) cloneSource(src *guest) (values, error) {
	name := c.params["snapname"]
	if name == "" {
		return src.conf.Values, nil
	}
	if s := src.conf.Snapshot(name); s != nil {
		return s.Values, nil
	}
	return nil, apiErrorf("snapshot '%s' does not exist", name)
}

func (t *task) clone(c *call, newID int) error {
	var made []string
	t.logLine("creating a clone of VM %d with ID %d", c.vmid(), newID)
	err := t.work(0.3)
	var v values
	if err == nil {
		v, err = t.copyVM(c, newID, &made, 0.7)
	}
	if err == nil {
		err = t.work(0)
	}
	if err == nil {
		return t.commitGuest(newID, func() error {
			g := t.sim.guests[newID]
			g.edit(func(conf *config) { conf.Values = v })
			c.addToPool(newID)
			t.sim.countEffect(newID, Cloned)
			return nil
		})
	}
	return t.removePartialGuest("clone failed: ", newID, made, err)
}

func (c *call) addToPool(vmid int) {
	if p := c.sim.pools[c.params["pool"]]; p != nil {
		p.vms = append(p.vms, vmid)
	}
}
