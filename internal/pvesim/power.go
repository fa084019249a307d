package pvesim

import (
	"maps"
	"net/http"
)

func qemuPowerRoutes() []*route {
	power := func(op string, f func(*call) (reply, error), extra map[string]rule) *route {
		rules := map[string]rule{"skiplock": boolean(), "timeout": integer().atLeast(0)}
		maps.Copy(rules, extra)
		return writeRoute(http.MethodPost, vmPath+"/status/"+op, f).withParams(rules).withGuestPrivilege("VM.PowerMgmt")
	}
	return []*route{
		readRoute(vmPath+"/status/current", currentStatus(QEMU)).withGuestPrivilege("VM.Audit").needsRoot(),
		power("start", startCall(QEMU), map[string]rule{"machine": text(), "force-cpu": text(), "migratedfrom": text(), "stateuri": text(), "targetstorage": text()}),
		power("stop", stopCall(QEMU), map[string]rule{"keepActive": boolean(), "migratedfrom": text(), "overrule-shutdown": boolean()}),
		power("shutdown", shutdownCall(QEMU), map[string]rule{"forceStop": boolean(), "keepActive": boolean()}),
		power("reboot", rebootCall(QEMU), nil),
		power("reset", pauseCall("qmreset", Reset, resetVM), nil),
		power("suspend", pauseCall("qmpause", Paused, suspendVM), map[string]rule{"todisk": boolean(), "statestorage": text()}),
		power("resume", pauseCall("qmresume", Resumed, resumeVM), map[string]rule{"nocheck": boolean()}),
	}
}

// markStopped marks a guest as stopped. A VM then applies its pending changes. The state is locked.
func (s *Sim) markStopped(g *guest) {
	g.running, g.paused, g.movedTo, g.postmigrate = false, false, "", false
	s.countEffect(g.vmid, Stopped)
	if g.kind == QEMU && s.isQuorate(g.node) {
		s.applyPending(g)
	}
}

func stopCall(kind Kind) func(*call) (reply, error) {
	return func(c *call) (reply, error) {
		if err := c.refuseRootOptions("skiplock", "keepActive", "migratedfrom"); err != nil {
			return reply{}, err
		}
		if err := c.checkContainer(kind, checkRunning); err != nil {
			return reply{}, err
		}
		if rep, managed, err := c.haStop(0); managed {
			return rep, err
		}
		return c.start(typePrefix(kind)+"stop", c.vmid(), func(t *task) error {
			if c.flag("overrule-shutdown") {
				t.overruleShutdown(kind, c.vmid())
			}
			return t.runOnGuest(kind, c.vmid(), func() error {
				g, err := c.findForTask(kind)
				if err != nil {
					return err
				}
				if !g.running {
					return nil
				}
				if err := g.checkLock(); err != nil {
					return err
				}
				c.sim.markStopped(g)
				return nil
			})
		})
	}
}

// findForTask returns the guest inside a stop or shutdown task, where the error text for a missing VM differs.
func (c *call) findForTask(kind Kind) (*guest, error) {
	g, err := c.sim.find(kind, c.node(), c.vmid())
	if err != nil && kind == QEMU {
		return nil, apiErrorf("unable to find configuration file for VM %d on node '%s'", c.vmid(), c.node())
	}
	return g, err
}

func checkRunning(g *guest) error {
	if !g.running {
		return apiErrorf("%s %d not running", g.label(), g.vmid)
	}
	return nil
}

// refuseRootOptions rejects the given parameters unless the caller is root@pam itself.
func (c *call) refuseRootOptions(names ...string) error {
	for _, name := range names {
		if v := c.params[name]; v != "" && v != "0" && !c.isRoot() {
			return paramError(name, "Only root may use this option.")
		}
	}
	return nil
}

// pauseCall returns the handler of reset, suspend or resume. They need a running VM. A resume starts a hibernated VM.
func pauseCall(typ string, effect Op, change func(*guest) error) func(*call) (reply, error) {
	return func(c *call) (reply, error) {
		if err := c.refuseRootOptions("skiplock", "nocheck"); err != nil {
			return reply{}, err
		}
		hibernated := false
		err := c.sim.locked(func() error {
			g, err := c.findForTask(QEMU)
			if err != nil {
				return err
			}
			if hibernated = typ == "qmresume" && g.conf.Values["lock"] == "suspended"; hibernated {
				return nil
			}
			return checkRunning(g)
		})
		switch {
		case err != nil:
			return reply{}, err
		case c.flag("todisk"):
			return hibernate(c)
		case hibernated:
			return c.start(typ, c.vmid(), func(t *task) error { return t.startVM(c.node(), c.vmid()) })
		}
		return c.start(typ, c.vmid(), func(t *task) error {
			return t.runOnGuest(QEMU, c.vmid(), func() error {
				g, err := c.findForTask(QEMU)
				if err != nil {
					return err
				}
				if err := checkRunning(g); err != nil {
					return err
				}
				if err := change(g); err != nil {
					return err
				}
				c.sim.countEffect(g.vmid, effect)
				return nil
			})
		})
	}
}

// resetVM restarts the machine. A paused VM stays stopped before its first instruction.
func resetVM(g *guest) error {
	if err := g.checkLock(); err != nil {
		return err
	}
	g.prelaunch, g.seed = g.paused, g.drive
	return nil
}

func suspendVM(g *guest) error {
	if err := g.checkLockExcept("backup"); err != nil {
		return err
	}
	g.paused = true
	return nil
}

func resumeVM(g *guest) error {
	if !g.paused {
		return nil
	}
	if err := g.checkLockExcept("backup"); err != nil {
		return err
	}
	g.paused, g.prelaunch = false, false
	return nil
}
