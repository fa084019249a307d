package pvesim

import (
	"cmp"
	"strings"
)

// reassignDisk moves a disk to another virtual machine of the node: the volume gets the name of its new owner.
//
// Source: PVE API, POST /nodes/{node}/qemu/{vmid}/move_disk with target-vmid.
func reassignDisk(c *call) (reply, error) {
	err := c.sim.locked(func() error {
		_, _, err := c.reassignTarget()
		return err
	})
	if err != nil {
		return reply{}, err
	}
	return c.start("qmmove", c.vmid(), func(t *task) error {
		return t.runOnGuest(QEMU, c.vmid(), func() error {
			g, target, err := c.reassignTarget()
			if err != nil {
				return err
			}
			slot := c.params["disk"]
			d, err := parseDrive(slot, g.conf.Values[slot])
			if err != nil {
				return err
			}
			v, err := t.sim.reassign(g, target, d, slot, cmp.Or(c.params["target-disk"], slot))
			if err != nil {
				return err
			}
			t.printf("removing disk '%s' from VM '%d' config", slot, g.vmid)
			t.printf("updating VM '%d' with '%s'", target.vmid, v.ID)
			return nil
		})
	})
}

// reassignTarget checks the reassignment of a disk, and returns both guests. The state is locked.
func (c *call) reassignTarget() (g, target *guest, err error) {
	id, slot := atoi(c.params["target-vmid"]), c.params["disk"]
	if g, err = c.vm(); err != nil {
		return nil, nil, err
	}
	for _, vmid := range []int{g.vmid, id} {
		if err := c.require("/vms/"+itoa(vmid), "VM.Config.Disk"); err != nil {
			return nil, nil, err
		}
	}
	if target, err = c.sim.find(QEMU, c.node(), id); err != nil {
		return nil, nil, err
	}
	to := cmp.Or(c.params["target-disk"], slot)
	switch {
	case id == g.vmid:
		return nil, nil, apiErrorf("Moving a disk to the same VM is not possible. Did you mean to move the disk to a different storage?")
	case g.conf.Values[slot] == "":
		return nil, nil, apiErrorf("Disk '%s' for VM '%d' does not exist", slot, g.vmid)
	case !isUnused(to) && target.conf.Values[to] != "":
		return nil, nil, apiErrorf("Target disk key '%s' is already in use for VM '%d'", to, id)
	case g.running && !isUnused(slot):
		return nil, nil, apiErrorf("cannot move disk '%s', VM '%d' is running", slot, g.vmid)
	}
	for _, check := range []error{
		g.checkDigest(c.params["digest"]), target.checkDigest(c.params["target-digest"]), g.checkLock(), target.checkLock(),
	} {
		if check != nil {
			return nil, nil, check
		}
	}
	return g, target, nil
}

// reassign renames the volume of a slot after its new owner, and moves it into the slot to of the owner's config: an unused slot is
// replaced by the first free one. The state is locked.
func (s *Sim) reassign(from, to *guest, d drive, slot, toSlot string) (*Volume, error) {
	v := s.renameVolume(d.file(), to.vmid)
	if v == nil {
		return nil, apiErrorf("volume '%s' does not exist", d.file())
	}
	from.edit(func(conf *config) { delete(conf.Values, slot) })
	to.edit(func(conf *config) {
		if isUnused(toSlot) {
			conf.Values[freeUnusedKey(conf.Values)] = v.ID
			return
		}
		conf.Values[toSlot] = d.with(v.ID, v.Size).text()
	})
	s.countEffect(to.vmid, Moved)
	return v, nil
}

// renameVolume renames a volume after another guest of the same storage.
func (s *Sim) renameVolume(id string, owner int) *Volume {
	old := s.volume(id)
	if old == nil {
		return nil
	}
	st, name, _ := strings.Cut(id, ":")
	sto := s.storage(st)
	v := *old
	delete(sto.volumes, name)
	v.ID, v.Owner = st+":"+sto.freeName(owner, old.Format), owner
	return s.add(v)
}
