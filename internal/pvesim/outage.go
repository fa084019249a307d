package pvesim

import (
	"net/http"
	"slices"
	"strings"
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
	s.noQuorum, s.quorumLost = !quorate, time.Now()
}

// memberDelay is how long the other nodes count a lost node as a member, as a share of a round of the HA manager, 6 s by default. Until then writes wait.
func (s *Sim) memberDelay() time.Duration { return max(0, s.opts.HADelay*6/10) }

// isMember reports whether a node is a member of the part of the cluster that has a quorum. The state is locked.
func (s *Sim) isMember(name string) bool { return s.sees("", name) }

// sees reports whether a node counts another one as a member, "" for those that have a quorum. The state is locked.
func (s *Sim) sees(from, name string) bool {
	if from == name {
		return true
	}
	if from == "" {
		from = s.opts.Nodes[0]
		if _, isCut := s.cut[from]; isCut || slices.Contains(s.down, from) {
			from = ""
		}
	}
	if s.lacksQuorum() && name != from || slices.Contains(s.down, name) && time.Since(s.downSince[name]) >= s.memberDelay() {
		return false
	}
	for _, n := range []string{from, name} {
		if since, isCut := s.cut[n]; isCut && from != name && time.Since(since) >= s.memberDelay() {
			return false
		}
	}
	return true
}

// lacksQuorum reports whether no part of the cluster has a quorum. The state is locked.
func (s *Sim) lacksQuorum() bool { return s.noQuorum && !time.Now().Before(s.quorumLost) }

// isQuorate reports whether a node belongs to a part of the cluster that has a quorum. The state is locked.
func (s *Sim) isQuorate(node string) bool {
	since, isCut := s.cut[node]
	return !s.lacksQuorum() && (!isCut || time.Since(since) < s.memberDelay())
}

// lostSince returns since when a node is off, or off the network. The state is locked.
func (s *Sim) lostSince(node string) time.Time {
	if since, isCut := s.cut[node]; isCut {
		return since
	}
	return s.downSince[node]
}

// answering returns the node that answers a call: the one that the client calls by its name if that is up, and otherwise the first that is, as behind an address that moves.
func (s *Sim) answering(host string) string {
	name, _, _ := strings.Cut(host, ":")
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.hasNode(name) && !slices.Contains(s.down, name) {
		return name
	}
	for _, n := range s.opts.Nodes {
		if _, isCut := s.cut[n]; !isCut && !slices.Contains(s.down, n) {
			return n
		}
	}
	return s.opts.Nodes[0]
}

// local returns the node that answers a call.
func (c *call) local() string { return c.via }

// executing returns the node that executes a call.
func (c *call) executing() string {
	if n := c.node(); n != "" && !c.route.unproxied {
		return n
	}
	return c.local()
}

// untilMembership returns how long a write on a node waits until the members are known after a loss. The state is locked.
func (s *Sim) untilMembership(node string) time.Duration {
	wait := time.Duration(0)
	if s.noQuorum {
		wait = max(0, time.Until(s.quorumLost))
	}
	for n, since := range s.cut {
		if n == node || !slices.Contains(s.down, n) {
			wait = max(wait, s.memberDelay()-time.Since(since))
		}
	}
	for _, n := range s.down {
		wait = max(wait, s.memberDelay()-time.Since(s.downSince[n]))
	}
	return wait
}

// awaitMembership lets a write wait until the members of the cluster are known, and reports whether its node had a quorum before. The state is not locked.
func (s *Sim) awaitMembership(c *call) (quorate bool) {
	s.mu.Lock()
	quorate = s.isQuorate(c.executing())
	waits := time.Duration(0)
	if c.method != http.MethodGet {
		if waits = s.untilMembership(c.executing()); waits > s.memberDelay()/2 && c.startsTask() {
			waits = 0 // its task waits
		}
	}
	if waits > 0 {
		s.waiting++
		waits += time.Duration(s.waiting) * time.Microsecond // they go on in their order
	}
	s.mu.Unlock()
	s.wait(waits)
	return quorate
}

// startsTask reports whether a call only starts a task.
func (c *call) startsTask() bool {
	return c.method == http.MethodPost && c.vars["vmid"] != "" && (strings.HasSuffix(c.path, "/config") || strings.Contains(c.path, "/status/"))
}

