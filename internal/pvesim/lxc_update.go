package pvesim

import "maps"

// updateCT handles PUT config of a container, the only call that changes the config. It checks everything before it writes anything.
func updateCT(c *call) (reply, error) {
	set := maps.Clone(c.params)
	for _, k := range []string{"digest", "delete", "revert"} {
		delete(set, k)
	}
	u := &update{
		vmid: c.vmid(), set: set, digest: c.params["digest"], deletes: listOf(c.params["delete"]), reverts: listOf(c.params["revert"]),
		logf: func(string, ...any) {},
	}
	if len(u.set)+len(u.deletes)+len(u.reverts) == 0 {
		return reply{}, apiErrorf("no options specified")
	}
	err := c.sim.locked(func() error { return c.permitUpdateCT(u) })
	if err != nil {
		return reply{}, err
	}
	if err := c.sim.withGuestLock(LXC, u.vmid, func() error { return c.applyUpdateCT(u) }); err != nil {
		return reply{}, err
	}
	return nullReply()
}

// applyUpdateCT changes the config while the guest's lock is held. The state is locked.
func (c *call) applyUpdateCT(u *update) error {
	g, err := c.ct()
	if err != nil {
		return err
	}
	if err := g.checkLock(); err != nil {
		return err
	}
	if err := g.checkDigest(u.digest); err != nil {
		return err
	}
	if err := u.checkListsCT(); err != nil {
		return err
	}
	conf := g.conf.Clone()
	if err := c.stageCT(g, conf, u); err != nil {
		return err
	}
	conf.CleanPending()
	if err := c.failMidway(len(u.set)); err != nil { // Proxmox stores the changes before it applies them
		g.setText(conf.Format(LXC))
		return err
	}
	if err := c.sim.applyCT(g, conf); err != nil {
		return err
	}
	if err := c.sim.checkWritable(g); err != nil {
		return err
	}
	if text := conf.Format(LXC); text != g.text {
		g.setText(text)
		c.sim.countEffect(g.vmid, ConfigWritten)
	}
	return nil
}

var requiredCT = map[string]bool{"memory": true, "rootfs": true, "hostname": false}

// stageCT puts all changes into the pending section and rejects impossible changes.
func (c *call) stageCT(g *guest, conf *config, u *update) error {
	for _, k := range u.reverts {
		delete(conf.Pending, k)
		conf.DropDelete(k)
	}
	for _, k := range u.deletes {
		if err := stageCTDelete(g, conf, k); err != nil {
			return err
		}
	}
	for _, k := range diskSlots(LXC, u.set) {
		if err := g.checkProtection("can't update CT " + itoa(g.vmid) + " drive '" + k + "'"); err != nil {
			return err
		}
	}
	c.sim.normalizeCT(u.set)
	for k, v := range u.set {
		if k == "unprivileged" {
			return apiErrorf("unable to modify read-only option: 'unprivileged'")
		}
		conf.DropDelete(k)
		conf.Pending[k] = v
	}
	return nil
}

func stageCTDelete(g *guest, conf *config, key string) error {
	_, set := conf.Values[key]
	_, pending := conf.Pending[key]
	switch {
	case requiredCT[key]:
		return apiErrorf("unable to delete required option '%s'", key)
	case key == "unprivileged":
		return apiErrorf("unable to delete read-only option '%s'", key)
	case isDisk(LXC, key) || isUnused(key):
		if err := g.checkProtection("can't remove CT " + itoa(g.vmid) + " drive '" + key + "'"); err != nil {
			return err
		}
	}
	delete(conf.Pending, key)
	if set {
		conf.AddDelete(key, false)
	} else if !pending {
		conf.DropDelete(key)
	}
	return nil
}
