package pvesim

import (
	"net/http"
	"strings"
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
	live        bool   // a container was to keep running, which none can
	copiesDisks bool   // also copies the disks that the target cannot reach
}

// migratePreconditions lists the nodes to which a guest can migrate, those to which rules of the HA manager do not let it, and the disks that would have to be copied.
func migratePreconditions(c *call) (reply, error) {
	s := c.sim
	g, err := s.find(c.kindOfPath(), c.node(), c.vmid())
	if err != nil {
		return reply{}, err
	}
	if g.kind == QEMU {
		if err := g.checkLock(); err != nil {
			return reply{}, err
		}
	}
	var o object
	o.num("running", boolToInt(g.running))
	var apart, together []*haResource
	if h := s.ha[g.vmid]; h != nil && h.wish() != haIgnored {
		apart, together = s.affinityOf(h)
		var dependent array
		for _, other := range together {
			dependent.raw(jsonString(other.sid()))
		}
		o.raw("dependent-ha-resources", dependent.bytes())
	}
	var nodes array
	var refused object
	for _, n := range s.opts.Nodes {
		if n == g.node {
			continue
		}
		var why object
		blocking := s.resourcesOn(apart, n)
		blocked := len(blocking) > 0
		if blocked {
			why.raw("blocking-ha-resources", blockingRows(blocking))
		} else if s.sees(c.node(), n) {
			nodes.raw(jsonString(n))
		}
		if blocked || g.kind == QEMU {
			refused.raw(n, why.bytes())
		}
	}
	if g.kind == LXC {
		o.raw("allowed-nodes", nodes.bytes())
		o.raw("not-allowed-nodes", refused.bytes())
		return dataReply(o.bytes())
	}
	o.raw("allowed_nodes", nodes.bytes())
	o.raw("not_allowed_nodes", refused.bytes())
	o.raw("local_disks", s.localDisks(g))
	o.raw("local_resources", []byte("[]"))
	o.raw("mapped-resources", []byte("[]"))
	o.raw("mapped-resource-info", []byte("{}"))
	o.num("has-dbus-vmstate", 1)
	return dataReply(o.bytes())
}

// localDisks lists the volumes of a VM that the other nodes cannot reach, with those that it does not own.
func (s *Sim) localDisks(g *guest) []byte {
	var disks array
	for _, slot := range diskSlots(g.kind, g.conf.Values) {
		p, err := parseDisk(g.kind, slot, g.conf.Values[slot])
		if err != nil {
			continue
		}
		v, st := s.volume(p.file()), s.storage(p.storageOf())
		if v == nil || st == nil || st.Shared {
			continue
		}
		var d object
		d.str("volid", v.ID)
		d.str("drivename", slot)
		d.num("size", v.Size)
		for k, is := range map[string]bool{
			"cdrom": strings.Contains(g.conf.Values[slot], "media=cdrom"), "is_cloudinit": p.isCloudInit(), "is_attached": !strings.HasPrefix(slot, "unused"),
			"is_unused": strings.HasPrefix(slot, "unused"), "is_tpmstate": slot == "tpmstate0", "is_vmstate": false, "shared": false, "replicate": true,
		} {
			d.num(k, boolToInt(is))
		}
		disks.add(&d)
	}
	return disks.bytes()
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

// localCloudInit reports whether the cloud-init drive of a VM is on a storage of one node.
func (s *Sim) localCloudInit(g *guest) bool {
	for _, slot := range diskSlots(g.kind, g.conf.Values) {
		if d, err := parseDisk(g.kind, slot, g.conf.Values[slot]); err == nil && d.isCloudInit() {
			st := s.storage(d.storageOf())
			return st != nil && !st.Shared
		}
	}
	return false
}

// localCD returns the image on a storage of one node that is in a drive of a VM, "" if there is none.
func (s *Sim) localCD(g *guest) string {
	for _, slot := range diskSlots(g.kind, g.conf.Values) {
		if d, err := parseDisk(g.kind, slot, g.conf.Values[slot]); err == nil && !d.isCloudInit() && strings.Contains(g.conf.Values[slot], "media=cdrom") {
			if v, st := s.volume(d.file()), s.storage(d.storageOf()); v != nil && st != nil && !st.Shared {
				return v.ID
			}
		}
	}
	return ""
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
			return t.migrate(migration{kind: kind, vmid: c.vmid(), target: target, online: online, live: kind == LXC && c.flag("online") && !c.flag("restart"), copiesDisks: c.flag("with-local-disks")})
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
	case !g.running || c.flag("online"):
	case kind == QEMU:
		return apiErrorf("can't migrate running VM without --online")
	case !c.flag("restart"):
		return apiErrorf("can't migrate running container without --online or --restart")
	}
	return nil
}

