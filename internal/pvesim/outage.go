package pvesim

import (
	"slices"
	"time"
)

// LoseQuorum leaves the cluster without a majority: reads go on, what needs /etc/pve to be writable is refused.
func (s *Sim) LoseQuorum() { s.setQuorum(false) }

// RegainQuorum ends LoseQuorum.
func (s *Sim) RegainQuorum() { s.setQuorum(true) }

func (s *Sim) setQuorum(quorate bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.noQuorum = !quorate
}

// StopNode makes a node unreachable: calls for it answer 595. Its guests stay in the inventory as last seen, without a run state or a
// name after five minutes; those under HA are recovered on another node when the manager has fenced it.
func (s *Sim) StopNode(name string) {
	s.mu.Lock()
	stopped := s.hasNode(name) && !slices.Contains(s.down, name)
	if stopped {
		s.broadcast() // its last round
		s.down = append(s.down, name)
		s.downSince[name] = time.Now()
	}
	s.mu.Unlock()
	if stopped {
		s.fence(name)
	}
}

// StartNode ends StopNode.
func (s *Sim) StartNode(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.down = slices.DeleteFunc(s.down, func(n string) bool { return n == name })
}

// RebootNode switches a node off and on again: its workers die without a last word, its guests stop, and after the given time those with
// onboot are started by a task of root@pam.
func (s *Sim) RebootNode(name string, takes time.Duration) {
	s.StopNode(name)
	_ = s.locked(func() error {
		for _, t := range s.tasks {
			if t.upid.node == name && t.ended.IsZero() {
				t.kill()
			}
		}
		for _, g := range s.guests {
			if g.node == name && g.running {
				g.running, g.paused = false, false
				s.countEffect(g.vmid, Stopped)
			}
		}
		return nil
	})
	s.afterDelay(takes, func() {
		s.StartNode(name)
		s.startAll(name)
		_ = s.locked(func() error {
			for id, h := range s.ha {
				if g := s.guests[id]; g != nil && g.node == name {
					s.scheduleHA(h)
				}
			}
			return nil
		})
	})
}

// startAll starts what is marked for it, in order of the vmid.
func (s *Sim) startAll(node string) {
	s.spawn(node, "startall", "", 0, "root@pam", nil, func(t *task) error {
		t.sim.mu.Lock()
		var boot []*guest
		for _, id := range s.vmids() {
			if g := s.guests[id]; g.node == node && g.conf.values["onboot"] == "1" && s.ha[id] == nil {
				boot = append(boot, g)
			}
		}
		t.sim.mu.Unlock()
		for _, g := range boot {
			s.haStartOrShutdown(g, true)
		}
		return nil
	})
}

// requireQuorum refuses calls that begin by asking for a quorate cluster. The state is locked.
func (c *call) requireQuorum() error {
	if c.sim.noQuorum {
		return apiErrorf("cluster not ready - no quorum?")
	}
	return nil
}

// checkWritable refuses to write a config file while the cluster file system is read-only. The state is locked.
func (s *Sim) checkWritable(g *guest) error {
	if s.noQuorum {
		return apiErrorf("unable to open file '/etc/pve/%s.tmp.%d' - Permission denied", configPath(g.kind, g.node, g.vmid), s.nextPID)
	}
	return nil
}

// checkClusterLock refuses to change a file that all nodes share, such as the one of the pools. The state is locked.
func (c *call) checkClusterLock(what, file string) error {
	if c.sim.noQuorum {
		return apiErrorf("%scfs-lock '%s' error: no quorum!", what, file)
	}
	return nil
}
