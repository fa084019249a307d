package pvesim

import (
	"maps"
	"slices"
	"strings"
	"time"
)

// update is a parsed change of a guest's config.
type update struct {
	vmid    int
	set     values
	deletes []string
	reverts []string
	force   bool
	unlocks bool // ignore the lock of the config, as root@pam may
	digest  string
	logf    func(string, ...any) // writes to the task log; without a task it does nothing
}

// newUpdate reads a change of a VM's config from the call's parameters. It rejects a change for reasons that do not depend on the guest. The
// state is locked.
func (c *call) newUpdate() (*update, error) {
	u := &update{vmid: c.vmid(), set: maps.Clone(c.params), digest: c.params["digest"], force: c.flag("force"), unlocks: c.flag("skiplock"), logf: func(string, ...any) {}}
	u.deletes, u.reverts = listOf(c.params["delete"]), listOf(c.params["revert"])
	for _, k := range []string{"digest", "delete", "revert", "force", "skiplock", "background_delay", "import-working-storage"} {
		delete(u.set, k)
	}
	if _, ok := c.params["skiplock"]; ok && !c.isRoot() {
		return nil, paramError("skiplock", "Only root may use this option.")
	}
	if len(u.set)+len(u.deletes)+len(u.reverts) == 0 {
		return nil, apiErrorf("no options specified")
	}
	if v, ok := u.set["cdrom"]; ok {
		delete(u.set, "cdrom")
		u.set["ide2"] = v
	}
	if err := u.checkLists(); err != nil {
		return nil, err
	}
	if err := c.normalizeVM(u.set); err != nil {
		return nil, err
	}
	return u, c.permitUpdate(u)
}

// checkedUpdate also checks digest and lock. Both are checked before the call waits, and again while the guest's lock is held.
func (c *call) checkedUpdate() (*update, error) {
	u, err := c.newUpdate()
	if err != nil {
		return nil, err
	}
	g, err := c.vm()
	if err != nil {
		return nil, err
	}
	if err := g.checkDigest(u.digest); err != nil {
		return nil, err
	}
	return u, u.checkLock(g)
}

func (u *update) checkLock(g *guest) error {
	if u.unlocks {
		return nil
	}
	return g.checkLock()
}

// updateVM handles PUT config: the change is made before the reply.
func updateVM(c *call) (reply, error) {
	var u *update
	if err := c.sim.locked(func() (err error) { u, err = c.checkedUpdate(); return err }); err != nil {
		return reply{}, err
	}
	if err := c.sim.withGuestLock(QEMU, u.vmid, func() error { return c.applyUpdate(u) }); err != nil {
		return reply{}, err
	}
	return nullReply()
}

// updateVMAsync handles POST config: digest and lock are checked before the task starts, and again inside it. With background_delay the
// reply waits up to that many seconds for the task.
func updateVMAsync(c *call) (reply, error) {
	var u *update
	if err := c.sim.locked(func() (err error) { u, err = c.checkedUpdate(); return err }); err != nil {
		return reply{}, err
	}
	if c.fault != nil && c.fault.Kind == LostWorker {
		return reply{}, apiErrorf("got no worker upid - start worker failed")
	}
	done := make(chan struct{})
	t := c.sim.spawn(c.node(), "qmconfig", itoa(u.vmid), u.vmid, c.caller.ID, c.fault, func(t *task) error {
		defer close(done)
		u.logf = t.printf
		return t.withGuestLock(QEMU, u.vmid, func() error {
			if err := t.work(1); err != nil {
				return err
			}
			return t.locked(func() error {
				t.printf("update VM %d: %s", u.vmid, c.describeUpdate())
				if g := t.sim.guests[u.vmid]; g != nil {
					if err := t.sim.checkWritable(g); err != nil {
						return err
					}
				}
				return c.applyUpdate(u)
			})
		})
	})
	if d := atoi(c.params["background_delay"]); d > 0 && c.sim.finishesWithin(t, done, time.Duration(d)*time.Second) {
		return nullReply()
	}
	return dataReply(jsonString(t.name))
}

