package pvesim

import (
	"strings"
	"time"
)

// overruleShutdown aborts the shutdown tasks of a guest, so that a stop does not wait for them. They have ended when the stop takes the lock.
func (t *task) overruleShutdown(kind Kind, vmid int) {
	typ := typePrefix(kind) + "shutdown"
	var names []string
	var running []*task
	_ = t.locked(func() error {
		for _, o := range t.sim.tasks {
			if o.vmid == vmid && o.ended.IsZero() && o.upid.typ == typ {
				running = append(running, o)
				names = append(names, o.name)
			}
		}
		if len(names) > 0 {
			t.printf("overruled %s tasks: %s", typ, strings.Join(names, ", "))
		}
		return nil
	})
	for _, o := range running { // one after the other, so that the next one gets the lock before its own signal
		o.abortOnce.Do(func() { close(o.abort) })
		t.sim.wait(killDelay)
	}
}

// killDelay is the time between a worker's signal and its end.
const killDelay = time.Millisecond

func shutdownCall(kind Kind) func(*call) (reply, error) {
	return func(c *call) (reply, error) {
		if err := c.refuseRootOptions("skiplock", "keepActive"); err != nil {
			return reply{}, err
		}
		if err := c.sim.locked(func() error { return c.checkPaused(kind) }); err != nil {
			return reply{}, err
		}
		if rep, managed, err := c.haStop(c.shutdownTimeout()); managed {
			return rep, err
		}
		if err := c.checkContainer(kind, checkRunning); err != nil {
			return reply{}, err
		}
		return c.start(typePrefix(kind)+"shutdown", c.vmid(), func(t *task) error {
			return t.withGuestLock(kind, c.vmid(), func() error { return t.shutdown(c, kind) })
		})
	}
}

// checkPaused rejects the shutdown of a paused VM: it would shut down when it is resumed, perhaps much later. With forceStop it is stopped.
// The state is locked.
func (c *call) checkPaused(kind Kind) error {
	g, err := c.sim.find(kind, c.node(), c.vmid())
	if err != nil || !g.paused || c.flag("forceStop") {
		return nil //nolint:nilerr // the task reports a missing guest
	}
	return apiErrorf("VM is paused - cannot shutdown")
}

const defaultShutdownTimeout = 60 * time.Second

// shutdown requests a shutdown from the guest. A guest that ignores the request blocks the task, and with it the guest's lock, for the whole
// timeout.
func (t *task) shutdown(c *call, kind Kind) error {
	var ignores bool
	err := t.locked(func() error {
		g, err := c.findForTask(kind)
		if err != nil {
			return err
		}
		ignores = g.unresponsive && g.running && !g.paused
		if !g.running {
			return nil
		}
		return g.checkLock()
	})
	if err != nil {
		return err
	}
	if err := t.work(1); err != nil {
		return err
	}
	if ignores {
		if err := t.waitShutdownTimeout(c, kind); err != nil {
			return err
		}
	}
	return t.locked(func() error {
		g, err := c.findForTask(kind)
		if err == nil && g.running {
			c.sim.markStopped(g)
		}
		return err
	})
}

// pingDelay is the time that an agent has to answer a ping, overruleDelay the time until an interrupted shutdown is killed.
const (
	pingDelay     = 3 * time.Second
	overruleDelay = 5 * time.Second
)

// pingSilentAgent waits for the agent of a guest that ignores the request, if the guest's config has one. A shutdown that is overruled meanwhile
// goes on until it is killed.
func (t *task) pingSilentAgent(c *call) error {
	enabled := false
	_ = t.locked(func() error {
		a, err := agentFormat.parse("agent", t.sim.guests[c.vmid()].conf.Values["agent"])
		enabled = err == nil && a["enabled"] == "1"
		return nil
	})
	if !enabled {
		return nil
	}
	timer := time.NewTimer(pingDelay)
	defer timer.Stop()
	select {
	case <-timer.C:
		t.logLine("QEMU Guest Agent is not running - VM %d qga command 'guest-ping' failed - got timeout", c.vmid())
		return nil
	case <-t.abort:
		t.logLine("QEMU Guest Agent is not running - received interrupt")
		t.sim.wait(overruleDelay)
		return errKilled
	case <-t.sim.closed:
		return errClosed
	}
}

// waitShutdownTimeout waits for the timeout of a guest that ignores the request. It returns nil if the guest is then stopped by force, as a container always is that
// shall start again.
//
// Source: PVE::QemuServer _do_vm_stop; PVE::LXC vm_stop and vm_reboot.
func (t *task) waitShutdownTimeout(c *call, kind Kind) error {
	if err := t.pingSilentAgent(c); err != nil {
		return err
	}
	limit := defaultShutdownTimeout
	if s := c.params["timeout"]; s != "" {
		limit = time.Duration(atoi(s)) * time.Second
	}
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-t.abort:
		return t.interrupted()
	case <-t.sim.closed:
		return errClosed
	}
	switch restarts := strings.HasSuffix(c.path, "/reboot"); {
	case kind == LXC && (restarts || c.flag("forceStop")):
		return nil
	case kind == LXC:
		return apiErrorf("container did not stop")
	case c.flag("forceStop"):
		return t.locked(func() error { t.printf("VM still running - terminating now with SIGTERM"); return nil })
	}
	return apiErrorf("VM quit/powerdown failed - got timeout")
}

// rebootCall returns the handler of reboot. Its task shuts the guest down; a VM is then started by another task, of root@pam.
func rebootCall(kind Kind) func(*call) (reply, error) {
	return func(c *call) (reply, error) {
		err := c.sim.locked(func() error {
			if err := c.checkPaused(kind); err != nil {
				return err
			}
			g, err := c.sim.find(kind, c.node(), c.vmid())
			if err != nil {
				return err
			}
			return checkRunning(g)
		})
		if err != nil {
			return reply{}, err
		}
		return c.start(typePrefix(kind)+"reboot", c.vmid(), func(t *task) error {
			if err := t.withGuestLock(kind, c.vmid(), func() error { return t.shutdown(c, kind) }); err != nil {
				return err
			}
			if kind == LXC {
				return t.startCT(c.node(), c.vmid())
			}
			return c.startAfterReboot()
		})
	}
}

// startAfterReboot starts a VM in a separate task and does not wait for its end.
func (c *call) startAfterReboot() error {
	var startFault *Fault
	if c.fault != nil && c.fault.Kind == StaysDown {
		if c.fault.Text == "" {
			return nil
		}
		startFault = &Fault{Kind: TaskFails, Text: c.fault.Text}
	}
	c.sim.spawn(c.node(), "qmstart", itoa(c.vmid()), c.vmid(), "root@pam", startFault,
		func(t *task) error { return t.startVM(c.node(), c.vmid()) })
	return nil
}
