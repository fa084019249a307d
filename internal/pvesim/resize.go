package pvesim

import (
	"maps"
	"slices"
	"strings"
)

// newSize reads a resize parameter: absolute, or relative with a plus.
func newSize(text string, old int64) int64 {
	rel, relative := strings.CutPrefix(text, "+")
	n, _ := parseSize(rel)
	if relative {
		return old + n
	}
	return n
}

// resizeVM checks everything inside the task, the digest included.
func resizeVM(c *call) (reply, error) {
	if _, ok := c.params["skiplock"]; ok {
		return reply{}, badParam("skiplock", "Only root may use this option.")
	}
	return c.start("resize", c.vmid(), func(t *task) error {
		return t.onGuest(QEMU, c.vmid(), func() error {
			g, err := c.vm()
			if err != nil {
				return err
			}
			if err := g.checkDigest(c.params["digest"]); err != nil {
				return err
			}
			if err := g.checkLock(); err != nil {
				return err
			}
			if err := c.permitGrowth(g); err != nil {
				return err
			}
			return t.resize(g, c.params["disk"], c.params["size"])
		})
	})
}

// permitGrowth wants room on the storage of the disk. The state is locked.
func (c *call) permitGrowth(g *guest) error {
	d, err := parseDisk(g.kind, c.params["disk"], g.conf.values[c.params["disk"]])
	if err != nil || d.storageOf() == "" {
		return nil //nolint:nilerr // refused where the disk is looked at
	}
	return c.require("/storage/"+d.storageOf(), "Datastore.AllocateSpace")
}

func (t *task) resize(g *guest, slot, size string) error {
	text := g.conf.values[slot]
	if text == "" {
		return die("disk '%s' does not exist", slot)
	}
	d, err := parseDisk(g.kind, slot, text)
	if err != nil {
		return err
	}
	v := t.sim.volume(d.file())
	switch {
	case d.isCDROM():
		return die("you can't resize a cdrom")
	case v == nil:
		return die("volume '%s' does not exist", d.file())
	}
	n := newSize(size, v.Size)
	switch {
	case n < v.Size && g.kind == QEMU:
		return die("shrinking disks is not supported")
	case n == v.Size:
		return nil
	}
	st := t.sim.storage(d.storageOf())
	if err := st.checkSpace(g.vmid, st.roundUp(n)-v.Size); err != nil {
		return err
	}
	v.Size = st.roundUp(n)
	switch {
	case g.running && g.kind == QEMU: // QEMU itself resizes and says nothing
	case st.Type == "dir":
		t.printf("Image resized.")
	default:
		t.printf("  Size of logical volume pve/%s changed.", baseName(v.ID))
	}
	g.edit(func(conf *config) { conf.values[slot] = d.with(d.file(), v.Size).text() })
	t.sim.effect(g.vmid, Resized)
	return nil
}

// moveDisk copies a disk to another storage or format. The source stays as unused unless it is to be deleted.
func moveDisk(c *call) (reply, error) {
	err := c.sim.locked(func() error {
		if err := c.require("/vms/"+itoa(c.vmid()), "VM.Config.Disk"); err != nil {
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
		g, err := c.vm()
		if err != nil {
			return err
		}
		if d := c.params["digest"]; d != "" && d != g.digest {
			return die("detected modified configuration - file changed by other user? Try again.")
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
		return t.onGuest(QEMU, c.vmid(), func() error {
			g, err := c.vm()
			if err != nil {
				return err
			}
			return t.move(c, g)
		})
	})
}

func (c *call) moveTarget(g *guest) (drive, *Volume, error) {
	slot := c.params["disk"]
	text := g.conf.values[slot]
	if text == "" {
		return drive{}, nil, die("disk '%s' does not exist", slot)
	}
	d, err := parseDrive(slot, text)
	if err != nil {
		return d, nil, err
	}
	v := c.sim.volume(d.file())
	switch {
	case d.isCDROM() && !d.isCloudInit():
		return d, nil, die("you can't move a cdrom")
	case v == nil:
		return d, nil, die("volume '%s' does not exist", d.file())
	case c.params["storage"] == "":
		return d, nil, badParam("storage", "property is missing and it is not optional")
	}
	if c.params["storage"] == d.storageOf() && (c.params["format"] == "" || c.params["format"] == v.Format) {
		return d, nil, die("you can't move to the same storage with same format")
	}
	if len(g.conf.snaps) > 0 && c.is("delete") {
		return d, nil, die("you can't move a disk with snapshots and delete the source")
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
	if len(g.conf.snaps) > 0 {
		t.printf("moving disk with snapshots, snapshots will not be moved!")
	}
	t.printf("create full clone of drive %s (%s)", d.slot, old.ID)
	if err := st.checkSpace(g.vmid, old.Size); err != nil {
		return err
	}
	v := t.sim.copyVolume(old, st, g.vmid, format, d.isCloudInit())
	t.printf("%s", st.formatLog(v))
	t.printf("allocated target volume '%s'", v.ID)
	g.edit(func(conf *config) {
		conf.values[d.slot] = d.with(v.ID, v.Size).text()
		if c.is("delete") {
			t.printf("removing source volume '%s' after successful copy", old.ID)
			t.sim.free(old.ID, "move with delete")
		} else {
			t.printf("adding source volume '%s' as '%s' to config", old.ID, unusedKey(conf.values))
			conf.values[unusedKey(conf.values)] = old.ID
		}
	})
	t.sim.effect(g.vmid, Moved)
	return nil
}

// unlinkVM is the older way to delete disks.
func unlinkVM(c *call) (reply, error) {
	u := &update{vmid: c.vmid(), deletes: listOf(c.params["idlist"]), force: c.is("force"), set: values{}, logf: func(string, ...any) {}}
	if err := c.sim.withGuest(QEMU, u.vmid, func() error { return c.applyUpdate(u) }); err != nil {
		return reply{}, err
	}
	return null()
}

func sortedKeys(v values) []string { return slices.Sorted(maps.Keys(v)) }
