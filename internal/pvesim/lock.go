package pvesim

import "time"

// guestLock is the lock file of a guest's config: one holder, the others wait.
type guestLock chan struct{}

func (s *Sim) lockOf(vmid int) guestLock {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.locks[vmid]
	if l == nil {
		l = make(guestLock, 1)
		s.locks[vmid] = l
	}
	return l
}

// lockPath returns the path of the lock file as error texts print it.
func lockPath(kind Kind, vmid int) string {
	if kind == LXC {
		return "/run/lock/lxc/pve-config-" + itoa(vmid) + ".lock"
	}
	return "/var/lock/qemu-server/lock-" + itoa(vmid) + ".conf"
}

// acquire takes a guest's lock. If the lock is taken, it calls waiting once and waits up to Options.LockTimeout.
func (s *Sim) acquire(kind Kind, vmid int, abort <-chan struct{}, waiting func()) (release func(), err error) {
	l := s.lockOf(vmid)
	release = func() { <-l }
	select {
	case l <- struct{}{}:
		return release, nil
	default:
	}
	waiting()
	t := time.NewTimer(s.opts.LockTimeout)
	defer t.Stop()
	select {
	case l <- struct{}{}:
		return release, nil
	case <-t.C:
		return nil, apiErrorf("can't lock file '%s' - got timeout", lockPath(kind, vmid))
	case <-abort:
		return nil, errInterrupted
	case <-s.closed:
		return nil, errClosed
	}
}

// withStorageLock runs f while the task holds the lock of a storage, so allocations on one storage run one after the other.
func (t *task) withStorageLock(id string, f func() error) error {
	t.sim.mu.Lock()
	st := t.sim.storage(id)
	t.sim.mu.Unlock()
	select {
	case st.lock <- struct{}{}:
	default:
		t.logLine("trying to acquire lock...")
		select {
		case st.lock <- struct{}{}:
		case <-t.abort:
			return t.interrupted()
		case <-t.sim.closed:
			return errClosed
		}
		t.logLine(" OK")
	}
	defer func() { <-st.lock }()
	if err := t.sleepShare(0.1); err != nil {
		return err
	}
	return f()
}

// withGuestLock runs f with a guest's lock held and the state locked, as a synchronous write does.
func (s *Sim) withGuestLock(kind Kind, vmid int, f func() error) error {
	release, err := s.acquire(kind, vmid, nil, func() {})
	if err != nil {
		return err
	}
	defer release()
	return s.locked(func() error {
		if w := s.writers[vmid]; w != "" {
			s.addViolation("guest %d has two writers: %s and a call", vmid, w)
		}
		return f()
	})
}
