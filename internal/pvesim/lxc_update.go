package pvesim

import (
	"maps"
	"slices"
	"strings"
)

// updateCT is the only way to change a container's config. Everything is validated before anything is written.
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
		return reply{}, die("no options specified")
	}
	err := c.sim.locked(func() error { return c.permitUpdateCT(u) })
	if err != nil {
		return reply{}, err
	}
	if err := c.sim.withGuest(LXC, u.vmid, func() error { return c.applyUpdateCT(u) }); err != nil {
		return reply{}, err
	}
	return null()
}

func (c *call) permitUpdateCT(u *update) error {
	for _, k := range slices.Concat(u.deletes, u.reverts) {
		if _, set := u.set[k]; set {
			return badParam("delete", "unable to delete and set '"+k+"' at the same time")
		}
		if err := c.permitCTKey(u.vmid, k, ""); err != nil {
			return err
		}
	}
	var cur values
	if g, err := c.ct(); err == nil {
		cur = g.conf.values
	}
	if err := c.permitFeatures(u.set, cur); err != nil {
		return err
	}
	for _, k := range slices.Sorted(maps.Keys(u.set)) {
		if err := c.permitCTKey(u.vmid, k, u.set[k]); err != nil {
			return err
		}
	}
	return c.checkCTDisks(u.set)
}

// checkCTDisks looks at storages only where a volume is to be allocated: the text of a root is stored unseen.
func (c *call) checkCTDisks(set values) error {
	for _, slot := range sortedDrives(LXC, set) {
		d, err := parseMount(slot, set[slot])
		if err != nil {
			return err
		}
		if slot == "rootfs" || !d.isNew() {
			continue
		}
		if err := c.checkDisk(d); err != nil {
			return err
		}
	}
	return nil
}

// permitFeatures lets tokens change nothing but nesting, and that on unprivileged containers.
func (c *call) permitFeatures(set, cur values) error {
	text, ok := set["features"]
	if !ok || c.isRoot() {
		return nil
	}
	n, err := featuresFormat.parse("features", text)
	if err != nil {
		return badParam("features", "invalid format - "+err.Error()+"\n")
	}
	o, err := featuresFormat.parse("features", cur["features"])
	if err != nil {
		o = values{}
	}
	for _, k := range sortedKeys(featuresKeys) {
		if k != "nesting" && n[k] != o[k] {
			return forbidden("changing feature flags (except nesting) is only allowed for root@pam")
		}
	}
	return nil
}

var featuresKeys = func() values {
	v := values{}
	for k := range featuresFormat {
		v[k] = ""
	}
	return v
}()

// permitCTKey checks the privilege for one key; value is "" for a delete. The state is locked.
func (c *call) permitCTKey(vmid int, key, value string) error {
	path := "/vms/" + itoa(vmid)
	stem, _, _ := splitIndex(key)
	switch {
	case key == "cores" || key == "cpuunits" || key == "cpulimit":
		return c.require(path, "VM.Config.CPU")
	case key == "rootfs" || stem == "mp" || stem == "unused":
		if strings.HasPrefix(value, "/") {
			return forbidden("mount point type bind is only allowed for root@pam")
		}
		return c.require(path, "VM.Config.Disk")
	case key == "memory" || key == "swap":
		return c.require(path, "VM.Config.Memory")
	case isNet(key) || key == "nameserver" || key == "searchdomain" || key == "hostname":
		return c.require(path, "VM.Config.Network")
	case key == "features":
		return c.require(path, "VM.Allocate")
	case stem == "dev":
		return forbidden("configuring device passthrough is only allowed for root@pam")
	case key == "hookscript":
		return forbidden("changing the hookscript is only allowed for root@pam")
	case key == "startup":
		if err := c.require("/", "Sys.Modify"); err != nil {
			return err
		}
	}
	return c.require(path, "VM.Config.Options")
}

// applyUpdateCT changes the config under the lock. The state is locked.
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
	conf := g.conf.clone()
	if err := c.stageCT(g, conf, u); err != nil {
		return err
	}
	conf.cleanPending()
	if err := c.sim.applyCT(g, conf); err != nil {
		return err
	}
	if text := conf.format(LXC); text != g.text {
		g.setText(text)
		c.sim.effect(g.vmid, ConfigWritten)
	}
	return nil
}

var requiredCT = map[string]bool{"memory": true, "rootfs": true, "hostname": false}

