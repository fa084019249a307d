package pvesim

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"
)

func qemuPowerRoutes() []*route {
	power := func(op string, f func(*call) (reply, error), extra map[string]rule) *route {
		rules := map[string]rule{"skiplock": boolean(), "timeout": integer().atLeast(0)}
		maps.Copy(rules, extra)
		return act(http.MethodPost, vmPath+"/status/"+op, f).takes(rules).onGuest("VM.PowerMgmt")
	}
	return []*route{
		get(vmPath+"/status/current", currentStatus(QEMU)).onGuest("VM.Audit"),
		power("start", startCall(QEMU), map[string]rule{"machine": text(), "force-cpu": text(), "migratedfrom": text(), "stateuri": text(), "targetstorage": text()}),
		power("stop", stopCall(QEMU), map[string]rule{"keepActive": boolean(), "migratedfrom": text(), "overrule-shutdown": boolean()}),
		power("shutdown", shutdownCall(QEMU), map[string]rule{"forceStop": boolean(), "keepActive": boolean()}),
		power("reboot", rebootCall(QEMU), nil),
		power("reset", pauseCall("qmreset", func(*guest) {}), nil),
		power("suspend", pauseCall("qmpause", func(g *guest) { g.paused = true }), map[string]rule{"todisk": boolean(), "statestorage": text()}),
		power("resume", pauseCall("qmresume", func(g *guest) { g.paused = false }), map[string]rule{"nocheck": boolean()}),
	}
}

func typePrefix(kind Kind) string {
	if kind == LXC {
		return "vz"
	}
	return "qm"
}

