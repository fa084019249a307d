package pvesim

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"
)

func snapshotRoutes(kind Kind, path string) []*route {
	one := path + "/snapshot/{snapname}"
	return []*route{
		get(path+"/snapshot", listSnapshots(kind)).onGuest("VM.Audit"),
		act(http.MethodPost, path+"/snapshot", createSnapshot(kind)).takes(map[string]rule{
			"snapname": checked(checkConfigID).length(0, 40).needed(), "description": text(), "vmstate": boolean(),
		}).onGuest("VM.Snapshot"),
		index(one, "cmd", "rollback", "config").onGuest("VM.Snapshot"),
		act(http.MethodDelete, one, deleteSnapshot(kind)).takes(map[string]rule{"force": boolean()}).onGuest("VM.Snapshot"),
		act(http.MethodPost, one+"/rollback", rollbackSnapshot(kind)).takes(map[string]rule{"start": boolean()}).permits(func(c *call) error {
			return c.sim.requireAny(c.who, "/vms/"+c.vars["vmid"], "VM.Snapshot", "VM.Snapshot.Rollback")
		}),
		get(one+"/config", snapshotConfig(kind)).permits(func(c *call) error {
			return c.sim.requireAny(c.who, "/vms/"+c.vars["vmid"], "VM.Snapshot", "VM.Snapshot.Rollback", "VM.Audit")
		}),
		act(http.MethodPut, one+"/config", editSnapshot(kind)).takes(map[string]rule{"description": text()}).onGuest("VM.Snapshot"),
	}
}

func listSnapshots(kind Kind) func(*call) (reply, error) {
	return func(c *call) (reply, error) {
		g, err := c.sim.find(kind, c.node(), c.vmid())
		if err != nil {
			return reply{}, err
		}
		var a array
		for _, s := range g.conf.snaps {
			var o object
			o.str("name", s.name)
			o.str("description", s.values["description"])
			o.num("snaptime", int64(atoi(s.values["snaptime"])))
			if kind == QEMU {
				o.num("vmstate", b2i(s.values["vmstate"] != ""))
			}
			if p := s.values["parent"]; p != "" {
				o.str("parent", p)
			}
			a.add(&o)
		}
		var o object
		o.str("name", "current")
		o.str("description", "You are here!")
		o.str("digest", g.digest)
		o.num("running", b2i(g.running))
		if p := g.conf.values["parent"]; p != "" {
			o.str("parent", p)
		}
		a.add(&o)
		return data(a.bytes())
	}
}

