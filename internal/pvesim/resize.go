package pvesim

import (
	"strings"
)

// newSize returns the size in bytes that a resize parameter requests: absolute, or relative to old with a plus sign.
func newSize(text string, old int64) int64 {
	rel, relative := strings.CutPrefix(text, "+")
	n, _ := parseSize(rel)
	if relative {
		return old + n
	}
	return n
}

// resizeVM checks everything inside the task, also the digest.
func resizeVM(c *call) (reply, error) {
	if _, ok := c.params["skiplock"]; ok {
		return reply{}, paramError("skiplock", "Only root may use this option.")
	}
	return c.start("resize", c.vmid(), func(t *task) error {
		return t.runOnGuest(QEMU, c.vmid(), func() error {
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

// permitGrowth requires Datastore.AllocateSpace on the storage of the disk. The state is locked.
func (c *call) permitGrowth(g *guest) error {
	d, err := parseDisk(g.kind, c.params["disk"], g.conf.Values[c.params["disk"]])
	if err != nil || d.storageOf() == "" {
		return nil //nolint:nilerr // rejected where the disk is read
	}
	return c.require("/storage/"+d.storageOf(), "Datastore.AllocateSpace")
}

func (t *task) resize(g *guest, slot, size string) error {
	text := g.conf.Values[slot]
	if text == "" {
		return apiErrorf("disk '%s' does not exist", slot)
	}
	d, err := parseDisk(g.kind, slot, text)
	if err != nil {
		return err
	}
	v := t.sim.volume(d.file())
	switch {
	case !volumeID.MatchString(d.file()):
		return apiErrorf("unable to parse volume ID '%s'", d.file())
	case d.isCDROM():
		return apiErrorf("you can't resize a cdrom")
	case v == nil:
		return apiErrorf("volume '%s' does not exist", d.file())
	}
	n := newSize(size, v.Size)
	switch {
	case n < v.Size && g.kind == QEMU:
		return apiErrorf("shrinking disks is not supported")
	case n == v.Size:
		return nil
	}
	st := t.sim.storage(d.storageOf())
	if err := st.checkSpace(g.vmid, st.roundUp(n)-v.Size); err != nil {
		return err
	}
	old := v.fileSystem()
	v.Size = st.roundUp(n)
	switch {
	case g.running && g.kind == QEMU: // QEMU itself resizes and logs nothing
	case st.Type == "dir":
		t.printf("Image resized.")
	default:
		t.printf("  Size of logical volume pve/%s changed.", baseName(v.ID))
	}
	if g.kind == LXC && v.Format != "subvol" {
		t.logGrownFilesystem(v, old, g.running)
		v.FileSystem = 0
	}
	g.edit(func(conf *config) { conf.Values[slot] = d.with(d.file(), v.Size).text() })
	t.sim.countEffect(g.vmid, Resized)
	return nil
}

// resizeCT rejects what it can before the task: a wrong digest, a lock, a smaller size and the current size.
func resizeCT(c *call) (reply, error) {
	err := c.sim.locked(func() error {
		g, err := c.ct()
		if err != nil {
			return err
		}
		if err := g.checkLock(); err != nil {
			return err
		}
		if err := g.checkDigest(c.params["digest"]); err != nil {
			return err
		}
		slot := c.params["disk"]
		if g.conf.Values[slot] == "" {
			return errMissingMount(slot)
		}
		d, err := parseMount(slot, g.conf.Values[slot])
		if err != nil {
			return err
		}
		v := c.sim.volume(d.file())
		if v == nil {
			return apiErrorf("volume '%s' does not exist", d.file())
		}
		if err := c.permitGrowth(g); err != nil {
			return err
		}
		switch n := newSize(c.params["size"], v.Size); {
		case n < v.Size:
			return apiErrorf("unable to shrink disk size")
		case n == v.Size:
			return apiErrorf("disk is already at specified size")
		}
		return nil
	})
	if err != nil {
		return reply{}, err
	}
	return c.start("resize", c.vmid(), func(t *task) error {
		return t.runOnGuest(LXC, c.vmid(), func() error {
			g, err := c.ct()
			if err != nil {
				return err
			}
			if err := g.checkLock(); err != nil {
				return err
			}
			return t.resize(g, c.params["disk"], c.params["size"])
		})
	})
}