// stageCT puts every change into the pending section, refusing the impossible ones.
func (c *call) stageCT(g *guest, conf *config, u *update) error {
	for _, k := range u.reverts {
		delete(conf.pending, k)
		conf.dropDelete(k)
	}
	for _, k := range u.deletes {
		if err := stageCTDelete(g, conf, k); err != nil {
			return err
		}
	}
	for _, k := range sortedDrives(LXC, u.set) {
		if err := g.checkProtection("can't update CT " + itoa(g.vmid) + " drive '" + k + "'"); err != nil {
			return err
		}
	}
	normalizeCT(u.set)
	for k, v := range u.set {
		if k == "unprivileged" {
			return die("unable to modify read-only option: 'unprivileged'")
		}
		conf.dropDelete(k)
		conf.pending[k] = v
	}
	return nil
}

func stageCTDelete(g *guest, conf *config, key string) error {
	_, set := conf.values[key]
	_, pending := conf.pending[key]
	switch {
	case !isLXCKey(key):
		return badParam("delete", "unknown option '"+key+"'")
	case requiredCT[key]:
		return die("unable to delete required option '%s'", key)
	case key == "unprivileged":
		return die("unable to delete read-only option '%s'", key)
	case isDisk(LXC, key) || isUnused(key):
		if err := g.checkProtection("can't remove CT " + itoa(g.vmid) + " drive '" + key + "'"); err != nil {
			return err
		}
	}
	delete(conf.pending, key)
	if set {
		conf.addDelete(key, false)
	} else if !pending {
		conf.dropDelete(key)
	}
	return nil
}

// liveCT are the keys that a running container takes at once.
func liveCT(conf *config, key string) bool {
	switch key {
	case "description", "onboot", "startup", "protection", "hostname", "hookscript", "cores", "tags", "lock", "cpulimit", "cpuunits", "memory", "swap":
		return true
	}
	stem, _, _ := splitIndex(key)
	return stem == "net" || (stem == "mp" || stem == "dev") && conf.values[key] == "" || stem == "unused"
}

// liveCTDelete differs in that a mount point or a device in use stays, and network devices from net10 on do.
func liveCTDelete(conf *config, key string) bool {
	stem, index, _ := splitIndex(key)
	switch stem {
	case "mp", "dev":
		return false
	case "net":
		return index < 10
	}
	return liveCT(conf, key)
}

// applyCT makes pending changes real: all of them in a stopped container, the live ones in a running one.
func (s *Sim) applyCT(g *guest, conf *config) error {
	for _, d := range slices.Clone(conf.deletes) {
		if !g.running || liveCTDelete(conf, d.key) {
			s.dropCTKey(conf, d.key)
			conf.dropDelete(d.key)
		}
	}
	for _, k := range slices.SortedFunc(maps.Keys(conf.pending), compareSlots) {
		if g.running && !liveCT(conf, k) {
			continue
		}
		if err := s.settleCT(g, conf, k); err != nil {
			return err
		}
	}
	return nil
}

func (s *Sim) dropCTKey(conf *config, key string) {
	old, ok := conf.values[key]
	if !ok {
		return
	}
	delete(conf.values, key)
	switch {
	case isUnused(key):
		s.free(old, "delete of "+key)
	case isDisk(LXC, key):
		s.moveToUnused(LXC, conf, key, old)
	}
}

// settleCT moves one pending value into the config, allocating a mount point that asks for it.
func (s *Sim) settleCT(g *guest, conf *config, key string) error {
	value := conf.pending[key]
	switch {
	case isNet(key):
		n, err := s.normalizeLXCNet(key, value)
		if err != nil {
			return err
		}
		value = n
	case isDisk(LXC, key) && key != "rootfs":
		v, err := s.settleMount(g, conf, key, value)
		if err != nil {
			return err
		}
		value = v
	}
	delete(conf.pending, key)
	if key == "description" && value == "" {
		delete(conf.values, key)
		return nil
	}
	conf.values[key] = value
	return nil
}

func (s *Sim) settleMount(g *guest, conf *config, key, value string) (string, error) {
	d, err := parseMount(key, value)
	if err != nil {
		return "", err
	}
	var made []string
	if d, err = s.allocate(g.vmid, d, func(string, ...any) {}, &made); err != nil {
		s.rollback(made)
		return "", err
	}
	if old, ok := conf.values[key]; ok {
		if o, err := parseMount(key, old); err == nil && o.file() != d.file() {
			s.moveToUnused(LXC, conf, key, old)
		}
	}
	for k, v := range conf.values {
		if isUnused(k) && v == d.file() {
			delete(conf.values, k)
		}
	}
	return d.text(), nil
}