func b2i(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

func createSnapshot(kind Kind) func(*call) (reply, error) {
	return func(c *call) (reply, error) {
		name := c.params["snapname"]
		if name == "current" || name == "pending" {
			return reply{}, die("unable to use snapshot name '%s' (reserved name)", name)
		}
		return c.start(typePrefix(kind)+"snapshot", c.vmid(), func(t *task) error {
			return t.onGuest(kind, c.vmid(), func() error { return t.snapshot(c, kind, name) })
		})
	}
}

func (t *task) snapshot(c *call, kind Kind, name string) error {
	g, err := c.sim.find(kind, c.node(), c.vmid())
	if err != nil {
		return err
	}
	if err := g.checkLock(); err != nil {
		return err
	}
	if g.conf.snap(name) != nil {
		return die("snapshot name '%s' already used", name)
	}
	if g.isTemplate() || !c.sim.canSnapshot(g) {
		return die("snapshot feature is not available")
	}
	for _, slot := range diskSlots(kind, g.conf.values) {
		if d, err := parseDisk(kind, slot, g.conf.values[slot]); err == nil && d.ownsVolume() && !d.isCloudInit() {
			t.printf("snapshotting 'drive-%s' (%s)", slot, d.file())
		}
	}
	if g.running && kind == QEMU {
		t.printf("internal qemu snapshot")
	}
	g.edit(func(conf *config) {
		v := maps.Clone(conf.values)
		maps.DeleteFunc(v, func(k, _ string) bool { return isUnused(k) || k == "description" })
		v["snaptime"] = itoa64(time.Now().Unix())
		if d := c.params["description"]; d != "" {
			v["description"] = d
		}
		if c.is("vmstate") && g.running {
			v["vmstate"] = t.saveState(g, name)
			v["runningmachine"], v["runningcpu"], v["running-nets-host-mtu"] = runningMachine(v), "qemu64", " "
		}
		conf.snaps = append(conf.snaps, snapshot{name: name, values: v})
		conf.values["parent"] = name
	})
	t.sim.effect(g.vmid, Snapshotted)
	return nil
}

// saveState allocates the volume for a running VM's memory.
func (t *task) saveState(g *guest, name string) string {
	st := t.sim.storages[0]
	for _, slot := range diskSlots(QEMU, g.conf.values) {
		if d, err := parseDrive(slot, g.conf.values[slot]); err == nil && d.ownsVolume() {
			st = t.sim.storage(d.storageOf())
			break
		}
	}
	size := 2*vmMemory(g.conf.values)*mib + 500*mib
	v := t.sim.add(Volume{
		ID: st.ID + ":" + st.volumeName(g.vmid, "vm-"+itoa(g.vmid)+"-state-"+name, "raw"), Owner: g.vmid, Size: size, Format: "raw", Kind: "images",
	})
	t.printf("%s", st.formatLog(v))
	return v.ID
}

// canSnapshot wants storage-side snapshots on every disk: qcow2 files or LVM thin volumes.
func (s *Sim) canSnapshot(g *guest) bool {
	for _, slot := range diskSlots(g.kind, g.conf.values) {
		d, err := parseDisk(g.kind, slot, g.conf.values[slot])
		if err != nil || !d.ownsVolume() || d.isCloudInit() {
			continue
		}
		v, st := s.volume(d.file()), s.storage(d.storageOf())
		if v == nil || st == nil || st.Type == "dir" && v.Format != "qcow2" || strings.Contains(v.ID, "base-"+itoa(g.vmid)+"-") {
			return false
		}
	}
	return true
}

func deleteSnapshot(kind Kind) func(*call) (reply, error) {
	return func(c *call) (reply, error) {
		name := c.vars["snapname"]
		return c.start(typePrefix(kind)+"delsnapshot", c.vmid(), func(t *task) error {
			return t.onGuest(kind, c.vmid(), func() error {
				g, err := c.sim.find(kind, c.node(), c.vmid())
				if err != nil {
					return err
				}
				snap := g.conf.snap(name)
				if snap == nil {
					return die("snapshot '%s' does not exist", name)
				}
				if err := g.checkLock(); err != nil {
					return err
				}
				if v := snap.values["vmstate"]; v != "" {
					c.sim.free(v, "delete of snapshot "+name)
				}
				g.edit(func(conf *config) { conf.dropSnapshot(name) })
				c.sim.effect(g.vmid, SnapshotDeleted)
				return nil
			})
		})
	}
}

// dropSnapshot removes a snapshot; its children and the current state move to its parent.
func (c *config) dropSnapshot(name string) {
	parent := c.snap(name).values["parent"]
	adopt := func(v values) {
		if v["parent"] != name {
			return
		}
		delete(v, "parent")
		if parent != "" {
			v["parent"] = parent
		}
	}
	adopt(c.values)
	for _, s := range c.snaps {
		adopt(s.values)
	}
	c.snaps = slices.DeleteFunc(c.snaps, func(s snapshot) bool { return s.name == name })
}

func rollbackSnapshot(kind Kind) func(*call) (reply, error) {
	return func(c *call) (reply, error) {
		return c.start(typePrefix(kind)+"rollback", c.vmid(), func(t *task) error {
			return t.onGuest(kind, c.vmid(), func() error {
				g, err := c.sim.find(kind, c.node(), c.vmid())
				if err != nil {
					return err
				}
				snap := g.conf.snap(c.vars["snapname"])
				if snap == nil {
					return die("snapshot '%s' does not exist", c.vars["snapname"])
				}
				if err := g.checkLock(); err != nil {
					return err
				}
				t.sim.rollBack(g, snap, c.is("start"))
				return nil
			})
		})
	}
}

// rollBack puts the snapshot's config in place of the current one, except the description. Disks that the snapshot does not know
// become unused; the guest runs afterwards if the snapshot holds its memory or a start is asked for.
func (s *Sim) rollBack(g *guest, snap *snapshot, start bool) {
	if g.running {
		g.running, g.paused = false, false
		s.effect(g.vmid, Stopped)
	}
	resume := snap.values["vmstate"] != ""
	g.edit(func(conf *config) {
		old := conf.values
		v := maps.Clone(snap.values)
		for _, k := range []string{"snaptime", "vmstate", "description", "runningmachine", "runningcpu", "running-nets-host-mtu"} {
			delete(v, k)
		}
		if d, ok := old["description"]; ok {
			v["description"] = d
		}
		v["parent"] = snap.name
		if g.kind == QEMU {
			v["vmgenid"] = s.uuid()
		}
		conf.values, conf.pending, conf.deletes = v, values{}, nil
		s.keepNewer(conf, g.kind, old)
	})
	s.restoreSizes(g)
	s.effect(g.vmid, RolledBack)
	if resume || start {
		s.run(g)
	}
}

// restoreSizes gives the disks the sizes that they had in the snapshot.
func (s *Sim) restoreSizes(g *guest) {
	for _, slot := range diskSlots(g.kind, g.conf.values) {
		d, err := parseDisk(g.kind, slot, g.conf.values[slot])
		if err != nil || !d.ownsVolume() {
			continue
		}
		if n, ok := parseSize(d.values["size"]); ok && s.volume(d.file()) != nil {
			s.volume(d.file()).Size = n
		}
	}
}

// keepNewer adds volumes of the old config that the new one does not use as unused ones.
func (s *Sim) keepNewer(conf *config, kind Kind, old values) {
	used := map[string]bool{}
	for _, slot := range diskSlots(kind, conf.values) {
		if d, err := parseDisk(kind, slot, conf.values[slot]); err == nil {
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
			conf.values[unusedKey(conf.values)] = vol
		}
	}
}

func snapshotConfig(kind Kind) func(*call) (reply, error) {
	return func(c *call) (reply, error) {
		g, err := c.sim.find(kind, c.node(), c.vmid())
		if err != nil {
			return reply{}, err
		}
		snap := g.conf.snap(c.vars["snapname"])
		if snap == nil {
			return reply{}, die("snapshot '%s' does not exist", c.vars["snapname"])
		}
		var o object
		for k, v := range snap.values {
			writeValue(&o, kind, k, k, v)
		}
		return data(o.bytes())
	}
}

func editSnapshot(kind Kind) func(*call) (reply, error) {
	return func(c *call) (reply, error) {
		err := c.sim.withGuest(kind, c.vmid(), func() error {
			g, err := c.sim.find(kind, c.node(), c.vmid())
			if err != nil {
				return err
			}
			if err := g.checkLock(); err != nil {
				return err
			}
			if g.conf.snap(c.vars["snapname"]) == nil {
				return die("snapshot '%s' does not exist", c.vars["snapname"])
			}
			g.edit(func(conf *config) {
				conf.snap(c.vars["snapname"]).values["description"] = strings.TrimRight(c.params["description"], "\n")
			})
			return nil
		})
		if err != nil {
			return reply{}, err
		}
		return null()
	}
}
