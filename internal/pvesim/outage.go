package pvesim

import (
	"slices"
	"time"
)

// LoseQuorum takes the majority from the cluster: the first node, which answers, no longer sees the other nodes. Reads work, also of their guests,
// and calls that need a writable /etc/pve fail.
func (s *Sim) LoseQuorum() { s.setQuorum(false) }

// RegainQuorum ends LoseQuorum.
func (s *Sim) RegainQuorum() { s.setQuorum(true) }

func (s *Sim) setQuorum(quorate bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.noQuorum = !quorate
}

// isOnline reports whether the node that answers sees another node as a member. The state is locked.
func (s *Sim) isOnline(name string) bool {
	return !slices.Contains(s.down, name) && (!s.noQuorum || name == s.opts.Nodes[0])
}

// StopNode makes a node unreachable: calls for it answer 595. The inventory shows its guests as last seen, and after five minutes without
// run state and name. Its managed guests are recovered on another node after the manager has fenced the node.
func (s *Sim) StopNode(name string) {
	s.mu.Lock()
	stopped := s.hasNode(name) && !slices.Contains(s.down, name)
	if stopped {
		s.broadcast() // the node's last round
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

// bootedAt returns when a node was booted. Its uptime counts from then and does not depend on its clock. The state is locked.
func (s *Sim) bootedAt(node string) time.Time {
	if at, again := s.reboots[node]; again {
		return at
	}
	return s.bootTime
}

// sinceBoot returns a function that reports whether the node of a call was booted again since. A call that waits in a node dies with it.
func (s *Sim) sinceBoot(c *call) (again func() bool) {
	booted := func() time.Time {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.bootedAt(c.node())
	}
	was := booted()
	return func() bool { return booted() != was }
}

// proxyStarts is how long after the cluster counts a booted node as a member its proxy begins to listen, as in recording 75.
const proxyStarts = 1500 * time.Millisecond

// RebootNode stops a node and starts it again after the time takes. Its running tasks end as killed, the calls that wait in it are lost, and its guests
// stop. After the start, calls for it answer 595 until its proxy listens, and a task of root@pam starts the guests that have onboot.
func (s *Sim) RebootNode(name string, takes time.Duration) {
	s.StopNode(name)
	_ = s.locked(func() error {
		s.reboots[name] = time.Now() // calls that wait in it end now; its uptime is not shown before the start
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
		_ = s.locked(func() error {
			s.reboots[name] = time.Now()
			s.starting = append(s.starting, name)
			return nil
		})
		s.startAll(name)
		s.afterDelay(proxyStarts, func() {
			_ = s.locked(func() error {
				s.starting = slices.DeleteFunc(s.starting, func(n string) bool { return n == name })
				return nil
			})
		})
	})
}

// startAll starts the guests of a node that have onboot and are not managed, in order of their vmids.
func (s *Sim) startAll(node string) {
	s.spawn(node, "startall", "", 0, "root@pam", nil, func(t *task) error {
		t.sim.mu.Lock()
		var boot []*guest
		for _, id := range s.vmids() {
			if g := s.guests[id]; g.node == node && g.conf.Values["onboot"] == "1" && s.ha[id] == nil {
				boot = append(boot, g)
			}
		}
		t.sim.mu.Unlock()
		for _, g := range boot {
			s.haStartOrShutdown(g, true, nil)
		}
		return nil
	})
}

// requireQuorum rejects calls that check the quorum first. The state is locked.
func (c *call) requireQuorum() error {
	if c.sim.noQuorum {
		return apiErrorf("cluster not ready - no quorum?")
	}
	return nil
}

// checkWritable returns an error if the cluster file system is read-only, so that no config file can be written. The state is locked.
func (s *Sim) checkWritable(g *guest) error {
	if s.noQuorum {
		return apiErrorf("unable to open file '/etc/pve/%s.tmp.%d' - Permission denied", configPath(g.kind, g.node, g.vmid), s.nextPID)
	}
	return nil
}

// checkClusterLock returns an error if a file that all nodes share, such as the one of the pools, cannot be changed. The state is locked.
func (c *call) checkClusterLock(prefix, file string) error {
	if c.sim.noQuorum {
		return apiErrorf("%scfs-lock '%s' error: no quorum!", prefix, file)
	}
	return nil
}
