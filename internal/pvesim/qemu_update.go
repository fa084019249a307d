package pvesim

import (
	"maps"
	"slices"
	"strings"
	"time"
)

// update is a change of a VM's config, taken apart.
type update struct {
	vmid    int
	set     values
	deletes []string
	reverts []string
	force   bool
	digest  string
	logf    func(string, ...any) // of the task, or nothing
}

// newUpdate reads a change of a VM's config from the call's parameters, refusing what does not depend on the guest. The state is
// locked.
func (c *call) newUpdate() (*update, error) {
	u := &update{vmid: c.vmid(), set: maps.Clone(c.params), digest: c.params["digest"], force: c.is("force"), logf: func(string, ...any) {}}
	u.deletes, u.reverts = listOf(c.params["delete"]), listOf(c.params["revert"])
	for _, k := range []string{"digest", "delete", "revert", "force", "skiplock", "background_delay", "import-working-storage"} {
		delete(u.set, k)
	}
	if _, ok := c.params["skiplock"]; ok && !c.isRoot() {
		return nil, badParam("skiplock", "Only root may use this option.")
	}
	if len(u.set)+len(u.deletes)+len(u.reverts) == 0 {
		return nil, die("no options specified")
	}
	if v, ok := u.set["cdrom"]; ok {
		delete(u.set, "cdrom")
		u.set["ide2"] = v
	}
	if err := u.checkLists(); err != nil {
		return nil, err
	}
	if err := c.normalizeVM(u.set); err != nil {
		return nil, err
	}
	return u, c.permitUpdate(u)
}

func (u *update) checkLists() error {
	for i, k := range u.deletes {
		if k == "cdrom" {
			u.deletes[i], k = "ide2", "ide2"
		}
		if _, set := u.set[k]; set {
			return badParam("delete", "you can't use '-"+k+"' and -delete "+k+"' at the same time")
		}
		if !isQEMUKey(k) {
			return badParam("delete", "unknown option '"+k+"'")
		}
	}
	for _, k := range u.reverts {
		if !isQEMUKey(k) {
			return badParam("revert", "unknown option '"+k+"'")
		}
		if _, set := u.set[k]; set {
			return badParam("revert", "you can't use '-"+k+"' and '-revert "+k+"' at the same time")
		}
	}
	return nil
}

// normalizeVM rewrites the values that Proxmox does not store as given.
func (c *call) normalizeVM(set values) error {
	if v, ok := set["sshkeys"]; ok {
		if v == "" {
			delete(set, "sshkeys") // accepted, and without any effect
		} else if err := checkSSHKeys(v); err != nil {
			return err
		}
	}
	if v, ok := set["tags"]; ok {
		set["tags"] = normalizeTags(v)
	}
	if v, ok := set["cpuunits"]; ok {
		set["cpuunits"] = clampCPUUnits(v)
	}
	if v, ok := set["vmgenid"]; ok && v == "1" {
		set["vmgenid"] = c.sim.uuid()
	}
	if v, ok := set["hookscript"]; ok && c.sim.volume(v) == nil {
		return badParam("hookscript", "script '"+v+"' does not exist\n")
	}
	for k, v := range set {
		switch {
		case isNet(k):
			n, err := c.sim.normalizeNet(k, v)
			if err != nil {
				return err
			}
			set[k] = n
		case isDisk(QEMU, k):
			d, err := parseDrive(k, v)
			if err != nil {
				return err
			}
			if strings.Contains(d.file(), ":iso/") && !d.isCDROM() {
				return badParam(k, "explicit 'media=cdrom' is required for iso images")
			}
			set[k] = d.text()
		}
	}
	return nil
}

func (c *call) permitUpdate(u *update) error {
	for _, k := range slices.Concat(u.deletes, u.reverts) {
		if err := c.permitKey(u.vmid, k, ""); err != nil {
			return err
		}
	}
	for _, k := range slices.Sorted(maps.Keys(u.set)) {
		if err := c.permitKey(u.vmid, k, u.set[k]); err != nil {
			return err
		}
	}
	return c.checkDisks(QEMU, u.set)
}

