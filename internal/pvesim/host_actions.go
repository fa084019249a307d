package pvesim

import (
	"fmt"
	"time"
)

// Edit changes one key of a guest's config behind the API's back, as "qm set" or an editor does: no lock is taken, nothing is
// normalised, no privilege asked, a running guest notices nothing, and no effect is counted. An empty value removes the key.
func (s *Sim) Edit(vmid int, key, value string) error {
	return s.EditConfig(vmid, func(v map[string]string) {
		if value == "" {
			delete(v, key)
		} else {
			v[key] = value
		}
	})
}

// EditConfig changes the current section of a guest's config behind the API's back.
func (s *Sim) EditConfig(vmid int, change func(map[string]string)) error {
	return s.locked(func() error {
		g := s.guests[vmid]
		if g == nil {
			return fmt.Errorf("edit guest %d: no such guest", vmid)
		}
		g.edit(func(c *config) { change(c.values) })
		return nil
	})
}

// SetRunning turns a guest on or off behind the API's back. Pending changes of a VM that stops are applied, as its cleanup does.
func (s *Sim) SetRunning(vmid int, running bool) error {
	return s.locked(func() error {
		g := s.guests[vmid]
		if g == nil {
			return fmt.Errorf("set running state of guest %d: no such guest", vmid)
		}
		switch {
		case running && !g.running:
			s.markRunning(g)
		case !running && g.running:
			s.markStopped(g)
		}
		return nil
	})
}

// RestartInside reboots a running guest from within, as its own operating system does: the process of a VM survives, so nothing that is
// pending is applied and no effect is counted. A container that restarts itself takes its pending changes.
func (s *Sim) RestartInside(vmid int) error {
	return s.locked(func() error {
		g := s.guests[vmid]
		if g == nil || !g.running {
			return fmt.Errorf("restart guest %d: it does not run", vmid)
		}
		if g.kind == QEMU {
			return nil
		}
		g.startedAt = time.Now()
		if !g.conf.hasPending() {
			return nil
		}
		conf := g.conf.clone()
		g.running = false
		defer func() { g.running = true }()
		if err := s.applyCT(g, conf); err != nil {
			return fmt.Errorf("restart guest %d: %w", vmid, err)
		}
		g.write(conf)
		return nil
	})
}

// IgnoreShutdown makes a guest deaf to shutdown requests, as one that is still booting is.
func (s *Sim) IgnoreShutdown(vmid int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	g := s.guests[vmid]
	if g == nil {
		return fmt.Errorf("make guest %d ignore shutdown: no such guest", vmid)
	}
	g.unresponsive = true
	return nil
}

// RemoveGuest deletes a guest and its volumes behind the API's back, as "qm destroy" on the host does.
func (s *Sim) RemoveGuest(vmid int) error {
	return s.locked(func() error {
		if s.guests[vmid] == nil {
			return fmt.Errorf("remove guest %d: no such guest", vmid)
		}
		for _, v := range s.volumesOf(vmid) {
			s.free(v.ID, freedOnHost)
		}
		delete(s.guests, vmid)
		s.removeFromPool(vmid)
		return nil
	})
}

// LockGuest takes the lock of a guest's config as a command on the host does, waiting for nobody: it fails when the lock is taken.
// Calls that need the lock wait for LockTimeout and fail.
func (s *Sim) LockGuest(vmid int) (unlock func(), err error) {
	l := s.lockOf(vmid)
	select {
	case l <- struct{}{}:
		return func() { <-l }, nil
	default:
		return nil, fmt.Errorf("lock guest %d: the lock is taken", vmid)
	}
}
