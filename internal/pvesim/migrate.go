package pvesim

import (
	"net/http"
	"slices"
	"time"
)

// Migration of guests between nodes. All of it follows Proxmox's sources, because the recordings come from a single node.

func migrateRoutes() []*route {
	return []*route{
		readRoute(vmPath+"/migrate", migratePreconditions).withParams(map[string]rule{"target": text()}).withGuestPrivilege("VM.Migrate").needsRoot(),
		writeRoute(http.MethodPost, vmPath+"/migrate", migrate(QEMU)).withParams(map[string]rule{
			"target": text().needed(), "online": boolean(), "force": boolean(), "migration_type": enum("secure", "insecure"), "migration_network": text(),
			"with-local-disks": boolean(), "with-conntrack-state": boolean(), "targetstorage": text(), "bwlimit": integer().atLeast(0),
		}).withGuestPrivilege("VM.Migrate"),
		readRoute(ctPath+"/migrate", migratePreconditions).withParams(map[string]rule{"target": text()}).withGuestPrivilege("VM.Migrate").needsRoot(),
		writeRoute(http.MethodPost, ctPath+"/migrate", migrate(LXC)).withParams(map[string]rule{
			"target": text().needed(), "online": boolean(), "restart": boolean(), "timeout": integer(), "target-storage": text(), "bwlimit": number().atLeast(0),
		}).withGuestPrivilege("VM.Migrate"),
	}
}

// migration describes the migration of one guest to another node.
type migration struct {
	kind        Kind
	vmid        int
	target      string // node
	online      bool   // a VM keeps running, a container is started again
	copiesDisks bool   // also copies the disks that the target cannot reach
}

// migratePreconditions lists the nodes to which a guest can migrate, and the disks that would have to be copied.
func migratePreconditions(c *call) (reply, error) {
	g, err := c.sim.find(c.kindOfPath(), c.node(), c.vmid())
	if err != nil {
		return reply{}, err
	}
	var o object
	o.num("running", boolToInt(g.running))
	var nodes array
	for _, n := range c.sim.opts.Nodes {
		if n != g.node && !slices.Contains(c.sim.down, n) {
			nodes.raw(jsonString(n))
		}
	}
	if g.kind == LXC {
		o.raw("allowed-nodes", nodes.bytes())
		return dataReply(o.bytes())
	}
	o.raw("allowed_nodes", nodes.bytes())
	var disks array
	for _, v := range c.sim.localVolumes(g) {
		var d object
		d.str("volid", v.ID)
		d.num("size", v.Size)
		disks.add(&d)
	}
	o.raw("local_disks", disks.bytes())
	o.raw("local_resources", []byte("[]"))
	o.raw("mapped-resources", []byte("[]"))
	return dataReply(o.bytes())
}

// localVolumes returns the volumes of a guest that the other nodes cannot reach.
func (s *Sim) localVolumes(g *guest) []*Volume {
	var out []*Volume
	for _, slot := range diskSlots(g.kind, g.conf.Values) {
		d, err := parseDisk(g.kind, slot, g.conf.Values[slot])
		if err != nil || !d.ownsVolume() || d.isCloudInit() {
			continue
		}
		if v, st := s.volume(d.file()), s.storage(d.storageOf()); v != nil && !st.Shared {
			out = append(out, v)
		}
	}
	return out
}

// migrate returns the handler that starts a migration. The task migrates the guest or, for a managed guest, records the request for the HA
// manager.
func migrate(kind Kind) func(*call) (reply, error) {
	return func(c *call) (reply, error) {
		target := c.params["target"]
		if err := c.sim.locked(func() error { return c.checkMigration(kind, target) }); err != nil {
			return reply{}, err
		}
		if rep, managed, err := c.haMigrate(target); managed {
			return rep, err
		}
		typ := map[Kind]string{QEMU: "qmigrate", LXC: "vzmigrate"}[kind]
		online := c.flag("online") || c.flag("restart")
		return c.start(typ, c.vmid(), func(t *task) error {
			return t.migrate(migration{kind: kind, vmid: c.vmid(), target: target, online: online, copiesDisks: c.flag("with-local-disks")})
		})
	}
}

