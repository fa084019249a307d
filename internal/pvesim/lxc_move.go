package pvesim

import (
	"cmp"
	"strings"
)

var moveVolumeParams = map[string]rule{
	"volume": checked(checkSlot(LXC)).needed(), "storage": checked(checkStorageID), "delete": boolean(), "digest": text(), "bwlimit": number().atLeast(0),
	"target-vmid": vmidRule, "target-volume": checked(checkSlot(LXC)), "target-digest": text(),
}

// moveVolume copies a volume of a stopped container to another storage, or reassigns it to another container.
func moveVolume(c *call) (reply, error) {
	err := c.sim.locked(func() error {
		g, err := c.ct()
		if err != nil {
			return err
		}
		if err := g.checkDigest(c.params["digest"]); err != nil {
			return err
		}
		if err := g.checkLock(); err != nil {
			return err
		}
		if c.params["target-vmid"] != "" {
			return c.checkReassign(g)
		}
		return c.checkMoveVolume(g)
	})
	if err != nil {
		return reply{}, err
	}
	return c.start("move_volume", c.vmid(), func(t *task) error {
		return t.runOnGuest(LXC, c.vmid(), func() error {
			g, err := c.ct()
			if err != nil {
				return err
			}
			if err := g.checkLock(); err != nil {
				return err
			}
			if c.params["target-vmid"] != "" {
				return t.reassignVolume(c, g)
			}
			return t.moveVolume(c, g)
		})
	})
}

func (c *call) checkMoveVolume(g *guest) error {
	id, slot := c.params["storage"], c.params["volume"]
	switch {
	case id == "":
		return paramError("storage", "property is missing and it is not optional")
	case c.sim.storage(id) == nil:
		return apiErrorf("storage '%s' does not exist", id)
	case g.conf.Values[slot] == "":
		return errMissingMount(slot)
	}
	if err := c.require("/storage/"+id, "Datastore.AllocateSpace"); err != nil {
		return err
	}
	if g.running {
		return apiErrorf("cannot move volumes of a running container")
	}
	d, err := g.volumeAt(slot)
	if err != nil {
		return err
	}
	switch {
	case !d.ownsVolume():
		return apiErrorf("cannot move %s", mountKind(d))
	case c.flag("delete") && len(g.conf.Snapshots) > 0:
		return apiErrorf("Cannot remove source volume. Volume '%s' is referenced by snapshot", d.file())
	}
	return nil
}

// volumeAt returns the mount point or the unused volume of a slot.
func (g *guest) volumeAt(slot string) (drive, error) {
	text := g.conf.Values[slot]
	if isUnused(slot) {
		return drive{slot: slot, format: rootfsFormat, volKey: "volume", values: values{"volume": text}}, nil
	}
	return parseMount(slot, text)
}

func mountKind(d drive) string {
	if strings.HasPrefix(d.file(), "/dev/") {
		return "device"
	}
	return "bind mount"
}

func (t *task) moveVolume(c *call, g *guest) error {
	if err := c.checkMoveVolume(g); err != nil {
		return err
	}
	slot := c.params["volume"]
	d, err := g.volumeAt(slot)
	if err != nil {
		return err
	}
	old := t.sim.volume(d.file())
	if old == nil {
		return apiErrorf("volume '%s' does not exist", d.file())
	}
	st := t.sim.storage(c.params["storage"])
	if err := st.checkSpace(g.vmid, old.Size); err != nil {
		return err
	}
	v := t.sim.copyVolume(old, st, g.vmid, "raw", false)
	t.printf("%s", st.formatLog(v))
	t.logFilesystem(v.Size)
	g.edit(func(conf *config) {
		if isUnused(slot) {
			conf.Values[slot] = v.ID
		} else {
			conf.Values[slot] = d.with(v.ID, v.Size).text()
		}
		switch {
		case c.flag("delete"):
			t.sim.free(old.ID, "move with delete")
		case !isUnused(slot):
			conf.Values[freeUnusedKey(conf.Values)] = old.ID
		}
	})
	t.sim.countEffect(g.vmid, Moved)
	return nil
}

// checkReassign checks the reassignment of a volume to another container. The state is locked.
func (c *call) checkReassign(g *guest) error {
	id := atoi(c.params["target-vmid"])
	if err := c.require("/vms/"+itoa(id), "VM.Config.Disk"); err != nil {
		return err
	}
	target, err := c.sim.find(LXC, c.node(), id)
	slot := c.params["target-volume"]
	switch {
	case err != nil:
		return err
	case id == g.vmid:
		return apiErrorf("Moving a volume to the same container is not possible. Did you mean to move the volume to a different storage?")
	case slot != "" && !isUnused(slot) && target.conf.Values[slot] != "":
		return apiErrorf("Target volume key '%s' is already in use for container '%d'", slot, id)
	}
	if err := target.checkDigest(c.params["target-digest"]); err != nil {
		return err
	}
	if err := target.checkLock(); err != nil {
		return err
	}
	if g.running {
		return apiErrorf("cannot move volumes of a running container")
	}
	if c.params["volume"] == "rootfs" {
		return apiErrorf("Cannot move the rootfs of a container")
	}
	return nil
}

// reassignVolume renames the volume after its new owner and moves it into the owner's config. The state is locked.
func (t *task) reassignVolume(c *call, g *guest) error {
	if err := c.checkReassign(g); err != nil {
		return err
	}
	slot := c.params["volume"]
	d, err := g.volumeAt(slot)
	if err != nil {
		return err
	}
	target, err := c.sim.find(LXC, c.node(), atoi(c.params["target-vmid"]))
	if err != nil {
		return err
	}
	v, err := t.sim.reassign(g, target, d, slot, cmp.Or(c.params["target-volume"], "unused0"))
	if err != nil {
		return err
	}
	t.printf("removing volume '%s' from container '%d' config", slot, g.vmid)
	t.printf("target container '%d' updated with '%s'", target.vmid, v.ID)
	return nil
}