// frozen is what a node that is off the network last knew of the others.
type frozen struct {
	guests map[int]*guest
	states map[int]string
	pools  map[string]*pool
	nodes  map[string]string // states of nodes
}

// CutNode takes a node off the network. It runs on without a quorum: clients that call it by its name see its own guests and what it last knew of the others. Its watchdog
// powers it off after a minute if it had managed guests, which are recovered on other nodes.
func (s *Sim) CutNode(name string) {
	s.mu.Lock()
	_, already := s.cut[name]
	if !already && s.hasNode(name) {
		s.broadcast()
		f := &frozen{guests: map[int]*guest{}, states: map[int]string{}, pools: map[string]*pool{}, nodes: map[string]string{}}
		for _, n := range s.opts.Nodes {
			f.nodes[n] = s.haNodeState(n)
		}
		for id, g := range s.guests {
			known := *g
			f.guests[id], f.states[id] = &known, s.haState(id)
		}
		for id, p := range s.pools {
			known := *p
			f.pools[id] = &known
		}
		s.frozen[name] = f
		s.cut[name] = time.Now()
	}
	armed := s.local(name).mode == localActive
	s.mu.Unlock()
	if armed && !already {
		s.afterDelay(fenceRounds*s.opts.HADelay, func() {
			s.mu.Lock()
			_, still := s.cut[name]
			s.mu.Unlock()
			if still {
				s.powerOff(name)
			}
		})
	}
}

// HealNode ends CutNode. A node that its watchdog has powered off stays off.
func (s *Sim) HealNode(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if since, isCut := s.cut[name]; isCut && slices.Contains(s.down, name) {
		s.downSince[name] = since // for the others it was lost then
	}
	delete(s.cut, name)
	delete(s.frozen, name)
}

// powerOff stops a node with everything on it.
func (s *Sim) powerOff(name string) {
	s.StopNode(name)
	_ = s.locked(func() error {
		for _, t := range s.tasks {
			if t.upid.node == name && t.ended.IsZero() {
				t.kill()
			}
		}
		for _, g := range s.guests {
			if g.node == name && g.running {
				g.running, g.paused, g.movedTo = false, false, ""
				s.countEffect(g.vmid, Stopped)
			}
		}
		return nil
	})
}

// StopNode makes a node unreachable: calls for it answer 595. The inventory shows its guests as last seen, and after five minutes without
// run state and name. Its managed guests are recovered on another node after the manager has fenced the node.
func (s *Sim) StopNode(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	stopped := s.hasNode(name) && !slices.Contains(s.down, name)
	if stopped {
		s.broadcast() // the node's last round
		s.down = append(s.down, name)
		s.downSince[name] = time.Now()
	}
}

// StartNode ends StopNode.
func (s *Sim) StartNode(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.down = slices.DeleteFunc(s.down, func(n string) bool { return n == name })
	s.locals[name] = nil
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
	_ = s.locked(func() error { s.reboots[name] = time.Now(); return nil }) // calls that wait in it end now; its uptime is not shown before the start
	s.powerOff(name)
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
			s.startOrShutdown(g, node, true, 0, nil)
		}
		return nil
	})
}

// requireQuorum rejects calls that check the quorum first. The state is locked.
func (c *call) requireQuorum() error {
	if !c.quorate && !c.sim.isQuorate(c.executing()) {
		return apiErrorf("cluster not ready - no quorum?")
	}
	return nil
}

// checkWritable returns an error if the cluster file system is read-only, so that no config file can be written. The state is locked.
func (s *Sim) checkWritable(g *guest) error {
	if !s.isQuorate(g.node) {
		return apiErrorf("unable to open file '/etc/pve/%s.tmp.%d' - Permission denied", configPath(g.kind, g.node, g.vmid), s.nextPID)
	}
	return nil
}

// checkClusterLock returns an error if a file that all nodes share, such as the one of the pools, cannot be changed. The state is locked.
func (c *call) checkClusterLock(prefix, file string) error {
	if !c.sim.isQuorate(c.executing()) {
		err := &apiError{status: http.StatusInternalServerError, message: prefix + "cfs-lock '" + file + "' error: no quorum!\n"}
		if len(c.sim.opts.Nodes) > 1 && c.sim.opts.HADelay > 0 {
			err.after = c.sim.opts.HADelay // it tries for ten seconds
		}
		return err
	}
	return nil
}