// finishesWithin waits for a task and reports whether it ended successfully within the limit.
func (s *Sim) finishesWithin(t *task, done <-chan struct{}, limit time.Duration) bool {
	if !s.endsWithin(done, limit) {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return t.exit == "" || t.exit == "OK"
}

// endsWithin waits for the end of a task and reports whether it came within the limit.
func (s *Sim) endsWithin(done <-chan struct{}, limit time.Duration) bool {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C:
	case <-s.closed:
	}
	return false
}

// describeUpdate returns the line of the task log that lists the parameters.
func (c *call) describeUpdate() string {
	var parts []string
	for _, k := range slices.Sorted(maps.Keys(c.params)) {
		v := c.params[k]
		if k == "background_delay" || k == "digest" {
			continue
		}
		if k == "cipassword" {
			v = "<hidden>"
		}
		parts = append(parts, "-"+k+" "+v)
	}
	return strings.Join(parts, " ")
}

// writeOrder returns the order in which the keys are written. It is by name, so that equal seeds give equal results; with the fault
// FailMidway it is random, as in Proxmox. The state is locked.
func (c *call) writeOrder(u *update) []string {
	keys := slices.SortedFunc(maps.Keys(u.set), compareSlots)
	if c.fault != nil && c.fault.Kind == FailMidway {
		c.sim.rng.Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
	}
	return keys
}

// failMidway returns the error of the fault FailMidway if the fault's number of keys is written. The state is locked.
func (c *call) failMidway(written int) error {
	if c.fault == nil || c.fault.Kind != FailMidway || c.fault.Phase != written {
		return nil
	}
	return apiErrorf("%s", c.fault.Text)
}

// applyUpdate changes the config while the guest's lock is held: reverts, deletes, then the values one by one. Each value is written at once,
// so an error in the middle keeps the earlier ones. The state is locked.
func (c *call) applyUpdate(u *update) error {
	g, err := c.sim.find(QEMU, c.node(), u.vmid)
	if err != nil {
		return err
	}
	if err := g.checkDigest(u.digest); err != nil {
		return err
	}
	if err := u.checkLock(g); err != nil {
		return err
	}
	if err := checkBalloon(g.conf, u); err != nil {
		return err
	}
	if err := c.sim.checkWritable(g); err != nil {
		return err
	}
	before, old := g.text, g.conf.Values
	for _, k := range u.reverts {
		g.edit(func(conf *config) { c.sim.revertKey(conf, k) })
	}
	for _, k := range u.deletes {
		if err := c.sim.stageVMDelete(g, k, u); err != nil {
			return err
		}
	}
	keys := c.writeOrder(u)
	for i, k := range keys {
		if err := c.failMidway(i); err != nil {
			return err
		}
		if err := c.sim.stageVMKey(g, k, u); err != nil {
			return err
		}
	}
	if err := c.failMidway(len(keys)); err != nil {
		return err
	}
	g.edit((*config).CleanPending)
	if g.running {
		c.sim.hotplug(g)
		g.edit(func(conf *config) { recordImageValues(conf, old) })
		if hotplugFeatures(old)["cloudinit"] && len(g.conf.ImageValues) > 0 {
			if err := c.sim.generateCloudInit(g, u.logf); err != nil {
				return err
			}
		}
	} else {
		c.sim.applyPending(g)
	}
	if g.text != before {
		c.sim.countEffect(g.vmid, ConfigWritten)
	}
	return nil
}

// unlinkVM handles the older call that deletes disks.
func unlinkVM(c *call) (reply, error) {
	u := &update{vmid: c.vmid(), deletes: listOf(c.params["idlist"]), force: c.flag("force"), set: values{}, logf: func(string, ...any) {}}
	if err := c.sim.withGuestLock(QEMU, u.vmid, func() error { return c.applyUpdate(u) }); err != nil {
		return reply{}, err
	}
	return nullReply()
}