// startCall answers with a task whatever the state of a VM; a running container is refused at once.
func startCall(kind Kind) func(*call) (reply, error) {
	return func(c *call) (reply, error) {
		if rep, managed, err := c.haCall("hastart", "start", "started"); managed {
			return rep, err
		}
		if err := c.refuseContainer(kind, func(g *guest) error {
			if g.running {
				return die("CT %d already running", g.vmid)
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

// refuseContainer runs a check before the task, which only containers have. A container that is missing is left to the task.
func (c *call) refuseContainer(kind Kind, check func(*guest) error) error {
	if kind != LXC {
		return nil
	}
	return c.sim.locked(func() error {
		g, err := c.ct()
		if err != nil {
			return nil //nolint:nilerr // Proxmox finds out in the task
		}
		return check(g)
	})
}

func (t *task) startVM(node string, vmid int) error {
	return t.withLock(QEMU, vmid, func() error {
		if err := t.locked(func() error { return t.mayStart(node, vmid) }); err != nil {
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
			if g.conf.values["lock"] == "suspended" {
				t.wake(g)
				return nil
			}
			t.sim.applyPending(g)
			if err := t.checkStart(g); err != nil {
				return err
			}
			t.generateCloudInit(g)
			t.sim.run(g)
			return nil
		})
	})
}

func (t *task) mayStart(node string, vmid int) error {
	g, err := t.sim.find(QEMU, node, vmid)
	if err != nil {
		return err
	}
	if g.isTemplate() {
		return die("you can't start a vm if it's a template")
	}
	if g.conf.values["lock"] == "suspended" {
		return nil
	}
	if err := g.checkLock(); err != nil {
		return err
	}
	if g.running {
		return die("VM %d already running", vmid)
	}
	return nil
}

// checkStart refuses what QEMU or its set-up would, and warns of what it would ignore.
func (t *task) checkStart(g *guest) error {
	v := g.conf.values
	if err := t.sim.checkVolumes(g); err != nil {
		return err
	}
	if r := t.sim.rowOf(g); r.cpus > int64(t.sim.opts.CPUs) {
		return die("MAX %d vcpus allowed per VM on this node", t.sim.opts.CPUs)
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
			return die("bridge '%s' does not exist", n["bridge"])
		}
	}
	if vmMemory(v)*mib > t.sim.opts.Memory {
		t.printf("kvm: cannot set up guest memory 'pc.ram': Cannot allocate memory")
		return die("start failed: QEMU exited with code 1")
	}
	return nil
}

// checkVolumes refuses to start on a volume that is gone.
func (s *Sim) checkVolumes(g *guest) error {
	for _, slot := range diskSlots(g.kind, g.conf.values) {
		d, err := parseDisk(g.kind, slot, g.conf.values[slot])
		if err == nil && volumeID.MatchString(d.file()) && s.volume(d.file()) == nil {
			return die("volume '%s' does not exist", d.file())
		}
	}
	return nil
}

// generateCloudInit writes the cloud-init image, after which its drive shows a size.
func (t *task) generateCloudInit(g *guest) {
	for _, slot := range diskSlots(QEMU, g.conf.values) {
		d, err := parseDrive(slot, g.conf.values[slot])
		if err != nil || !d.isCloudInit() {
			continue
		}
		t.printf("generating cloud-init ISO")
		if d.values["size"] == "" {
			g.edit(func(conf *config) { conf.values[slot] = d.with(d.file(), 4*mib).text() })
		}
	}
}

// run makes a guest running. The state is locked.
func (s *Sim) run(g *guest) {
	s.nextPID++
	g.running, g.paused, g.startedAt, g.pid = true, false, time.Now(), s.nextPID
	s.effect(g.vmid, Started)
}

// halt makes a guest stopped and applies what waited for that. The state is locked.
func (s *Sim) halt(g *guest) {
	g.running, g.paused = false, false
	s.effect(g.vmid, Stopped)
	if g.kind == QEMU {
		s.applyPending(g)
	}
}

func stopCall(kind Kind) func(*call) (reply, error) {
	return func(c *call) (reply, error) {
		if rep, managed, err := c.haCall("hastop", "stop", "stopped"); managed {
			return rep, err
		}
		if err := c.refuseContainer(kind, mustRun); err != nil {
			return reply{}, err
		}
		return c.start(typePrefix(kind)+"stop", c.vmid(), func(t *task) error {
			if c.is("overrule-shutdown") {
				t.overruleShutdown(kind, c.vmid())
			}
			return t.onGuest(kind, c.vmid(), func() error {
				g, err := c.taskGuest(kind)
				if err != nil {
					return err
				}
				if err := g.checkLock(); err != nil {
					return err
				}
				if g.running {
					c.sim.halt(g)
				}
				return nil
			})
		})
	}
}

// taskGuest finds the guest inside a stop or shutdown task, whose text for a missing VM is its own.
func (c *call) taskGuest(kind Kind) (*guest, error) {
	g, err := c.sim.find(kind, c.node(), c.vmid())
	if err != nil && kind == QEMU {
		return nil, die("unable to find configuration file for VM %d on node '%s'", c.vmid(), c.node())
	}
	return g, err
}

func mustRun(g *guest) error {
	if !g.running {
		return die("%s %d not running", g.label(), g.vmid)
	}
	return nil
}

// overruleShutdown ends the shutdown tasks of a guest, so that a stop need not wait for them.
func (t *task) overruleShutdown(kind Kind, vmid int) {
	typ := typePrefix(kind) + "shutdown"
	_ = t.locked(func() error {
		var names []string
		for _, o := range t.sim.tasks {
			if o.vmid == vmid && o.ended.IsZero() && o.upid.typ == typ {
				o.stop.Do(func() { close(o.abort) })
				names = append(names, o.name)
			}
		}
		if len(names) > 0 {
			t.printf("overruled %s tasks: %s", typ, strings.Join(names, ", "))
		}
		return nil
	})
}

func shutdownCall(kind Kind) func(*call) (reply, error) {
	return func(c *call) (reply, error) {
		if rep, managed, err := c.haCall("hastop", "stop", "stopped"); managed {
			return rep, err
		}
		if err := c.refuseContainer(kind, mustRun); err != nil {
			return reply{}, err
		}
		return c.start(typePrefix(kind)+"shutdown", c.vmid(), func(t *task) error {
			return t.withLock(kind, c.vmid(), func() error { return t.shutdown(c, kind) })
		})
	}
}

const defaultShutdownTimeout = 60 * time.Second

// shutdown asks the guest to go. One that does not listen keeps the task, and with it the guest's lock, for the whole timeout.
func (t *task) shutdown(c *call, kind Kind) error {
	var deaf bool
	err := t.locked(func() error {
		g, err := c.taskGuest(kind)
		if err != nil {
			return err
		}
		deaf = g.deaf && g.running
		if g.paused {
			return die("VM is paused - cannot shutdown")
		}
		return g.checkLock()
	})
	if err != nil {
		return err
	}
	if err := t.work(1); err != nil {
		return err
	}
	if deaf {
		if err := t.outlast(c); err != nil {
			return err
		}
	}
	return t.locked(func() error {
		g, err := c.taskGuest(kind)
		if err == nil && g.running {
			c.sim.halt(g)
		}
		return err
	})
}

// outlast waits for the timeout of a guest that ignores the request; nil means to use force.
func (t *task) outlast(c *call) error {
	_ = t.locked(func() error {
		if a, err := agentFormat.parse("agent", t.sim.guests[c.vmid()].conf.values["agent"]); err == nil && a["enabled"] == "1" {
			t.printf("QEMU Guest Agent is not running - VM %d qga command 'guest-ping' failed - got timeout", c.vmid())
		}
		return nil
	})
	limit := defaultShutdownTimeout
	if s := c.params["timeout"]; s != "" {
		limit = time.Duration(atoi(s)) * time.Second
	}
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-t.abort:
		return errInterrupted
	case <-t.sim.closed:
		return errClosed
	}
	if c.is("forceStop") {
		return t.locked(func() error { t.printf("VM still running - terminating now with SIGTERM"); return nil })
	}
	return die("VM quit/powerdown failed - got timeout")
}

// rebootCall shuts down in its task; the start of a VM afterwards is another task, by root@pam.
func rebootCall(kind Kind) func(*call) (reply, error) {
	return func(c *call) (reply, error) {
		err := c.sim.locked(func() error {
			g, err := c.sim.find(kind, c.node(), c.vmid())
			if err != nil {
				return err
			}
			return mustRun(g)
		})
		if err != nil {
			return reply{}, err
		}
		return c.start(typePrefix(kind)+"reboot", c.vmid(), func(t *task) error {
			if err := t.withLock(kind, c.vmid(), func() error { return t.shutdown(c, kind) }); err != nil {
				return err
			}
			if kind == LXC {
				return t.startCT(c.node(), c.vmid())
			}
			c.sim.spawn(c.node(), "qmstart", itoa(c.vmid()), c.vmid(), "root@pam", nil,
				func(t *task) error { return t.startVM(c.node(), c.vmid()) })
			return nil
		})
	}
}

// pauseCall is for what needs a running VM and changes little: reset, suspend, resume.
func pauseCall(typ string, change func(*guest)) func(*call) (reply, error) {
	return func(c *call) (reply, error) {
		err := c.sim.locked(func() error {
			g, err := c.vm()
			if err != nil {
				return err
			}
			return mustRun(g)
		})
		if err != nil {
			return reply{}, err
		}
		if c.is("todisk") {
			return hibernate(c)
		}
		return c.start(typ, c.vmid(), func(t *task) error {
			return t.onGuest(QEMU, c.vmid(), func() error {
				g, err := c.taskGuest(QEMU)
				if err != nil {
					return err
				}
				if err := mustRun(g); err != nil {
					return err
				}
				change(g)
				return nil
			})
		})
	}
}