func (c *call) checkMigration(kind Kind, target string) error {
	if target == c.node() {
		return paramError("target", "target is local node.")
	}
	if err := c.requireQuorum(); err != nil {
		return err
	}
	if !c.sim.hasNode(target) {
		return apiErrorf("no such cluster node '%s'", target)
	}
	g, err := c.sim.find(kind, c.node(), c.vmid())
	if err != nil {
		return err
	}
	if err := g.checkLock(); err != nil {
		return err
	}
	switch {
	case c.sim.ha[g.vmid] != nil || !g.running || c.flag("online"):
	case kind == QEMU:
		return apiErrorf("can't migrate running VM without --online")
	case !c.flag("restart"):
		return apiErrorf("can't migrate running container without --online or --restart")
	}
	if kind == LXC && g.running && c.flag("online") {
		return apiErrorf("lxc live migration is currently not implemented")
	}
	return nil
}

// migrate locks the config, copies, moves the config to the target and unlocks it there. A VM keeps running meanwhile; a container stops
// and starts again. A worker that is killed leaves the lock.
func (t *task) migrate(m migration) error {
	from := t.upid.node
	t.logLine("starting migration of %s %d to node '%s'", kindLabel(m.kind), m.vmid, m.target)
	return t.withGuestLock(m.kind, m.vmid, func() error {
		wasRunning := false
		err := t.locked(func() error {
			g, err := t.sim.find(m.kind, from, m.vmid)
			if err != nil {
				return err
			}
			wasRunning = g.running
			return t.beginMigration(g, m)
		})
		if err != nil {
			return err
		}
		for range 2 {
			if err := t.work(0.5); workerDied(err) {
				return err
			} else if err != nil {
				return t.endMigration(m, from, err)
			}
		}
		if m.kind == QEMU && wasRunning {
			// The target node starts the process that takes the machine over, in a task of its own.
			t.sim.spawn(m.target, "qmstart", itoa(m.vmid), m.vmid, "root@pam", nil, func(*task) error { return nil })
		}
		if err := t.endMigration(m, m.target, nil); err != nil {
			return err
		}
		return t.locked(func() error {
			g := t.sim.guests[m.vmid]
			if m.kind == QEMU || !wasRunning || g == nil {
				return nil
			}
			t.printf("start container on target node")
			return t.sim.startContainer(g)
		})
	})
}

// beginMigration checks the target and sets the lock. The state is locked.
func (t *task) beginMigration(g *guest, m migration) error {
	s := t.sim
	if err := s.checkWritable(g); err != nil {
		return err
	}
	if slices.Contains(s.down, m.target) {
		return apiErrorf("migration aborted (duration 00:00:00): Can't connect to destination address using public key")
	}
	if g.running && g.kind == QEMU && !m.copiesDisks && len(s.localVolumes(g)) > 0 {
		return apiErrorf("can't live migrate attached local disks without with-local-disks option")
	}
	if g.running && g.movedTo == m.target {
		g.movedTo = "" // what waits on the target is ended, and the machine runs on
		return apiErrorf("migration aborted (duration 00:00:01): VM %d already running", g.vmid)
	}
	if g.running && g.kind == LXC {
		t.printf("shutdown CT %d", g.vmid)
		s.markStopped(g)
	}
	if g.running && m.online {
		t.printf("starting VM %d on remote node '%s'", g.vmid, m.target)
	}
	g.edit(func(conf *config) { conf.Values["lock"] = "migrate" })
	return nil
}

// endMigration puts the config on a node and unlocks it. err is the reason why the migration failed, or nil.
func (t *task) endMigration(m migration, node string, err error) error {
	return t.locked(func() error {
		g := t.sim.guests[m.vmid]
		if g == nil {
			return apiErrorf("Configuration file '%s' does not exist", configPath(m.kind, t.upid.node, m.vmid))
		}
		if err := t.sim.checkWritable(g); err != nil {
			if g.running && m.kind == QEMU && m.online && node == m.target {
				g.movedTo = m.target
			}
			return err // the lock stays
		}
		g.edit(func(conf *config) { delete(conf.Values, "lock") })
		if err != nil {
			return apiErrorf("migration aborted (duration %s): %s", clock(t.duration), firstLine(err.Error()))
		}
		if g.node != node {
			if g.running {
				t.sim.nextPID++
				g.pid, g.processSince = t.sim.nextPID, time.Now()
			}
			t.sim.turnReplication(m.vmid, g.node, node)
		}
		g.node = node
		t.printf("migration finished successfully (duration %s)", clock(t.duration))
		t.sim.countEffect(m.vmid, Migrated)
		return nil
	})
}

// clock formats a duration as task logs do.
func clock(d time.Duration) string { return time.Time{}.Add(d).Format(time.TimeOnly) }
