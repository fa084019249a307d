package pvesim

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"
)

// haCall turns a power call on a managed guest into a task that only records the requested state. It does nothing for other guests, and
// managed is then false.
func (c *call) haCall(typ, word, state string) (rep reply, managed bool, err error) {
	h := c.managedByHA()
	if h == nil {
		return reply{}, false, nil
	}
	rep, err = c.start(typ, c.vmid(), func(t *task) error {
		if err := t.work(1); err != nil {
			return err
		}
		return t.locked(func() error {
			t.printf("Requesting HA %s for %s %d", word, kindLabel(h.kind), h.vmid)
			if err := h.checkNotInError(state); err != nil {
				t.printf("%s", err)
				return apiErrorf("command 'ha-manager set %s --state %s' failed: exit code 255", h.sid(), state)
			}
			h.state = state
			return nil
		})
	})
	return rep, true, err
}

// managedByHA returns the resource of the guest of a call, nil if it has none, or if the manager is asked to leave it alone.
//
// Source: pve-ha-manager 5.2.0, PVE/HA/Config.pm, vm_is_ha_managed.
func (c *call) managedByHA() *haResource {
	c.sim.mu.Lock()
	defer c.sim.mu.Unlock()
	if h := c.sim.ha[c.vmid()]; h != nil && h.wish() != haIgnored {
		return h
	}
	return nil
}

// wish returns the state that the entry asks for.
func (h *haResource) wish() string {
	switch h.state {
	case "", "enabled":
		return haStarted
	}
	return h.state
}

// The states that the manager shows of a resource, and the wishes with the same words.
const (
	haStarted     = "started"
	haStopped     = "stopped"
	haIgnored     = "ignored"
	haRequestStop = "request_stop"
	haMigrating   = "migrate"
	haFence       = "fence"
	haError       = "error"
)

// checkNotInError rejects what Proxmox rejects of a resource in the state error: every wish but disabled. The state is locked.
//
// Source: PVE::API2::HA::Resources check_service_state.
func (h *haResource) checkNotInError(wish string) error {
	if h.managerState != haError || wish == "disabled" {
		return nil
	}
	return apiErrorf("service '%s' in error state, must be disabled and fixed first", h.sid())
}

// scheduleHA begins the rounds of the manager, if they have not begun. The state is locked.
func (s *Sim) scheduleHA() {
	if s.haRounds || s.opts.HADelay < 0 {
		return
	}
	s.haRounds = true
	s.goTracked(func() {
		for s.wait(max(s.opts.HADelay, time.Millisecond)) {
			if !s.haRound() {
				return
			}
		}
	})
}

// haRound lets the manager and the nodes act once on every resource, and reports whether there will be another round. Without a quorum or a master they do nothing.
func (s *Sim) haRound() (again bool) {
	s.mu.Lock()
	var acts []func()
	if !s.noQuorum && s.noMaster.IsZero() {
		for _, id := range slices.Sorted(maps.Keys(s.ha)) {
			if g, h := s.guests[id], s.ha[id]; g != nil && !h.busy {
				acts = append(acts, s.actOnHA(g, h))
			}
		}
	}
	if s.haRounds = len(s.ha) > 0; !s.haRounds {
		s.mu.Unlock()
		return false
	}
	s.mu.Unlock()
	for _, act := range acts {
		if act != nil {
			act()
		}
	}
	return true
}

// actOnHA brings a resource one state further, and returns what its node has to do then, or nil. The state is locked.
//
// Source: PVE::HA::Manager next_state_request_stop, next_state_started, next_state_error, next_state_migrate_relocate.
func (s *Sim) actOnHA(g *guest, h *haResource) func() {
	if slices.Contains(s.down, g.node) {
		return nil
	}
	wish := h.wish()
	switch {
	case h.managerState == haMigrating:
		return nil // the end of the move ends this state
	case h.managerState == haError:
		if wish == "disabled" {
			h.managerState, h.failed, h.relocated = haStopped, 0, nil
		}
		return nil
	case wish == haIgnored:
		h.managerState = haIgnored
		return nil
	case wish != haStarted && g.running:
		h.managerState = haRequestStop
		return s.haPower(g, h, false)
	case wish != haStarted:
		h.managerState, h.failed, h.relocated = haStopped, 0, nil
		return nil
	}
	h.managerState = haStarted
	if target := s.haTarget(g, h); target != "" && target != g.node {
		return func() { s.haMove(h, target) }
	}
	switch {
	case g.running:
		h.failed, h.relocated = 0, nil
		return nil
	case h.failed > h.most("max_restart"):
		return s.relocateHA(g, h)
	}
	return s.haPower(g, h, true)
}

// most returns a limit of the entry, which is 1 by default.
func (h *haResource) most(key string) int { return atoi(cmp.Or(h.extra[key], "1")) }

// relocateHA moves a guest that could not be started to a node on which it was not tried, or gives it up. The state is locked.
func (s *Sim) relocateHA(g *guest, h *haResource) func() {
	h.failed, h.relocated = 0, append(h.relocated, g.node)
	if len(h.relocated) > h.most("max_relocate") {
		h.managerState = haError
		return nil
	}
	if nodes := s.haNodes(g, h, h.relocated); len(nodes) > 0 {
		return func() { s.haMove(h, nodes[0]) }
	}
	return nil // no other node: it is tried again where it is
}

// haPower marks a resource as busy, and returns the act that starts its guest or shuts it down. The state is locked.
func (s *Sim) haPower(g *guest, h *haResource, start bool) func() {
	h.busy = true
	return func() { s.haStartOrShutdown(g, start, h) }
}

