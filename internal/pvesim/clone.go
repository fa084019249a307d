package pvesim

import (
	"maps"
	"slices"
	"strings"
)

// cloneVM copies or links a VM in a task that is filed under the source.
func cloneVM(c *call) (reply, error) {
	newID := atoi(c.params["newid"])
	err := c.sim.locked(func() error {
		if err := c.permitClone(newID); err != nil {
			return err
		}
		src, err := c.vm()
		if err != nil {
			return die("unable to find configuration file for VM %d on node '%s'", c.vmid(), c.node())
		}
		if err := src.checkLock(); err != nil {
			return err
		}
		if err := c.cloneable(src); err != nil {
			return err
		}
		return c.mayClaim(newID)
	})
	if err != nil {
		return reply{}, err
	}
	return c.start("qmclone", c.vmid(), func(t *task) error {
		// the source's lock is held only while the id is claimed, the target's for the whole copy
		err := t.withLock(QEMU, c.vmid(), func() error { return t.locked(func() error { return c.claim(newID) }) })
		if err != nil {
			return err
		}
		return t.withLock(QEMU, newID, func() error { return t.clone(c, newID) })
	})
}

func (c *call) mayClaim(newID int) error {
	if c.sim.guests[newID] != nil {
		return die("unable to create VM %d: config file already exists", newID)
	}
	return nil
}

// claim makes the target's config, locked and empty. The state is locked.
func (c *call) claim(newID int) error {
	if err := c.mayClaim(newID); err != nil {
		return err
	}
	g := newGuest(newID, QEMU, c.node())
	g.setText("# qmclone temporary file\nlock: clone\n")
	c.sim.guests[newID] = g
	return nil
}

func (c *call) permitClone(newID int) error {
	if err := c.permitAllocate(newID); err != nil {
		return err
	}
	if st := c.params["storage"]; st != "" {
		if c.sim.storage(st) == nil {
			return die("storage '%s' does not exist", st)
		}
		if err := c.require("/storage/"+st, "Datastore.AllocateSpace"); err != nil {
			return err
		}
	}
	if n := c.params["target"]; n != "" && !c.sim.hasNode(n) {
		return die("no such cluster node '%s'", n)
	}
	return nil
}

// isFull says whether a clone copies: always from an ordinary guest, on demand from a template.
func (c *call) isFull(src *guest) bool {
	if _, given := c.params["full"]; given {
		return c.is("full")
	}
	return !src.isTemplate()
}

// cloneable refuses a linked clone of volumes that are no base images, and an unknown snapshot. The state is locked.
func (c *call) cloneable(src *guest) error {
	v, err := c.cloneSource(src)
	if err != nil {
		return err
	}
	if c.isFull(src) {
		return nil
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
			return die("Linked clone feature for '%s' is not available", d.file())
		}
		return die("Linked clone feature is not supported for '%s' (%s)", d.file(), slot)
	}
	return nil
}

// cloneSource are the values that are copied: the config or one snapshot.
func (c *call) cloneSource(src *guest) (values, error) {
	name := c.params["snapname"]
	if name == "" {
		return src.conf.values, nil
	}
	if s := src.conf.snap(name); s != nil {
		return s.values, nil
	}
	return nil, die("snapshot '%s' does not exist", name)
}

func (t *task) clone(c *call, newID int) error {
	var made []string
	_ = t.locked(func() error { t.printf("creating a clone of VM %d with ID %d", c.vmid(), newID); return nil })
	err := t.work(0.3)
	var v values
	if err == nil {
		err = t.locked(func() (err error) {
			v, err = t.copyVM(c, newID, &made)
			return err
		})
	}
	if err == nil {
		err = t.work(0.7)
	}
	if err == nil {
		return t.locked(func() error {
			g := t.sim.guests[newID]
			g.edit(func(conf *config) { conf.values = v })
			c.joinPool(newID)
			t.sim.effect(newID, Cloned)
			return nil
		})
	}
	if err == errKilled || err == errClosed { //nolint:errorlint // sentinels of this package, never wrapped
		return err
	}
	_ = t.locked(func() error {
		t.sim.rollback(made)
		delete(t.sim.guests, newID)
		return nil
	})
	return die("clone failed: %s", firstLine(err.Error()))
}

