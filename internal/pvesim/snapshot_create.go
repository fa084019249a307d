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
		if name == "current" || name == "pending" {
			return reply{}, apiErrorf("unable to use snapshot name '%s' (reserved name)", name)
		}
		return c.start(typePrefix(kind)+"snapshot", c.vmid(), func(t *task) error {
			return t.runOnGuest(kind, c.vmid(), func() error { return t.snapshot(c, kind, name) })
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
	if g.conf.Snapshot(name) != nil {
		return apiErrorf("snapshot name '%s' already used", name)
	}
	if g.isTemplate() || !c.sim.canSnapshot(g) {
		return apiErrorf("snapshot feature is not available")
	}
	for _, slot := range diskSlots(kind, g.conf.Values) {
		if d, err := parseDisk(kind, slot, g.conf.Values[slot]); err == nil && d.ownsVolume() && !d.isCloudInit() {
			t.printf("snapshotting 'drive-%s' (%s)", slot, d.file())
		}
	}
	if g.running && kind == QEMU {
		t.printf("internal qemu snapshot")
	}
	state := ""
	if c.flag("vmstate") && g.running {
		if state, err = t.saveState(g, name); err != nil {
			return err
		}
	}
	g.edit(func(conf *config) {
		v := maps.Clone(conf.Values)
		maps.DeleteFunc(v, func(k, _ string) bool { return isUnused(k) || k == "description" })
		v["snaptime"] = itoa64(time.Now().Unix())
		if d := c.params["description"]; d != "" {
			v["description"] = d
		}
		if state != "" {
			v["vmstate"] = state
			v["runningmachine"], v["runningcpu"], v["running-nets-host-mtu"] = runningMachine(v), "qemu64", " "
		}
		conf.Snapshots = append(conf.Snapshots, configtext.Snapshot{Name: name, Values: v})
		conf.Values["parent"] = name
	})
	t.sim.countEffect(g.vmid, Snapshotted)
	return nil
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

// canSnapshot reports whether every disk of the guest supports snapshots: qcow2 files and LVM thin volumes do.
func (s *Sim) canSnapshot(g *guest) bool {
	for _, slot := range diskSlots(g.kind, g.conf.Values) {
		d, err := parseDisk(g.kind, slot, g.conf.Values[slot])
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