// checkedUpdate also looks at digest and lock, which are checked once before anything waits and again under the guest's lock.
func (c *call) checkedUpdate() (*update, error) {
	u, err := c.newUpdate()
	if err != nil {
		return nil, err
	}
	g, err := c.vm()
	if err != nil {
		return nil, err
	}
	if err := g.checkDigest(u.digest); err != nil {
		return nil, err
	}
	return u, g.checkLock()
}

// updateVM is PUT config: everything happens before the reply.
func updateVM(c *call) (reply, error) {
	var u *update
	if err := c.sim.locked(func() (err error) { u, err = c.checkedUpdate(); return err }); err != nil {
		return reply{}, err
	}
	if err := c.sim.withGuest(QEMU, u.vmid, func() error { return c.applyUpdate(u) }); err != nil {
		return reply{}, err
	}
	return null()
}

// updateVMAsync is POST config: digest and lock are checked before the worker starts, and again inside it. With a background
// delay the reply waits for the worker that long.
func updateVMAsync(c *call) (reply, error) {
	var u *update
	if err := c.sim.locked(func() (err error) { u, err = c.checkedUpdate(); return err }); err != nil {
		return reply{}, err
	}
	if c.fault != nil && c.fault.Kind == LostWorker {
		return reply{}, die("got no worker upid - start worker failed")
	}
	done := make(chan struct{})
	t := c.sim.spawn(c.node(), "qmconfig", itoa(u.vmid), u.vmid, c.who.ID, c.fault, func(t *task) error {
		defer close(done)
		u.logf = t.printf
		return t.onGuest(QEMU, u.vmid, func() error {
			t.printf("update VM %d: %s", u.vmid, c.describeUpdate())
			return c.applyUpdate(u)
		})
	})
	if d := atoi(c.params["background_delay"]); d > 0 && c.sim.finishes(t, done, time.Duration(d)*time.Second) {
		return null()
	}
	return data(jsonString(t.name))
}

// finishes waits for a task and says whether it ended well in time.
func (s *Sim) finishes(t *task, done <-chan struct{}, limit time.Duration) bool {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-done:
		s.mu.Lock()
		defer s.mu.Unlock()
		return t.exit == "" || t.exit == "OK"
	case <-timer.C:
	case <-s.closed:
	}
	return false
}

// describeUpdate is the task log's line about the parameters.
func (c *call) describeUpdate() string {
	var parts []string
	for _, k := range slices.Sorted(maps.Keys(c.params)) {
		v := c.params[k]
		if k == "background_delay" || k == "digest" {
			continue
		}
		if k == "cipassword" {
			v = "<hidden>"
		}
		parts = append(parts, "-"+k+" "+v)
	}
	return strings.Join(parts, " ")
}

// applyUpdate changes the config under the guest's lock: reverts, deletes, then the values one by one, each written as it comes,
// so that a refusal in the middle leaves the earlier ones. The state is locked.
func (c *call) applyUpdate(u *update) error {
	g, err := c.sim.find(QEMU, c.node(), u.vmid)
	if err != nil {
		return err
	}
	if err := g.checkDigest(u.digest); err != nil {
		return err
	}
	if err := g.checkLock(); err != nil {
		return err
	}
	if err := checkBalloon(g.conf, u); err != nil {
		return err
	}
	before := g.text
	for _, k := range u.reverts {
		g.edit(func(conf *config) { c.sim.revert(conf, k) })
	}
	for _, k := range u.deletes {
		if err := c.sim.deleteVMKey(g, k, u); err != nil {
			return err
		}
	}
	for _, k := range slices.SortedFunc(maps.Keys(u.set), compareSlots) {
		if err := c.sim.setVMKey(g, k, u); err != nil {
			return err
		}
	}
	g.edit((*config).cleanPending)
	if g.running {
		c.sim.hotplug(g)
	} else {
		c.sim.applyPending(g)
	}
	if g.text != before {
		c.sim.effect(g.vmid, ConfigWritten)
	}
	return nil
}

// checkBalloon keeps the balloon below the memory.
func checkBalloon(conf *config, u *update) error {
	b, ok := u.set["balloon"]
	if !ok {
		return nil
	}
	v := conf.merged()
	if m, ok := u.set["memory"]; ok {
		v = values{"memory": m}
	}
	if int64(atoi(b)) > vmMemory(v) {
		return die("balloon value too large (must be smaller than assigned memory)")
	}
	return nil
}