// migrate locks the config, copies, moves the config to the target and unlocks it there. A VM keeps running meanwhile; a container stops
// and starts again. A worker that is killed leaves the lock.
func (t *task) migrate(m migration) error {
	from := t.upid.node
	t.logLine("starting migration of %s %d to node '%s'", kindLabel(m.kind), m.vmid, m.target)
	err := t.withGuestLock(m.kind, m.vmid, func() error {
		if err := t.sleep(min(t.duration/10, beforeLock)); err != nil {
			return err
		}
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
		live := m.kind == QEMU && wasRunning
		restarts := m.kind == LXC && wasRunning
		shares := offlineShares
		if live {
			shares = liveShares
			// The target node starts the process that takes the machine over, in a task of its own.
			t.sim.spawn(m.target, "qmstart", itoa(m.vmid), m.vmid, "root@pam", nil, func(*task) error { return nil })
		}
		for i, share := range shares {
			if err := t.work(share); workerDied(err) {
				return err
			} else if err != nil {
				return t.giveUpMigration(m, err)
			}
			if i == 0 {
				_ = t.locked(func() error {
					switch g := t.sim.guests[m.vmid]; {
					case g == nil || !g.running:
					case restarts:
						t.sim.markStopped(g)
						g.edit(func(conf *config) { conf.Values["lock"] = "migrate" })
					case live:
						g.postmigrate = true
					}
					return nil
				})
			}
		}
		if err := t.moveConfig(m, from); err != nil {
			return err
		}
		if err := t.sleepShare(1 - shares[0] - shares[1]); workerDied(err) {
			return err
		}
		if restarts {
			t.logLine("start container on target node")
			t.sim.spawn(m.target, "vzstart", itoa(m.vmid), m.vmid, "root@pam", nil, func(start *task) error {
				return start.locked(func() error {
					if g := t.sim.guests[m.vmid]; g != nil {
						return t.sim.startContainer(g)
					}
					return nil
				})
			})
		}
		return t.endMigration(m)
	})
	if m.kind == LXC && err != nil && strings.HasPrefix(err.Error(), "can't lock file") {
		return apiErrorf("can't lock file '/var/lock/pve-manager/pve-migrate-%d' - got timeout", m.vmid)
	}
	return err
}

// beforeLock is how long the config of a guest is not locked yet after its migration has begun.
const beforeLock = 400 * time.Millisecond

// The shares of a migration until the memory has arrived and until the config moves; then the lock goes last.
var (
	offlineShares = [2]float64{0.1, 0.1}
	liveShares    = [2]float64{0.4, 0.2}
)

// beginMigration checks the target and sets the lock. The state is locked.
func (t *task) beginMigration(g *guest, m migration) error {
	s := t.sim
	if err := s.checkWritable(g); err != nil {
		return err
	}
	const scan = "Problem found while scanning volumes - can't migrate VM - check log"
	switch cd := s.localCD(g); {
	case !s.sees(t.upid.node, m.target) || !s.reaches(t.upid.node, m.target):
		return t.abortMigration("Can't connect to destination address using public key")
	case g.kind == LXC && m.live:
		return t.abortMigration("lxc live migration is currently not implemented")
	case g.kind == QEMU && cd != "":
		t.printf("can't migrate local disk '%s': local cdrom image", cd)
		return t.abortMigration(scan)
	case g.running && g.kind == QEMU && !m.copiesDisks && len(s.localVolumes(g)) > 0:
		t.printf("can't live migrate attached local disks without with-local-disks option")
		return t.abortMigration(scan)
	}
	if g.running && g.movedTo == m.target {
		g.movedTo, g.postmigrate = "", false // what waits on the target is ended, and the machine runs on
		t.printf("ERROR: online migrate failure - remote command failed with exit code 255: VM %d already running", g.vmid)
		return t.failMigration()
	}
	if g.running && g.kind == LXC {
		t.printf("shutdown CT %d", g.vmid)
		return nil // its config is locked when it has stopped
	}
	if g.running && m.online {
		t.printf("starting VM %d on remote node '%s'", g.vmid, m.target)
		g.movedTo = m.target
	}
	if cd := s.localCloudInit(g); cd {
		s.recordCloudInitSize(g) // the drive is copied
	}
	g.edit(func(conf *config) { conf.Values["lock"] = "migrate" })
	return nil
}

// abortMigration returns the end of a migration that has not begun. The reason is in the log alone. The state is locked.
func (t *task) abortMigration(why string) error {
	t.printf("ERROR: migration aborted (duration 00:00:00): %s", why)
	return apiErrorf("migration aborted")
}

// failMigration returns the end of a migration that had begun. The state is locked.
func (t *task) failMigration() error {
	t.printf("ERROR: migration finished with problems (duration %s)", clock(t.duration))
	return apiErrorf("migration problems")
}

// giveUpMigration unlocks a guest that stays, because of err. Without a quorum the lock stays.
func (t *task) giveUpMigration(m migration, err error) error {
	return t.locked(func() error {
		g := t.sim.guests[m.vmid]
		if g == nil {
			return err
		}
		if err := t.sim.checkWritable(g); err != nil {
			return err
		}
		g.movedTo, g.postmigrate = "", false
		g.edit(func(conf *config) { delete(conf.Values, "lock") })
		t.printf("ERROR: %s", firstLine(err.Error()))
		return t.failMigration()
	})
}

// moveConfig moves the config to the target, where it is still locked. If that fails, the lock stays, a machine is frozen, and the process on the target waits.
func (t *task) moveConfig(m migration, from string) error {
	return t.locked(func() error {
		g, err := t.sim.find(m.kind, from, m.vmid)
		if err != nil {
			return err
		}
		if err := t.sim.checkWritable(g); err != nil {
			return err
		}
		if g.running {
			t.sim.nextPID++
			g.pid, g.processSince = t.sim.nextPID, time.Now()
		}
		t.sim.turnReplication(m.vmid, g.node, m.target)
		g.node, g.movedTo, g.postmigrate = m.target, "", false
		t.sim.countEffect(m.vmid, Migrated)
		return nil
	})
}

// endMigration unlocks a guest that has arrived.
func (t *task) endMigration(m migration) error {
	return t.locked(func() error {
		g := t.sim.guests[m.vmid]
		if g == nil {
			return apiErrorf("Configuration file '%s' does not exist", configPath(m.kind, m.target, m.vmid))
		}
		if err := t.sim.checkWritable(g); err != nil {
			return err
		}
		g.edit(func(conf *config) { delete(conf.Values, "lock") })
		t.printf("migration finished successfully (duration %s)", clock(t.duration))
		return nil
	})
}

// clock formats a duration as task logs do.
func clock(d time.Duration) string { return time.Time{}.Add(d).Format(time.TimeOnly) }
