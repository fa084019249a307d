package pvesim

import (
	"maps"
	"slices"
	"time"
)

// Requests for moves, and the master that takes them.

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
		if err := t.locked(func() error { return t.sim.checkNotInError(h, "") }); err != nil {
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
	defer t.sim.mu.Unlock()
	blocking, moved := t.sim.queueMove(h, target, false)
	if len(blocking) > 0 {
		t.printf("cannot migrate resource '%s' to node '%s':", h.sid(), target)
		t.printf("")
		for _, o := range blocking {
			t.printf("- resource '%s' on target node '%s' in negative affinity with resource '%s'", o.sid(), target, h.sid())
		}
		return apiErrorf("command 'ha-manager migrate %s %s' failed: exit code 2", h.sid(), target)
	}
	for _, o := range moved {
		t.printf("also migrate resource '%s' in positive affinity with resource '%s' to target node '%s'", o.sid(), h.sid(), target)
	}
	return nil
}

// queueMove puts the request for a move into the manager's queue, with those of the guests that rules keep together with the guest, which it returns. It does not if
// guests on the target, which it returns as well, must be apart from the guest. The state is locked.
func (s *Sim) queueMove(h *haResource, target string, relocates bool) (blocking, moved []*haResource) {
	apart, together := s.affinityOf(h)
	if blocking = s.resourcesOn(apart, target); len(blocking) > 0 {
		return blocking, nil
	}
	for _, o := range together {
		if g := s.guests[o.vmid]; g != nil && g.node != target {
			moved = append(moved, o)
		}
	}
	for _, o := range append([]*haResource{h}, moved...) {
		s.haQueue = append(s.haQueue, haCommand{vmid: o.vmid, target: target, relocates: relocates})
	}
	s.scheduleHA()
	return nil, moved
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

// resourcesOn returns those of some managed guests that are on a node. The state is locked.
func (s *Sim) resourcesOn(among []*haResource, node string) (found []*haResource) {
	for _, h := range among {
		if g := s.guests[h.vmid]; g != nil && g.node == node {
			found = append(found, h)
		}
	}
	return found
}

// blockingRows lists managed guests that keep another one from a node.
func blockingRows(blocking []*haResource) []byte {
	var list array
	for _, h := range blocking {
		var row object
		row.str("sid", h.sid())
		row.str("cause", "resource-affinity")
		list.add(&row)
	}
	return list.bytes()
}

// haRequestMove returns the handler that requests a move of a managed guest, which the manager carries out later. The reply does not wait for it.
func haRequestMove(relocates bool) func(*call) (reply, error) {
	return func(c *call) (reply, error) {
		target := c.params["node"]
		var o object
		err := c.sim.locked(func() error {
			h := c.haOf()
			if h == nil {
				return apiErrorf("resource '%s' is not HA managed", c.vars["sid"])
			}
			if err := c.sim.checkNotInError(h, ""); err != nil {
				return err
			}
			if err := c.requireQuorum(); err != nil {
				return err
			}
			blocking, moved := c.sim.queueMove(h, target, relocates)
			if len(blocking) > 0 {
				o.raw("blocking-resources", blockingRows(blocking))
			}
			var list array
			for _, m := range moved {
				list.raw(jsonString(m.sid()))
			}
			if len(moved) > 0 {
				o.raw("comigrated-resources", list.bytes())
			}
			o.str("sid", h.sid())
			o.str("requested-node", target)
			return nil
		})
		if err != nil {
			return reply{}, err
		}
		return dataReply(o.bytes())
	}
}

// afterDelay runs f after d. It does not run f if d is negative, or if the Sim is closed first.
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

// StopHAMaster stops the master of the HA manager: it begins no round any more, and requests stay in its queue.
func (s *Sim) StopHAMaster() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.masterStopped = true
	if s.noMaster.IsZero() {
		s.noMaster = s.lastHARound()
	}
}

// StartHAMaster ends StopHAMaster, as a new master does.
func (s *Sim) StartHAMaster() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.masterStopped = false
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
