package pvesim

import (
	"maps"
	"slices"
	"time"
)

// How the HA manager moves guests: on request, and when their node fails. This follows Proxmox's sources; no recording shows it.

// fenceRounds times HADelay is the time after which the manager treats a node that does not answer as failed, two minutes by default.
const fenceRounds = 12

// haMigrate turns the migration of a managed guest into a request that the manager carries out later. It does nothing for other guests,
// and managed is then false.
func (c *call) haMigrate(target string) (rep reply, managed bool, err error) {
	h := c.managedByHA()
	if h == nil {
		return reply{}, false, nil
	}
	rep, err = c.start("hamigrate", c.vmid(), func(t *task) error {
		if err := t.work(1); err != nil {
			return err
		}
		t.logLine("Requesting HA migration for %s %d to node %s", kindLabel(h.kind), h.vmid, target)
		if err := t.locked(func() error { return h.checkNotInError("") }); err != nil {
			t.logLine("%s", err)
			return apiErrorf("command 'ha-manager migrate %s %s' failed: exit code 255", h.sid(), target)
		}
		return t.requestMove(h, target)
	})
	return rep, true, err
}

// requestMove hands the request for a move to the manager, with those of the guests that rules keep together with the guest. Rules that keep it apart from a guest on the
// target refuse the request.
//
// Source: pve-ha-manager 5.2.0, PVE/CLI/ha_manager.pm, migrate; seen in recording 73.
func (t *task) requestMove(h *haResource, target string) error {
	t.sim.mu.Lock()
	apart, together := t.sim.affinityOf(h)
	moved := []*haResource{h}
	var blocking []string
	for _, o := range apart {
		if g := t.sim.guests[o.vmid]; g != nil && g.node == target {
			blocking = append(blocking, o.sid())
		}
	}
	for _, o := range together {
		if g := t.sim.guests[o.vmid]; g != nil && g.node != target {
			moved = append(moved, o)
		}
	}
	t.sim.mu.Unlock()
	if len(blocking) > 0 {
		t.logLine("cannot migrate resource '%s' to node '%s':", h.sid(), target)
		t.logLine("")
		for _, sid := range blocking {
			t.logLine("- resource '%s' on target node '%s' in negative affinity with resource '%s'", sid, target, h.sid())
		}
		return apiErrorf("command 'ha-manager migrate %s %s' failed: exit code 2", h.sid(), target)
	}
	for _, o := range moved[1:] {
		t.logLine("also migrate resource '%s' in positive affinity with resource '%s' to target node '%s'", o.sid(), h.sid(), target)
	}
	for _, o := range moved {
		t.sim.afterRounds(1, func() { t.sim.haMove(o, target) })
	}
	return nil
}

// affinityOf returns the resources that enabled rules keep apart from a resource, and those that they keep together with it, by vmid. The state is locked.
func (s *Sim) affinityOf(h *haResource) (apart, together []*haResource) {
	for _, id := range slices.Sorted(maps.Keys(s.ha)) {
		o := s.ha[id]
		for _, r := range s.rulesWithGroups() {
			switch {
			case o == h || o.wish() == haIgnored || r.values["type"] != resourceAffinity || r.values["disable"] == "1" || r.shared([]string{h.sid(), o.sid()}) < 2:
			case r.values["affinity"] == "negative":
				apart = append(apart, o)
			default:
				together = append(together, o)
			}
		}
	}
	return apart, together
}

// haRequestMove requests the migration of a managed guest, which the manager carries out later. The reply does not wait for it.
func haRequestMove(c *call) (reply, error) {
	target := c.params["node"]
	var h *haResource
	err := c.sim.locked(func() error {
		switch h = c.haOf(); {
		case h == nil:
			return apiErrorf("resource '%s' is not HA managed", c.vars["sid"])
		case !c.sim.hasNode(target):
			return apiErrorf("no such cluster node '%s'", target)
		}
		if err := h.checkNotInError(""); err != nil {
			return err
		}
		return c.requireQuorum()
	})
	if err != nil {
		return reply{}, err
	}
	c.sim.afterRounds(1, func() { c.sim.haMove(h, target) })
	var o object
	o.str("sid", h.sid())
	o.str("requested-node", target)
	return dataReply(o.bytes())
}

// afterRounds runs f after rounds of the manager, each of which takes HADelay. If the cluster has no quorum then, it runs f in the first round in which it has.
func (s *Sim) afterRounds(rounds time.Duration, f func()) {
	round := s.opts.HADelay
	s.afterDelay(rounds*round, func() {
		for s.lacksMaster() {
			if !s.wait(max(round, time.Millisecond)) {
				return
			}
		}
		f()
	})
}

