package pvesim

import (
	"maps"
	"strings"
)

var createOnlyCT = []string{
	"vmid", "ostemplate", "password", "ssh-public-keys", "pool", "start", "storage", "force", "restore", "unique", "bwlimit",
	"ignore-unpack-errors", "ha-managed",
}

// createCT reserves the vmid and unpacks the template in a task.
func createCT(c *call) (reply, error) {
	vmid := atoi(c.params["vmid"])
	if c.flag("restore") {
		return restore(c, LXC, vmid, c.params["ostemplate"])
	}
	if err := checkKeyLines(c.params["ssh-public-keys"]); err != nil {
		return reply{}, err
	}
	set := maps.Clone(c.params)
	for _, k := range createOnlyCT {
		delete(set, k)
	}
	err := c.sim.locked(func() error {
		if err := c.permitCreateCT(vmid, set); err != nil {
			return err
		}
		return c.reserve(LXC, vmid)
	})
	if err != nil {
		return reply{}, err
	}
	return c.start("vzcreate", vmid, func(t *task) error {
		err := t.withGuestLock(LXC, vmid, func() error { return t.createCT(vmid, set, c.params["ostemplate"], c.params["pool"]) })
		if err == nil {
			_ = t.locked(func() error { c.addToHA(c.sim.guests[vmid]); return nil })
		}
		if err == nil && c.flag("start") && !c.flag("ha-managed") {
			c.sim.spawn(c.node(), "vzstart", itoa(vmid), vmid, c.caller.ID, nil, func(t *task) error { return t.startCT(c.node(), vmid) })
		}
		return err
	})
}

func (c *call) permitCreateCT(vmid int, set values) error {
	if err := c.requireQuorum(); err != nil {
		return err
	}
	if err := c.permitAllocate(vmid); err != nil {
		return err
	}
	if err := c.permitStartAndHA(vmid); err != nil {
		return err
	}
	for _, k := range sortedKeys(set) {
		if k == "features" {
			continue // permitFeatures checks this key
		}
		if err := c.permitCTKey(vmid, k, set[k]); err != nil {
			return err
		}
	}
	if _, ok := set["unprivileged"]; !ok {
		set["unprivileged"] = "1"
	}
	if set["unprivileged"] == "0" {
		if err := c.require("/", "Sys.Modify"); err != nil {
			return err
		}
	}
	if err := c.permitFeatures(set, nil, nil, set["unprivileged"] == "1"); err != nil {
		return err
	}
	storage := c.params["storage"]
	if storage == "" {
		storage = "local"
	}
	if set["rootfs"] == "" {
		set["rootfs"] = storage + ":4"
	}
	for _, slot := range diskSlots(LXC, set) {
		if g := newVolume.FindStringSubmatch(set[slot]); g != nil && g[1] == "" {
			set[slot] = storage + ":" + set[slot]
		}
	}
	c.sim.normalizeCT(set)
	for _, k := range slotsOf(set, isNet) {
		n, err := c.sim.normalizeLXCNet(k, set[k])
		if err != nil {
			return err
		}
		set[k] = n
	}
	return c.checkDisks(LXC, set)
}

// normalizeCT rewrites the values that a container stores in another form.
func (s *Sim) normalizeCT(set values) {
	if v, ok := set["tags"]; ok {
		set["tags"] = s.normalizeTags(v)
	}
	for _, k := range []string{"nameserver", "searchdomain"} {
		if v, ok := set[k]; ok {
			set[k] = strings.Join(listOf(v), " ")
		}
	}
	if v, ok := set["cpuunits"]; ok {
		set["cpuunits"] = clampCPUUnits(v)
	}
}

func (t *task) createCT(vmid int, set values, template, pool string) error {
	var made []string
	err := t.work(0.3)
	if err == nil {
		err = t.locked(func() error { return t.createMounts(vmid, set, template, &made) })
	}
	if err == nil {
		err = t.work(0.7)
	}
	if err == nil {
		return t.commitGuest(vmid, func() error { t.finishCT(vmid, set, template, pool); return nil })
	}
	return t.removePartialGuest("unable to create CT "+itoa(vmid)+" - ", vmid, made, err)
}

func (t *task) createMounts(vmid int, set values, template string, made *[]string) error {
	for _, slot := range mountOrder(set) {
		d, err := parseMount(slot, set[slot])
		if err != nil {
			return err
		}
		before := len(*made)
		if d, err = t.sim.allocate(t.upid.node, vmid, d, t.printf, made); err != nil {
			return err
		}
		if len(*made) > before && t.sim.volume(d.file()).Format != "subvol" {
			t.logFilesystem(t.sim.volume(d.file()).Size)
		}
		set[slot] = d.text()
	}
	if t.sim.volumeOn(t.upid.node, template) == nil {
		t.printf("volume '%s' does not exist", template)
		return apiErrorf("volume '%s' does not exist", template)
	}
	t.logUnpacked(template, set["hostname"])
	if root := t.sim.rootVolume(set); root != nil {
		root.OS = templateOS(template)
	}
	return nil
}

// rootVolume returns the volume of a container's root directory, or nil.
func (s *Sim) rootVolume(v values) *Volume {
	d, err := parseMount("rootfs", v["rootfs"])
	if err != nil {
		return nil
	}
	return s.volume(d.file())
}

// mountOrder returns rootfs first, then the mount points.
func mountOrder(set values) []string {
	out := []string{"rootfs"}
	for _, s := range diskSlots(LXC, set) {
		if s != "rootfs" {
			out = append(out, s)
		}
	}
	return out
}

func (t *task) finishCT(vmid int, set values, template, pool string) {
	s := t.sim
	v := maps.Clone(set)
	for k, def := range map[string]string{
		"hostname": "CT" + itoa(vmid), "memory": "512", "swap": "512", "arch": "amd64", "ostype": templateOS(template),
	} {
		if v[k] == "" {
			v[k] = def
		}
	}
	s.guests[vmid].edit(func(conf *config) { conf.Values = v })
	if pool != "" && s.pools[pool] != nil {
		s.pools[pool].vms = append(s.pools[pool].vms, vmid)
	}
	s.countEffect(vmid, Created)
}

// templateOS derives the distribution from the template's name. The default is alpine.
func templateOS(template string) string {
	for _, os := range []string{"debian", "devuan", "ubuntu", "centos", "fedora", "opensuse", "archlinux", "alpine", "gentoo", "nixos"} {
		if strings.Contains(template, os) {
			return os
		}
	}
	return "alpine"
}
