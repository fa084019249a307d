package pvesim

import (
	"maps"

	"gitops-agent/internal/pvesim/configtext"
)

func rollbackSnapshot(kind Kind) func(*call) (reply, error) {
	return func(c *call) (reply, error) {
		return c.start(typePrefix(kind)+"rollback", c.vmid(), func(t *task) error {
			err := t.runOnGuest(kind, c.vmid(), func() error {
				g, err := c.sim.find(kind, c.node(), c.vmid())
				if err != nil {
					return err
				}
				snap := g.conf.Snapshot(c.vars["snapname"])
				if snap == nil {
					return apiErrorf("snapshot '%s' does not exist", c.vars["snapname"])
				}
				if err := g.checkLock(); err != nil {
					return err
				}
				return t.sim.rollBack(g, snap)
			})
			if err == nil && c.flag("start") {
				t.startAfterRollback(kind)
			}
			return err
		})
	}
}

// startAfterRollback starts the guest in a task of the same user.
func (t *task) startAfterRollback(kind Kind) {
	node, vmid := t.upid.node, t.vmid
	t.sim.spawn(node, typePrefix(kind)+"start", itoa(vmid), vmid, t.upid.user, nil, func(t *task) error {
		if kind == LXC {
			return t.startCT(node, vmid)
		}
		return t.startVM(node, vmid)
	})
}

// rollBack replaces the current config by that of the snapshot, except the description. Disks that the snapshot does not have become unused.
// Afterwards the guest runs if the snapshot contains its memory.
func (s *Sim) rollBack(g *guest, snap *configtext.Snapshot) error {
	if g.running {
		g.running, g.paused = false, false
		s.countEffect(g.vmid, Stopped)
	}
	resume := snap.Values["vmstate"] != ""
	g.edit(func(conf *config) {
		old := conf.Values
		v := maps.Clone(snap.Values)
		for _, k := range []string{"snaptime", "snapstate", "vmstate", "description", "runningmachine", "runningcpu", "running-nets-host-mtu"} {
			delete(v, k)
		}
		if d, ok := old["description"]; ok {
			v["description"] = d
		}
		v["parent"] = snap.Name
		if g.kind == QEMU {
			v["vmgenid"] = s.newUUID()
		}
		conf.Values, conf.Pending, conf.Deletes = v, values{}, nil
		s.keepUnreferenced(conf, g.kind, old)
	})
	s.restoreSizes(g)
	s.countEffect(g.vmid, RolledBack)
	if resume {
		if err := s.generateCloudInit(g, func(string, ...any) {}); err != nil {
			return err // the guest stays down
		}
		s.markRunning(g)
		g.resumed, g.seed = true, g.memories[snap.Name]
	}
	return nil
}

// restoreSizes gives the volumes the sizes that they had in the snapshot.
func (s *Sim) restoreSizes(g *guest) {
	for _, slot := range diskSlots(g.kind, g.conf.Values) {
		d, err := parseDisk(g.kind, slot, g.conf.Values[slot])
		if err != nil || !d.ownsVolume() {
			continue
		}
		if n, ok := parseSize(d.values["size"]); ok && s.volume(d.file()) != nil {
			s.volume(d.file()).Size = n
		}
	}
}

// keepUnreferenced adds the volumes of the old config that the new config does not use as unused volumes.
func (s *Sim) keepUnreferenced(conf *config, kind Kind, old values) {
	used := map[string]bool{}
	for _, slot := range diskSlots(kind, conf.Values) {
		if d, err := parseDisk(kind, slot, conf.Values[slot]); err == nil {
			used[d.file()] = true
		}
	}
	for _, slot := range slotsOf(old, func(k string) bool { return isDisk(kind, k) || isUnused(k) }) {
		vol := old[slot]
		if isDisk(kind, slot) {
			d, err := parseDisk(kind, slot, vol)
			if err != nil || !d.ownsVolume() || d.isCloudInit() {
				continue
			}
			vol = d.file()
		}
		if !used[vol] {
			conf.Values[freeUnusedKey(conf.Values)] = vol
		}
	}
}