// haEnded returns the body of a task of the manager that ends the work on a resource. A start that failed counts.
func (s *Sim) haEnded(h *haResource, starts bool, body func(*task) error) func(*task) error {
	return func(t *task) error {
		err := body(t)
		s.mu.Lock()
		defer s.mu.Unlock()
		if h != nil {
			h.busy = false
			if starts && err != nil {
				h.failed++
			}
		}
		return err
	}
}

// haTarget returns the node on which the manager wants a guest, "" if no node is left: where it is, if it may be there. A guest that was moved away from a node in
// maintenance goes back to it. The state is locked.
//
// Source: PVE::HA::Manager select_service_node.
func (s *Sim) haTarget(g *guest, h *haResource) string {
	nodes := s.haNodes(g, h, nil)
	switch away := slices.Contains(s.maintenance, g.node); {
	case len(nodes) == 0:
		return ""
	case away && !slices.Contains(nodes, g.node):
		h.home = cmp.Or(h.home, g.node)
		return nodes[0]
	case slices.Contains(nodes, h.home):
		home := h.home
		h.home = ""
		return home
	case slices.Contains(nodes, g.node):
		return g.node
	}
	return nodes[0]
}

// haNodes returns the nodes on which the rules want a guest, without those that are left out, offline or in maintenance. Without failback, every node of a rule about
// nodes is one of them if the guest is there. The state is locked.
//
// Source: PVE::HA::Rules::NodeAffinity get_node_affinity, PVE::HA::Rules::ResourceAffinity get_resource_affinity.
func (s *Sim) haNodes(g *guest, h *haResource, without []string) []string {
	var nodes []string
	for _, n := range s.opts.Nodes {
		if s.isOnline(n) && !slices.Contains(s.maintenance, n) && !slices.Contains(without, n) {
			nodes = append(nodes, n)
		}
	}
	for _, r := range s.rulesWithGroups() {
		if r.values["disable"] != "1" && r.shared([]string{h.sid()}) > 0 {
			nodes = s.nodesOfRule(r, g, h, nodes)
		}
	}
	return nodes
}

// nodesOfRule returns the nodes of a list that a rule prefers for a guest. The state is locked.
func (s *Sim) nodesOfRule(r *haRule, g *guest, h *haResource, nodes []string) []string {
	if r.values["type"] == nodeAffinity {
		return nodesOfNodeRule(r, g, h, nodes)
	}
	members := map[string]int{} // of the rule, without the guest, by node
	for _, id := range r.resources() {
		_, vmid, _ := strings.Cut(id, ":")
		if o, managed := s.guests[atoi(vmid)], s.ha[atoi(vmid)]; o != nil && managed != nil && id != h.sid() && managed.managerState != "" && managed.wish() != haIgnored {
			members[o.node]++
		}
	}
	if r.values["affinity"] == "negative" {
		return slices.DeleteFunc(slices.Clone(nodes), func(n string) bool { return members[n] > 0 })
	}
	members[g.node]++
	best := ""
	for _, n := range nodes {
		if members[n] > 0 && (best == "" || members[n] > members[best]) {
			best = n
		}
	}
	if best == "" {
		return nodes
	}
	return []string{best}
}

// nodesOfNodeRule returns the nodes of a list that have the highest priority of a rule; if none of them is in the rule, all of them, or none if the rule is strict.
func nodesOfNodeRule(r *haRule, g *guest, h *haResource, nodes []string) []string {
	var best []string
	highest := 0
	for _, item := range listOf(r.values["nodes"]) {
		name, number, _ := strings.Cut(item, ":")
		switch priority := atoi(number); {
		case !slices.Contains(nodes, name):
			continue
		case name == g.node && h.extra["failback"] == "0":
			return []string{name}
		case best == nil || priority > highest:
			best, highest = []string{name}, priority
		case priority == highest:
			best = append(best, name)
		}
	}
	if best == nil && r.values["strict"] != "1" {
		return nodes
	}
	return best
}

// haStartOrShutdown starts a guest or shuts it down on its current node, as root@pam. Of a resource, it ends the work on it. The state is not locked.
func (s *Sim) haStartOrShutdown(g *guest, start bool, h *haResource) {
	s.mu.Lock()
	node := g.node
	s.mu.Unlock()
	typ := typePrefix(g.kind)
	typeOf, body := typ+"start", func(t *task) error {
		if g.kind == LXC {
			return t.startCT(node, g.vmid)
		}
		return t.startVM(node, g.vmid)
	}
	if !start {
		typeOf, body = typ+"shutdown", func(t *task) error { return t.shutdownByHA(g) }
	}
	s.spawn(node, typeOf, itoa(g.vmid), g.vmid, "root@pam", nil, s.haEnded(h, start, body))
}

// shutdownByHA shuts a guest down, and stops it if it ignores that for a minute.
//
// Source: PVE::HA::Resources::PVEVM shutdown, with forceStop.
func (t *task) shutdownByHA(g *guest) error {
	return t.withGuestLock(g.kind, g.vmid, func() error {
		if err := t.work(1); err != nil {
			return err
		}
		ignores := false
		_ = t.locked(func() error {
			ignores = g.unresponsive && g.running && !g.paused
			return nil
		})
		if ignores && !t.sim.wait(defaultShutdownTimeout) {
			return errClosed
		}
		return t.locked(func() error {
			if g.running {
				t.sim.markStopped(g)
			}
			return nil
		})
	})
}

// checkNotManaged rejects the destruction of a managed guest without purge. The state is locked.
func (c *call) checkNotManaged(g *guest) error {
	if c.sim.ha[g.vmid] == nil || c.flag("purge") {
		return nil
	}
	return apiErrorf("unable to remove %s %d - used in HA resources and purge parameter not set.", g.label(), g.vmid)
}
