package pvesim

import (
	"maps"
	"strings"
	"time"

	"gitops-agent/internal/pvesim/configtext"
)

func createSnapshot(kind Kind) func(*call) (reply, error) {
	return func(c *call) (reply, error) {
		name := c.params["snapname"]
		if reserved := reservedSnapshotName(kind, name); reserved != "" {
			return reply{}, apiErrorf("unable to use snapshot name '%s' (reserved name)", reserved)
		}
		return c.start(typePrefix(kind)+"snapshot", c.vmid(), func(t *task) error {
			return t.withGuestLock(kind, c.vmid(), func() error { return t.snapshot(c, kind, name) })
		})
	}
}

// reservedSnapshotName returns the reserved name that a name is, "" if it may be used. A container's backup makes and deletes a snapshot vzdump.
func reservedSnapshotName(kind Kind, name string) string {
	switch {
	case name == "current", kind == LXC && name == "vzdump":
		return name
	case kind == QEMU && strings.EqualFold(name, "pending"):
		return "pending"
	}
	return ""
}

// snapshot locks the config and adds an unfinished snapshot, and completes both when the work is done. A running VM keeps them if the work fails.
func (t *task) snapshot(c *call, kind Kind, name string) error {
	if err := t.locked(func() error { return t.prepareSnapshot(c, kind, name) }); err != nil {
		return err
	}
	err := t.work(1)
	if workerDied(err) {
		return err
	}
	return t.locked(func() error {
		g, findErr := c.sim.find(kind, c.node(), c.vmid())
		if findErr != nil {
			return findErr
		}
		if writeErr := t.sim.checkWritable(g); writeErr != nil {
			return writeErr
		}
		switch {
		case err != nil && g.running && kind == QEMU:
			return err
		case err != nil:
			g.edit(func(conf *config) { delete(conf.Values, "lock"); conf.DropSnapshot(name) })
			return err
		}
		return t.commitSnapshot(c, g, name)
	})
}

// prepareSnapshot checks the guest and writes the lock and the unfinished snapshot. The state is locked.
func (t *task) prepareSnapshot(c *call, kind Kind, name string) error {
	g, err := c.sim.find(kind, c.node(), c.vmid())
	if err != nil {
		return err
	}
	if err := t.sim.checkWritable(g); err != nil {
		return err
	}
	if err := g.checkLock(); err != nil {
		return err
	}
	if g.conf.Snapshot(name) != nil {
		return apiErrorf("snapshot name '%s' already used", name)
	}
	if g.isTemplate() || !c.sim.hasFeature(kind, "snapshot", g.conf.Values, false) {
		return apiErrorf("snapshot feature is not available")
	}
	g.edit(func(conf *config) {
		v := maps.Clone(conf.Values)
		maps.DeleteFunc(v, func(k, _ string) bool { return isUnused(k) || k == "description" })
		v["snaptime"], v["snapstate"] = itoa64(time.Now().Unix()), "prepare"
		if d := strings.TrimRight(c.params["description"], " \n"); d != "" {
			v["description"] = d
		}
		conf.Snapshots = append(conf.Snapshots, configtext.Snapshot{Name: name, Values: v})
		conf.Values["lock"] = "snapshot"
	})
	return nil
}

// commitSnapshot saves the memory if the call requests that, and finishes the snapshot. The state is locked.
func (t *task) commitSnapshot(c *call, g *guest, name string) error {
	state := ""
	var err error
	if c.flag("vmstate") && g.running {
		state, err = t.saveState(g, name)
	}
	if state != "" {
		id, _, _ := strings.Cut(state, ":")
		t.printf("saving VM state and RAM using storage '%s'", id)
		t.printf("%.2f MiB in 0s", float64(vmMemory(g.conf.Values))/64)
		t.printf("completed saving the VM state in 0s, saved %.2f MiB", float64(vmMemory(g.conf.Values))/2)
	}
	for _, slot := range diskSlots(g.kind, g.conf.Values) {
		if d, err := parseDisk(g.kind, slot, g.conf.Values[slot]); err == nil && d.ownsVolume() && !d.isCloudInit() {
			t.printf("snapshotting 'drive-%s' (%s)", slot, d.file())
		}
	}
	if g.running && g.kind == QEMU {
		t.printf("internal qemu snapshot")
	}
	g.edit(func(conf *config) {
		delete(conf.Values, "lock")
		if err != nil {
			conf.DropSnapshot(name)
			return
		}
		v := conf.Snapshot(name).Values
		delete(v, "snapstate")
		if state != "" {
			v["vmstate"] = state
			v["runningmachine"], v["runningcpu"], v["running-nets-host-mtu"] = runningMachine(v), "qemu64", " "
		}
		conf.Values["parent"] = name
	})
	if err == nil {
		t.sim.countEffect(g.vmid, Snapshotted)
		if state != "" {
			if g.memories == nil {
				g.memories = map[string]cloudInitImage{}
			}
			g.memories[name] = g.seed
		}
	}
	return err
}

// saveState allocates the volume for the memory of a running VM and returns the volume's id.
func (t *task) saveState(g *guest, name string) (string, error) {
	st := t.sim.storages[0]
	for _, slot := range diskSlots(QEMU, g.conf.Values) {
		if d, err := parseDrive(slot, g.conf.Values[slot]); err == nil && d.ownsVolume() {
			st = t.sim.storage(d.storageOf())
			break
		}
	}
	size := 2*vmMemory(g.conf.Values)*mib + 500*mib
	if err := st.checkSpace(g.vmid, size); err != nil {
		return "", err
	}
	v := t.sim.add(Volume{
		ID: st.ID + ":" + st.volumeName(g.vmid, "vm-"+itoa(g.vmid)+"-state-"+name, "raw"), Owner: g.vmid, Size: size, Format: "raw", Kind: "images",
	})
	t.printf("%s", st.formatLog(v))
	return v.ID, nil
}