func (c *call) joinPool(vmid int) {
	if p := c.sim.pools[c.params["pool"]]; p != nil {
		p.vms = append(p.vms, vmid)
	}
}

// copyVM makes the clone's values: volumes copied or linked, and new identities. The state is locked.
func (t *task) copyVM(c *call, newID int, made *[]string) (values, error) {
	src, err := c.vm()
	if err != nil {
		return nil, err
	}
	from, err := c.cloneSource(src)
	if err != nil {
		return nil, err
	}
	v := maps.Clone(from)
	for _, k := range []string{"template", "lock", "parent", "snaptime", "vmstate", "digest"} {
		delete(v, k)
	}
	maps.DeleteFunc(v, func(k, _ string) bool { return isUnused(k) })
	for _, slot := range diskSlots(QEMU, v) {
		d, err := parseDrive(slot, v[slot])
		if err != nil {
			return nil, err
		}
		if !d.ownsVolume() {
			continue
		}
		if d, err = t.copyDrive(c, src, newID, d, made); err != nil {
			return nil, err
		}
		v[slot] = d.text()
	}
	t.rename(c, v)
	return v, nil
}

// rename gives the clone its own name, MAC addresses, uuid and generation id.
func (t *task) rename(c *call, v values) {
	for k, x := range v {
		if !isNet(k) {
			continue
		}
		if n, err := qemuNetFormat.parse(k, x); err == nil {
			n["macaddr"] = t.sim.mac()
			v[k] = printNet(n)
		}
	}
	switch name := c.params["name"]; {
	case name != "":
		v["name"] = name
	case v["name"] != "":
		v["name"] = "Copy-of-VM-" + v["name"]
	default:
		v["name"] = "Copy-of-VM-" + itoa(c.vmid())
	}
	if d, ok := c.params["description"]; ok {
		v["description"] = d
	}
	v["vmgenid"] = t.sim.uuid()
	sm, err := smbiosFormat.parse("smbios1", v["smbios1"])
	if err != nil {
		sm = values{}
	}
	sm["uuid"] = t.sim.uuid()
	v["smbios1"] = smbiosFormat.format(sm)
}

// copyDrive makes one volume of the clone: linked to a base image, or a full copy.
func (t *task) copyDrive(c *call, src *guest, newID int, d drive, made *[]string) (drive, error) {
	s := t.sim
	old := s.volume(d.file())
	if old == nil {
		return d, die("volume '%s' does not exist", d.file())
	}
	st := s.storage(d.storageOf())
	format := old.Format
	if !c.isFull(src) && !d.isCloudInit() {
		t.printf("create linked clone of drive %s (%s)", d.slot, old.ID)
		if st.Type == "dir" {
			format = "qcow2" // an overlay, whatever the base is
		}
		name := st.freeName(newID, format)
		v := s.add(Volume{ID: st.ID + ":" + baseName(old.ID) + "/" + name, Owner: newID, Size: old.Size, Format: format, Base: old.ID, Kind: "images"})
		t.logLink(st, old, v)
		*made = append(*made, v.ID)
		return d.with(v.ID, v.Size), nil
	}
	t.printf("create full clone of drive %s (%s)", d.slot, old.ID)
	if id := c.params["storage"]; id != "" {
		st = s.storage(id)
	}
	if f := c.params["format"]; f != "" {
		format = f
	}
	if st.Type != "dir" {
		format = "raw"
	}
	v := s.copyVolume(old, st, newID, format, d.isCloudInit())
	t.printf("%s", st.formatLog(v))
	t.printf("allocated target volume '%s'", v.ID)
	*made = append(*made, v.ID)
	return d.with(v.ID, v.Size), nil
}