// revert drops a pending change. A volume allocated for it stays as unused.
func (s *Sim) revert(conf *config, key string) {
	if v, ok := conf.pending[key]; ok {
		if isDisk(QEMU, key) {
			s.keepVolume(conf, key, v)
		}
		delete(conf.pending, key)
	}
	conf.dropDelete(key)
}

// keepVolume makes the volume of a dropped pending drive unused, unless the running drive sits on it too.
func (s *Sim) keepVolume(conf *config, key, pending string) {
	p, err := parseDrive(key, pending)
	if err != nil {
		return
	}
	if cur, ok := conf.values[key]; ok {
		if d, err := parseDrive(key, cur); err == nil && d.file() == p.file() {
			return
		}
	}
	s.moveToUnused(QEMU, conf, key, pending)
}

// deleteVMKey marks a key for deletion. An unused volume is destroyed at once.
func (s *Sim) deleteVMKey(g *guest, key string, u *update) error {
	val, set := g.conf.values[key]
	if _, pending := g.conf.pending[key]; !set && !pending {
		u.logf("cannot delete '%s' - not set in current configuration!", key)
		return nil
	}
	switch {
	case isUnused(key):
		if err := g.checkProtection("can't remove unused disk '" + val + "'"); err != nil {
			return err
		}
		s.free(val, "delete of "+key)
		g.edit(func(conf *config) { delete(conf.values, key) })
		return nil
	case isDisk(QEMU, key):
		if err := g.checkProtection("can't remove drive '" + key + "'"); err != nil {
			return err
		}
	}
	g.edit(func(conf *config) {
		if p, ok := conf.pending[key]; ok {
			if isDisk(QEMU, key) {
				s.keepVolume(conf, key, p)
			}
			delete(conf.pending, key)
		}
		if order := bootOrderExplicit(conf); slices.Contains(order, key) && !slices.Contains(u.deletes, "boot") {
			conf.pending["boot"] = printBootOrder(slices.DeleteFunc(order, func(d string) bool { return d == key }))
		}
		if set {
			conf.addDelete(key, u.force)
		}
	})
	return nil
}

// bootOrderExplicit is the boot order that the config states, pending first; nil for none or the legacy form.
func bootOrderExplicit(conf *config) []string {
	b, ok := conf.pending["boot"]
	if !ok {
		b = conf.values["boot"]
	}
	order, ok := strings.CutPrefix(b, "order=")
	if !ok {
		return nil
	}
	return strings.Split(order, ";")
}

// setVMKey puts a value into the pending section, allocating volumes that it asks for.
func (s *Sim) setVMKey(g *guest, key string, u *update) error {
	value := u.set[key]
	if isDisk(QEMU, key) {
		d, err := parseDrive(key, value)
		if err != nil {
			return err
		}
		var made []string
		if d, err = s.allocate(g.vmid, d, u.logf, &made); err != nil {
			s.rollback(made)
			return err
		}
		if len(made) > 0 {
			u.logf("%s: successfully created disk '%s'", key, d.text())
		}
		g.edit(func(conf *config) { s.setDrive(conf, key, d) })
		return nil
	}
	if key == "cipassword" && value != "" && !isWindows(g.conf.values["ostype"]) {
		value = s.hashPassword(value)
	}
	if key == "description" && strings.TrimSpace(value) == "" {
		g.edit(func(conf *config) { delete(conf.values, key) })
		return nil
	}
	g.edit(func(conf *config) {
		conf.dropDelete(key)
		conf.pending[key] = value
		if key == "ostype" && isWindows(value) && !strings.Contains(conf.values["machine"], "+pve") && u.set["machine"] == "" {
			conf.pending["machine"] = pinnedMachine(conf.values["machine"])
		}
	})
	return nil
}

func (s *Sim) setDrive(conf *config, key string, d drive) {
	if old, ok := conf.pending[key]; ok {
		s.keepVolume(conf, key, old)
	}
	conf.dropDelete(key)
	conf.pending[key] = d.text()
	if order := bootOrderExplicit(conf); len(order) > 0 && d.isCDROM() && !d.isCloudInit() && !slices.Contains(order, key) {
		conf.pending["boot"] = printBootOrder(append(order, key))
	}
	for k, v := range conf.values { // a volume attached again is not unused any more
		if isUnused(k) && v == d.file() {
			delete(conf.values, k)
		}
	}
}
