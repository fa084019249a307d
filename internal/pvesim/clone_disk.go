package pvesim

import (
	"maps"
	"strings"
)

// copyVM returns the values of the clone, with copied or linked volumes and new identities. Copying takes the given share of the task's duration. The
// state is not locked.
func (t *task) copyVM(c *call, newID int, made *[]string, share float64) (values, error) {
	var v values
	var slots []string
	err := t.locked(func() (err error) {
		v, slots, err = c.cloneValues()
		return err
	})
	for _, slot := range slots {
		if err == nil {
			err = t.copySlot(c, newID, slot, v, made, share/float64(len(slots)))
		}
	}
	if err == nil && len(slots) == 0 {
		err = t.sleepShare(share)
	}
	if err != nil {
		return nil, err
	}
	return v, t.locked(func() error { t.setCloneIdentity(c, v); return nil })
}

// cloneValues returns what a clone takes over from the config of its source, and the slots of the volumes to copy. The state is locked.
func (c *call) cloneValues() (v values, slots []string, err error) {
	src, err := c.vm()
	if err != nil {
		return nil, nil, err
	}
	from, err := c.cloneSource(src)
	if err != nil {
		return nil, nil, err
	}
	v = maps.Clone(from)
	for _, k := range []string{"template", "lock", "parent", "snaptime", "snapstate", "vmstate", "digest"} {
		delete(v, k)
	}
	maps.DeleteFunc(v, func(k, _ string) bool { return isUnused(k) })
	for _, slot := range diskSlots(QEMU, v) {
		d, err := parseDrive(slot, v[slot])
		if err != nil {
			return nil, nil, err
		}
		if d.ownsVolume() {
			slots = append(slots, slot)
		}
	}
	return v, slots, nil
}

// copySlot copies or links one volume of the clone. The state is not locked.
func (t *task) copySlot(c *call, newID int, slot string, v values, made *[]string, share float64) error {
	var src, dst *Volume
	err := t.locked(func() error {
		g, err := c.vm()
		if err != nil {
			return err
		}
		d, err := parseDrive(slot, v[slot])
		if err != nil {
			return err
		}
		old := t.sim.volume(d.file())
		if d, err = t.copyDrive(c, g, newID, d, made); err != nil {
			return err
		}
		v[slot] = d.text()
		full := c.isFull(g) && d.hasCopyLog()
		if full && g.running {
			t.logMirror(slot, old)
		} else if full {
			from, to := *old, *t.sim.volume(d.file())
			src, dst = &from, &to
		}
		return nil
	})
	switch {
	case err != nil:
		return err
	case src == nil:
		return t.sleepShare(share)
	}
	return t.transfer(src, dst, share)
}

// setCloneIdentity gives the clone its own name, MAC addresses, uuid and generation id.
func (t *task) setCloneIdentity(c *call, v values) {
	for _, k := range slotsOf(v, isNet) {
		if n, err := qemuNetFormat.parse(k, v[k]); err == nil {
			n["macaddr"] = t.sim.newMAC()
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
	if id, ok := v["vmgenid"]; ok && id != "0" {
		v["vmgenid"] = t.sim.newUUID()
	}
	sm, err := smbiosFormat.parse("smbios1", v["smbios1"])
	if err != nil {
		sm = values{}
	}
	sm["uuid"] = t.sim.newUUID()
	v["smbios1"] = smbiosFormat.format(sm)
}

// copyDrive creates one volume of the clone: a link to a base image, or a full copy.
func (t *task) copyDrive(c *call, src *guest, newID int, d drive, made *[]string) (drive, error) {
	s := t.sim
	old := s.volume(d.file())
	if old == nil {
		return d, apiErrorf("volume '%s' does not exist", d.file())
	}
	st := s.storage(d.storageOf())
	format := old.Format
	if !c.isFull(src) && !d.isCloudInit() {
		t.printf("create linked clone of %s %s (%s)", diskLabel(src.kind), d.slot, old.ID)
		if st.Type == "dir" {
			format = "qcow2" // an overlay for a base of any format
		}
		if err := st.checkSpace(newID, 0); err != nil {
			return d, err
		}
		name := st.freeName(newID, format)
		v := s.add(Volume{ID: st.ID + ":" + baseName(old.ID) + "/" + name, Owner: newID, Size: old.Size, Format: format, Base: old.ID, Kind: "images"})
		t.logLink(st, old, v)
		*made = append(*made, v.ID)
		return d.with(v.ID, v.Size), nil
	}
	t.printf("create full clone of %s %s (%s)", diskLabel(src.kind), d.slot, old.ID)
	if id := c.params["storage"]; id != "" {
		st = s.storage(id)
	}
	if f := c.params["format"]; f != "" {
		format = f
	}
	if st.Type != "dir" {
		format = "raw"
	}
	if err := st.checkSpace(newID, old.Size); err != nil {
		return d, err
	}
	v := s.copyVolume(old, st, newID, format, d.isCloudInit())
	t.printf("%s", st.formatLog(v))
	if src.kind == QEMU {
		t.printf("allocated target volume '%s'", v.ID)
	} else if v.Format != "subvol" {
		t.logFilesystem(v.Size)
		t.logRsync()
	}
	*made = append(*made, v.ID)
	return d.with(v.ID, v.Size), nil
}

// diskLabel names the disks of a guest in task logs.
func diskLabel(kind Kind) string {
	if kind == LXC {
		return "mountpoint"
	}
	return "drive"
}

// logLink logs how a linked clone was created.
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

// baseName returns the part of a volume id after the storage. A linked clone has the name of its base volume before its own.
func baseName(id string) string {
	_, name, _ := strings.Cut(id, ":")
	return name
}

func (s *Sim) copyVolume(old *Volume, st *storage, owner int, format string, cloudInit bool) *Volume {
	name := st.freeName(owner, format)
	if cloudInit {
		name = st.volumeName(owner, "vm-"+itoa(owner)+"-cloudinit", format)
	}
	return s.add(Volume{ID: st.ID + ":" + name, Owner: owner, Size: st.roundUp(old.Size), Format: format, Kind: old.Kind, Data: old.Data, OS: old.OS})
}
