package pvesim

import (
	"fmt"
	"strings"
	"time"
)

// Edit changes one key of a guest's config without the API, as "qm set" or an editor does. It takes no lock, normalizes nothing, checks
// no privilege, does not affect the running guest and counts no effect. An empty value removes the key. It returns an error if the guest
// does not exist.
func (s *Sim) Edit(vmid int, key, value string) error {
	return s.EditConfig(vmid, func(v map[string]string) {
		if value == "" {
			delete(v, key)
		} else {
			v[key] = value
		}
	})
}

// EditConfig changes the current section of a guest's config without the API. It returns an error if the guest does not exist.
func (s *Sim) EditConfig(vmid int, change func(map[string]string)) error {
	return s.locked(func() error {
		g := s.guests[vmid]
		if g == nil {
			return fmt.Errorf("edit guest %d: the guest does not exist", vmid)
		}
		g.edit(func(c *config) { change(c.Values) })
		return nil
	})
}

// EditFile replaces the text of a guest's config file without the API, as an editor does: it can change pending values and snapshots. It returns an
// error if the guest does not exist.
func (s *Sim) EditFile(vmid int, change func(text string) string) error {
	return s.locked(func() error {
		g := s.guests[vmid]
		if g == nil {
			return fmt.Errorf("edit guest %d: the guest does not exist", vmid)
		}
		g.setText(change(g.text))
		return nil
	})
}

// SetRunning starts or stops a guest without the API. Stopping a VM applies its pending changes, as Proxmox's cleanup does. It returns
// an error if the guest does not exist.
func (s *Sim) SetRunning(vmid int, running bool) error {
	return s.locked(func() error {
		g := s.guests[vmid]
		if g == nil {
			return fmt.Errorf("set running state of guest %d: the guest does not exist", vmid)
		}
		switch {
		case running && !g.running:
			if err := s.generateCloudInit(g, func(string, ...any) {}); err != nil {
				return err
			}
			s.markRunning(g)
			g.seed = g.drive
		case !running && g.running:
			s.markStopped(g)
		}
		return nil
	})
}

// RestartInside reboots a running guest from its own operating system. The process of a VM survives, so no pending change is applied and
// no effect is counted. A container applies its pending changes. It returns an error if the guest does not run.
func (s *Sim) RestartInside(vmid int) error {
	return s.locked(func() error {
		g := s.guests[vmid]
		if g == nil || !g.running {
			return fmt.Errorf("restart guest %d: the guest does not run", vmid)
		}
		if g.kind == QEMU {
			g.seed = g.drive
			return nil
		}
		s.nextPID++
		g.startedAt, g.pid = time.Now(), s.nextPID
		g.processSince = g.startedAt
		if !g.conf.HasPending() {
			return nil
		}
		conf := g.conf.Clone()
		g.running = false
		defer func() { g.running = true }()
		if err := s.applyCT(g, conf); err != nil {
			return fmt.Errorf("restart guest %d: %w", vmid, err)
		}
		g.write(conf)
		return nil
	})
}

// IgnoreShutdown makes a guest ignore shutdown requests, as a guest that is still booting does. Its agent does not answer either.
func (s *Sim) IgnoreShutdown(vmid int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	g := s.guests[vmid]
	if g == nil {
		return fmt.Errorf("make guest %d ignore shutdown: the guest does not exist", vmid)
	}
	g.unresponsive = true
	return nil
}

// RemoveGuest deletes a guest and its volumes without the API, as "qm destroy" on the host does. It returns an error if the guest does
// not exist.
func (s *Sim) RemoveGuest(vmid int) error {
	return s.locked(func() error {
		if s.guests[vmid] == nil {
			return fmt.Errorf("remove guest %d: the guest does not exist", vmid)
		}
		for _, v := range s.volumesOf(vmid) {
			s.free(v.ID, freedOnHost)
		}
		delete(s.guests, vmid)
		delete(s.firewalls, guestFirewall(vmid))
		s.removeFromPool(vmid)
		return nil
	})
}

// PurgeGuest is RemoveGuest with the option purge: the guest is taken out of all backup jobs, and a job whose last guest it was is removed.
func (s *Sim) PurgeGuest(vmid int) error {
	if err := s.RemoveGuest(vmid); err != nil {
		return err
	}
	return s.locked(func() error { s.dropFromBackupJobs(vmid); return nil })
}

// LockGuest takes the lock of a guest's config without waiting, as a command on the host does. It returns an error if the lock is taken.
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

// RemoveVolume removes a volume, as an administrator does with rm on the node.
func (s *Sim) RemoveVolume(id string) error {
	return s.locked(func() error {
		if s.volume(id) == nil {
			return fmt.Errorf("remove volume %s: it does not exist", id)
		}
		st, name, _ := strings.Cut(id, ":")
		delete(s.storage(st).volumes, name)
		return nil
	})
}
