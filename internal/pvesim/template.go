package pvesim

import (
	"maps"
	"strings"
)

// templateVM turns the disks into base images. No call reverses this.
func templateVM(c *call) (reply, error) {
	err := c.sim.locked(func() error {
		g, err := c.vm()
		if err != nil {
			return err
		}
		return checkTemplateConversion(g)
	})
	if err != nil {
		return reply{}, err
	}
	return c.start("qmtemplate", c.vmid(), func(t *task) error {
		return t.runOnGuest(QEMU, c.vmid(), func() error {
			g, err := c.vm()
			if err != nil {
				return err
			}
			if err := checkTemplateConversion(g); err != nil {
				return err
			}
			return c.sim.makeTemplate(g)
		})
	})
}

func checkTemplateConversion(g *guest) error {
	switch {
	case g.isTemplate():
		return apiErrorf("you can't convert a template to a template")
	case len(g.conf.Snapshots) > 0:
		return apiErrorf("unable to create template, because VM contains snapshots")
	case g.running && g.kind == QEMU:
		return apiErrorf("you can't convert a VM to template if VM is running")
	case g.running:
		return apiErrorf("you can't convert a CT to template if the CT is running")
	}
	return g.checkLock()
}

// makeTemplate renames every volume to base-. The state is locked.
func (s *Sim) makeTemplate(g *guest) error {
	v := maps.Clone(g.conf.Values)
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
	g.edit(func(conf *config) { conf.Values = v })
	s.countEffect(g.vmid, Templated)
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

func templateCT(c *call) (reply, error) {
	err := c.sim.locked(func() error {
		g, err := c.ct()
		if err != nil {
			return err
		}
		return checkTemplateConversion(g)
	})
	if err != nil {
		return reply{}, err
	}
	_, err = c.start("vztemplate", c.vmid(), func(t *task) error {
		return t.runOnGuest(LXC, c.vmid(), func() error {
			g, err := c.ct()
			if err != nil {
				return err
			}
			return c.sim.makeTemplate(g)
		})
	})
	if err != nil {
		return reply{}, err
	}
	return nullReply() // although a task runs
}