// logLink says how a linked clone was made.
func (t *task) logLink(st *storage, base, v *Volume) {
	if st.Type != "dir" {
		t.printf("  Logical volume \"%s\" created.", strings.TrimPrefix(baseName(v.ID), baseName(base.ID)+"/"))
		return
	}
	name := baseName(base.ID)
	file := v.ID[strings.LastIndexByte(v.ID, '/')+1:]
	t.printf("clone %s: images, %s, %d to %s (base=../%s)", name, file, v.Owner, file, name)
	t.printf("Formatting '%s', fmt=qcow2 cluster_size=131072 extended_l2=on preallocation=metadata compression_type=zlib size=%d "+
		"backing_file=../%s backing_fmt=%s lazy_refcounts=off refcount_bits=16", t.sim.pathOf(v.ID), v.Size, name, base.Format)
}

// baseName is the part of a base volume's name that linked clones carry in front.
func baseName(id string) string {
	_, name, _ := strings.Cut(id, ":")
	return name
}

func (s *Sim) copyVolume(old *Volume, st *storage, owner int, format string, cloudInit bool) *Volume {
	name := st.freeName(owner, format)
	if cloudInit {
		name = st.volumeName(owner, "vm-"+itoa(owner)+"-cloudinit", format)
	}
	return s.add(Volume{ID: st.ID + ":" + name, Owner: owner, Size: st.roundUp(old.Size), Format: format, Kind: old.Kind})
}

// templateVM turns the disks into base images; there is no way back through the API.
func templateVM(c *call) (reply, error) {
	err := c.sim.locked(func() error {
		g, err := c.vm()
		if err != nil {
			return err
		}
		return mayBecomeTemplate(g)
	})
	if err != nil {
		return reply{}, err
	}
	return c.start("qmtemplate", c.vmid(), func(t *task) error {
		return t.onGuest(QEMU, c.vmid(), func() error {
			g, err := c.vm()
			if err != nil {
				return err
			}
			if err := mayBecomeTemplate(g); err != nil {
				return err
			}
			return c.sim.makeTemplate(g)
		})
	})
}

func mayBecomeTemplate(g *guest) error {
	switch {
	case g.isTemplate():
		return die("you can't convert a template to a template")
	case len(g.conf.snaps) > 0:
		return die("unable to create template, because VM contains snapshots")
	case g.running && g.kind == QEMU:
		return die("you can't convert a VM to template if VM is running")
	case g.running:
		return die("you can't convert a CT to template if the CT is running")
	}
	return g.checkLock()
}

// makeTemplate renames every volume to base-. The state is locked.
func (s *Sim) makeTemplate(g *guest) error {
	v := maps.Clone(g.conf.values)
	for _, slot := range diskSlots(g.kind, v) {
		d, err := parseDisk(g.kind, slot, v[slot])
		if err != nil {
			return err
		}
		if d.ownsVolume() && !d.isCloudInit() {
			d.values[d.volKey] = s.makeBase(d.file())
			v[slot] = d.text()
		}
	}
	v["template"] = "1"
	g.edit(func(conf *config) { conf.values = v })
	s.effect(g.vmid, Templated)
	return nil
}

func (s *Sim) makeBase(id string) string {
	old := s.volume(id)
	if old == nil {
		return id
	}
	st, name, _ := strings.Cut(id, ":")
	i := strings.LastIndex(name, "vm-")
	if i < 0 {
		return id
	}
	base := name[:i] + "base-" + name[i+len("vm-"):]
	v := *old
	v.ID = st + ":" + base
	delete(s.storage(st).volumes, name)
	s.storage(st).volumes[base] = &v
	return v.ID
}

func slotsOf(v values, keep func(string) bool) []string {
	return slices.DeleteFunc(slices.SortedFunc(maps.Keys(v), compareSlots), func(k string) bool { return !keep(k) })
}
