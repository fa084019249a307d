package pvesim

// moveDisk copies a disk to another storage or format, or reassigns it to another virtual machine. The source becomes unused unless the call sets delete.
func moveDisk(c *call) (reply, error) {
	if c.params["target-vmid"] != "" {
		return reassignDisk(c)
	}
	err := c.sim.locked(func() error {
		if err := c.require("/vms/"+itoa(c.vmid()), "VM.Config.Disk"); err != nil {
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
		g, err := c.vm()
		if err != nil {
			return err
		}
		if d := c.params["digest"]; d != "" && d != g.digest {
			return apiErrorf("detected modified configuration - file changed by other user? Try again.")
		}
		if err := g.checkLock(); err != nil {
			return err
		}
		_, _, err = c.moveTarget(g)
		return err
	})
	if err != nil {
		return reply{}, err
	}
	return c.start("qmmove", c.vmid(), func(t *task) error {
		return t.runOnGuest(QEMU, c.vmid(), func() error {
			g, err := c.vm()
			if err != nil {
				return err
			}
			return t.move(c, g)
		})
	})
}

// moveTarget checks the move of a disk and returns the disk and its volume.
func (c *call) moveTarget(g *guest) (drive, *Volume, error) {
	slot := c.params["disk"]
	text := g.conf.Values[slot]
	if text == "" {
		return drive{}, nil, apiErrorf("disk '%s' does not exist", slot)
	}
	d, err := parseDrive(slot, text)
	if err != nil {
		return d, nil, err
	}
	v := c.sim.volume(d.file())
	switch {
	case d.isCDROM() && !d.isCloudInit():
		return d, nil, apiErrorf("you can't move a cdrom")
	case v == nil:
		return d, nil, apiErrorf("volume '%s' does not exist", d.file())
	case c.params["storage"] == "":
		return d, nil, paramError("storage", "property is missing and it is not optional")
	}
	if c.params["storage"] == d.storageOf() && (c.params["format"] == "" || c.params["format"] == v.Format) {
		return d, nil, apiErrorf("you can't move to the same storage with same format")
	}
	if len(g.conf.Snapshots) > 0 && c.flag("delete") {
		return d, nil, apiErrorf("you can't move a disk with snapshots and delete the source")
	}
	return d, v, nil
}

func (t *task) move(c *call, g *guest) error {
	d, old, err := c.moveTarget(g)
	if err != nil {
		return err
	}
	st := t.sim.storage(c.params["storage"])
	format := old.Format
	if f := c.params["format"]; f != "" {
		format = f
	}
	if st.Type != "dir" {
		format = "raw"
	}
	t.printf("copying volume '%s' from current storage '%s' to target storage '%s'", old.ID, d.storageOf(), st.ID)
	if len(g.conf.Snapshots) > 0 {
		t.printf("moving disk with snapshots, snapshots will not be moved!")
	}
	t.printf("create full clone of drive %s (%s)", d.slot, old.ID)
	if err := st.checkSpace(g.vmid, old.Size); err != nil {
		return err
	}
	v := t.sim.copyVolume(old, st, g.vmid, format, d.isCloudInit())
	t.printf("%s", st.formatLog(v))
	t.printf("allocated target volume '%s'", v.ID)
	t.logCopy(g, d, old)
	id := v.ID
	if g.isTemplate() {
		id = t.sim.makeBase(id)
	}
	g.edit(func(conf *config) {
		conf.Values[d.slot] = d.with(id, v.Size).text()
		if c.flag("delete") {
			t.printf("removing source volume '%s' after successful copy", old.ID)
			t.sim.free(old.ID, "move with delete")
		} else {
			t.printf("adding source volume '%s' as '%s' to config", old.ID, freeUnusedKey(conf.Values))
			conf.Values[freeUnusedKey(conf.Values)] = old.ID
		}
	})
	t.sim.countEffect(g.vmid, Moved)
	return nil
}
