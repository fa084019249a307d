package pvesim

import (
	"slices"
	"strings"
)

// checkBalloon rejects a balloon that is larger than the memory, if the call changes one of them.
func checkBalloon(conf *config, u *update) error {
	_, balloon := u.set["balloon"]
	_, memory := u.set["memory"]
	if !balloon && !memory {
		return nil
	}
	v := union(conf.Merged(), u.set)
	if int64(atoi(v["balloon"])) > vmMemory(v) {
		return apiErrorf("balloon value too large (must be smaller than assigned memory)")
	}
	return nil
}

// revertKey drops the pending change of a key. A volume that was allocated for it becomes unused.
func (s *Sim) revertKey(conf *config, key string) {
	if v, ok := conf.Pending[key]; ok {
		if isDisk(QEMU, key) {
			s.keepVolume(conf, key, v)
		}
		delete(conf.Pending, key)
	}
	conf.DropDelete(key)
}

// keepVolume makes the volume of a dropped pending drive unused, unless the current drive has the same volume.
func (s *Sim) keepVolume(conf *config, key, pending string) {
	p, err := parseDrive(key, pending)
	if err != nil {
		return
	}
	if cur, ok := conf.Values[key]; ok {
		if d, err := parseDrive(key, cur); err == nil && d.file() == p.file() {
			return
		}
	}
	s.moveToUnused(QEMU, conf, key, pending)
}

// stageVMDelete marks a key for deletion. An unused volume is freed at once.
func (s *Sim) stageVMDelete(g *guest, key string, u *update) error {
	val, set := g.conf.Values[key]
	if _, pending := g.conf.Pending[key]; !set && !pending {
		u.logf("cannot delete '%s' - not set in current configuration!", key)
		return nil
	}
	switch {
	case isUnused(key):
		if err := g.checkProtection("can't remove unused disk '" + val + "'"); err != nil {
			return err
		}
		if g.isInSnapshot(val) {
			return apiErrorf("unable to delete '%s' - volume is still in use (snapshot?)", val)
		}
		s.free(val, freeReason("delete of "+key))
		g.edit(func(conf *config) { delete(conf.Values, key) })
		return nil
	case isDisk(QEMU, key):
		if err := g.checkProtection("can't remove drive '" + key + "'"); err != nil {
			return err
		}
	case key == "tags": // in effect at once, also if a later key of the request is refused
		g.edit(func(conf *config) { delete(conf.Values, key); delete(conf.Pending, key) })
		return nil
	}
	g.edit(func(conf *config) {
		if p, ok := conf.Pending[key]; ok {
			if isDisk(QEMU, key) {
				s.keepVolume(conf, key, p)
			}
			delete(conf.Pending, key)
		}
		if order := bootOrderExplicit(conf); slices.Contains(order, key) && !slices.Contains(u.deletes, "boot") {
			conf.Pending["boot"] = printBootOrder(slices.DeleteFunc(order, func(d string) bool { return d == key }))
		}
		if set {
			conf.AddDelete(key, u.force)
		}
	})
	return nil
}

// stageVMKey puts a value into the pending section. It allocates the volume that a drive requests.
func (s *Sim) stageVMKey(g *guest, key string, u *update) error {
	value := u.set[key]
	if isDisk(QEMU, key) {
		d, err := parseDrive(key, value)
		if err != nil {
			return err
		}
		if err := checkOneCloudInit(d, g.conf.Values, g.conf.Pending); err != nil {
			return err
		}
		var made []string
		if d, err = s.allocate(g.node, g.vmid, d, u.logf, &made); err != nil {
			s.freeAllocated(made)
			return err
		}
		if len(made) > 0 && g.isTemplate() && !d.isCloudInit() {
			d.values[d.volKey] = s.makeBase(d.file())
		}
		if len(made) > 0 {
			u.logf("%s: successfully created disk '%s'", key, d.text())
		}
		g.edit(func(conf *config) { s.stageDrive(conf, key, d) })
		return nil
	}
	if key == "boot" {
		if err := u.checkBootDevices(g.conf, value); err != nil {
			return err
		}
	}
	if key == "cipassword" && value != "" && !isWindows(g.conf.Values["ostype"]) {
		value = s.hashPassword(value)
	}
	if key == "description" && strings.TrimSpace(value) == "" {
		g.edit(func(conf *config) { delete(conf.Values, key) })
		return nil
	}
	g.edit(func(conf *config) {
		conf.DropDelete(key)
		conf.Pending[key] = value
		if key == "ostype" && isWindows(value) && !strings.Contains(conf.Values["machine"], "+pve") && u.set["machine"] == "" {
			conf.Pending["machine"] = pinnedMachine(conf.Values["machine"])
		}
	})
	return nil
}

func (s *Sim) stageDrive(conf *config, key string, d drive) {
	if old, ok := conf.Pending[key]; ok {
		s.keepVolume(conf, key, old)
	}
	conf.DropDelete(key)
	conf.Pending[key] = d.text()
	if order := bootOrderExplicit(conf); len(order) > 0 && d.isCDROM() && !d.isCloudInit() && !slices.Contains(order, key) {
		conf.Pending["boot"] = printBootOrder(append(order, key))
	}
	for k, v := range conf.Values { // a volume attached again is not unused any more
		if isUnused(k) && v == d.file() {
			delete(conf.Values, k)
		}
	}
}

// checkBootDevices rejects a boot order with a device that is not configured, not pending and not set by the same call, or that the
// same call deletes.
func (u *update) checkBootDevices(conf *config, boot string) error {
	order, ok := strings.CutPrefix(boot, "order=")
	if !ok {
		return nil
	}
	for dev := range strings.SplitSeq(order, ";") {
		if conf.Values[dev] == "" && conf.Pending[dev] == "" && u.set[dev] == "" || slices.Contains(u.deletes, dev) {
			return apiErrorf("invalid bootorder: device '%s' does not exist'", dev)
		}
	}
	return nil
}
