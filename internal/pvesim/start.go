package pvesim

import (
	"slices"
	"strings"
	"time"
)

// startCall returns the handler of start. A VM gets a task in every state; a running container is rejected at once.
func startCall(kind Kind) func(*call) (reply, error) {
	return func(c *call) (reply, error) {
		if err := c.refuseRootOptions("skiplock", "stateuri", "migratedfrom", "force-cpu"); err != nil {
			return reply{}, err
		}
		if err := c.sim.locked(c.requireQuorum); err != nil {
			return reply{}, err
		}
		if rep, managed, err := c.haStart(); managed {
			return rep, err
		}
		if err := c.checkContainer(kind, func(g *guest) error {
			if g.running {
				return apiErrorf("CT %d already running", g.vmid)
			}
			return nil
		}); err != nil {
			return reply{}, err
		}
		return c.start(typePrefix(kind)+"start", c.vmid(), func(t *task) error {
			if kind == LXC {
				return t.startCT(c.node(), c.vmid())
			}
			return t.startVM(c.node(), c.vmid())
		})
	}
}

// checkContainer runs a check before the task, for containers only. A missing container is reported by the task.
func (c *call) checkContainer(kind Kind, check func(*guest) error) error {
	if kind != LXC {
		return nil
	}
	return c.sim.locked(func() error {
		g, err := c.ct()
		if err != nil {
			return nil //nolint:nilerr // Proxmox reports it in the task
		}
		return check(g)
	})
}

func (t *task) startVM(node string, vmid int) error {
	return t.withGuestLock(QEMU, vmid, func() error {
		if err := t.locked(func() error { return t.checkStartable(node, vmid) }); err != nil {
			return err
		}
		if err := t.work(1); err != nil {
			return err
		}
		return t.locked(func() error {
			g, err := t.sim.find(QEMU, node, vmid)
			if err != nil {
				return err
			}
			if g.conf.Values["lock"] == "suspended" {
				return t.resumeHibernated(g)
			}
			t.sim.applyPending(g)
			if err := t.sim.checkVolumes(g); err != nil {
				return err
			}
			if err := t.sim.generateCloudInit(g, t.printf); err != nil {
				return err
			}
			t.sim.recordCloudInitSize(g)
			if err := t.checkHostLimits(g); err != nil {
				return err
			}
			t.sim.markRunning(g)
			g.seed = g.drive
			return nil
		})
	})
}

func (t *task) checkStartable(node string, vmid int) error {
	g, err := t.sim.find(QEMU, node, vmid)
	if err != nil {
		return err
	}
	if g.isTemplate() {
		return apiErrorf("you can't start a vm if it's a template")
	}
	if err := g.checkLockExcept("suspended"); err != nil {
		return err
	}
	if g.running {
		return apiErrorf("VM %d already running", vmid)
	}
	return nil
}

// checkHostLimits rejects what QEMU or its setup rejects, and logs warnings for what they ignore.
func (t *task) checkHostLimits(g *guest) error {
	v := g.conf.Values
	if max(vmCPUs(v), int64(atoi(v["vcpus"]))) > int64(t.sim.opts.CPUs) {
		return apiErrorf("MAX %d vcpus allowed per VM on this node", t.sim.opts.CPUs)
	}
	for _, slot := range diskSlots(QEMU, v) {
		d, err := parseDrive(slot, v[slot])
		if err == nil && strings.HasPrefix(slot, "scsi") && d.values["iothread"] == "1" && v["scsihw"] != "virtio-scsi-single" {
			t.printf("WARN: iothread is only valid with virtio disk or virtio-scsi-single controller, ignoring")
		}
	}
	if v["bios"] == "ovmf" && v["efidisk0"] == "" {
		t.printf("WARN: no efidisk configured! Using temporary efivars disk.")
	}
	for _, k := range slotsOf(v, isNet) {
		n, err := qemuNetFormat.parse(k, v[k])
		if err == nil && n["bridge"] != "" && !slices.Contains(t.sim.opts.Bridges, n["bridge"]) {
			return apiErrorf("bridge '%s' does not exist", n["bridge"])
		}
	}
	if vmMemory(v)*mib > t.sim.opts.Memory {
		t.printf("kvm: cannot set up guest memory 'pc.ram': Cannot allocate memory")
		return apiErrorf("start failed: QEMU exited with code 1")
	}
	return nil
}

// checkVolumes rejects a start if a volume of the guest or its hook script is missing.
//
// Source: PVE::GuestHelpers exec_hookscript, for the phase pre-start.
func (s *Sim) checkVolumes(g *guest) error {
	if script := g.conf.Values["hookscript"]; script != "" && s.volumeOn(g.node, script) == nil {
		return apiErrorf("script '%s' does not exist", script)
	}
	for _, slot := range diskSlots(g.kind, g.conf.Values) {
		d, err := parseDisk(g.kind, slot, g.conf.Values[slot])
		if err == nil && volumeID.MatchString(d.file()) && s.volumeOn(g.node, d.file()) == nil {
			return apiErrorf("volume '%s' does not exist", d.file())
		}
	}
	return nil
}

// markRunning marks a guest as running, with a new process id. The state is locked.
func (s *Sim) markRunning(g *guest) {
	s.nextPID++
	g.running, g.paused, g.prelaunch, g.startedAt, g.pid, g.resumed = true, false, false, time.Now(), s.nextPID, false
	g.processSince = g.startedAt
	s.countEffect(g.vmid, Started)
}