// afterDelay runs f after d. It does not run f if d is negative, as when the manager is switched off, or if the Sim is closed first.
func (s *Sim) afterDelay(d time.Duration, f func()) {
	if d < 0 {
		return
	}
	s.goTracked(func() {
		if s.wait(d) {
			f()
		}
	})
}

func (s *Sim) lacksMaster() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.noQuorum || !s.noMaster.IsZero()
}

// StopHAMaster stops the master of the HA manager: it begins no round any more, and requests stay in its queue.
func (s *Sim) StopHAMaster() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.noMaster.IsZero() {
		s.noMaster = s.lastHARound()
	}
}

// StartHAMaster ends StopHAMaster, as a new master does.
func (s *Sim) StartHAMaster() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.noMaster, s.masterSince = time.Time{}, time.Now()
}

// lastHARound returns when the master of the HA manager ended its last round, the zero time if it never worked. The state is locked.
func (s *Sim) lastHARound() time.Time {
	switch round := s.opts.HADelay; {
	case !s.noMaster.IsZero():
		return s.noMaster
	case round < time.Millisecond:
		return time.Time{}
	case s.masterSince.IsZero():
		return s.bootTime.Add(time.Since(s.bootTime).Truncate(round))
	default:
		return s.masterSince.Add(time.Since(s.masterSince).Truncate(round))
	}
}

// haMove migrates a managed guest in a task of the manager. The manager drops the request, with a word in its own log alone, if the guest is on the target
// already, or if the target is not available.
//
// Source: pve-ha-manager 5.2.0, PVE/HA/Manager.pm, update_crm_commands; seen in recording 73.
func (s *Sim) haMove(h *haResource, target string) {
	s.mu.Lock()
	g := s.guests[h.vmid]
	if g == nil || s.ha[h.vmid] != h || s.noQuorum || g.node == target || !s.isOnline(target) || slices.Contains(s.maintenance, target) || h.state == "ignored" {
		s.mu.Unlock()
		return
	}
	node, before := g.node, h.managerState
	if before == haMigrating {
		before = haStarted // it moves on
	}
	h.managerState = haMigrating
	s.mu.Unlock()
	m := migration{kind: g.kind, vmid: g.vmid, target: target, online: true, copiesDisks: true}
	typ := map[Kind]string{QEMU: "qmigrate", LXC: "vzmigrate"}[g.kind]
	s.spawn(node, typ, itoa(g.vmid), g.vmid, "root@pam", nil, func(t *task) error {
		defer s.afterRounds(1, func() { s.endHAMove(h, before) })
		return t.migrate(m)
	})
}

// endHAMove gives a resource the state that it had before the manager moved its guest, wherever that is now: the manager repeats nothing. In the same round it looks
// where its rules want the guest, and moves it on without another state in between.
func (s *Sim) endHAMove(h *haResource, state string) {
	s.mu.Lock()
	g, ends, next := s.guests[h.vmid], h.managerState == haMigrating, ""
	if ends {
		h.managerState = state
	}
	if ends && state == haStarted && h.wish() == haStarted && g != nil && g.running && !slices.Contains(s.down, g.node) {
		next = s.haTarget(g, h)
	}
	again := next != "" && next != g.node && s.ha[h.vmid] == h
	if again {
		h.managerState = haMigrating
	}
	s.mu.Unlock()
	if again {
		s.haMove(h, next)
	}
}

// fence waits until the manager fences a node, and for fenceRounds. If the node still does not answer, its managed guests count as stopped and are recovered on
// another node. A guest whose state is ignored is not among the services of the manager.
//
// Source: PVE::HA::Manager manage, which removes ignored services, and next_state_recovery.
func (s *Sim) fence(node string) {
	lost := func(act func(*guest, *haResource)) func() {
		return func() {
			_ = s.locked(func() error {
				for _, id := range s.vmids() {
					if g, h := s.guests[id], s.ha[id]; slices.Contains(s.down, node) && !s.noQuorum && g.node == node && h != nil && h.wish() != haIgnored {
						act(g, h)
					}
				}
				return nil
			})
		}
	}
	s.afterRounds(fenceRounds/2, lost(func(_ *guest, h *haResource) { h.managerState, h.busy = haFence, false }))
	s.afterRounds(fenceRounds, lost(s.recoverGuest))
}

// recoverGuest moves a guest of a fenced node to another node, where the next round starts it. Without such a node it stays. The state is locked.
func (s *Sim) recoverGuest(g *guest, h *haResource) {
	h.managerState = "recovery"
	nodes := s.haNodes(g, h, nil)
	if len(nodes) == 0 {
		return
	}
	g.node, g.running, g.paused = nodes[0], false, false
	h.managerState, h.failed = map[bool]string{true: haStarted, false: haStopped}[h.wish() == haStarted], 0
	s.countEffect(g.vmid, Migrated)
}
