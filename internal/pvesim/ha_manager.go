package pvesim

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"time"
)

// haStart turns the start of a managed guest into a task that only records the wish. It does nothing for other guests, and managed is then false.
func (c *call) haStart() (rep reply, managed bool, err error) {
	return c.haCall("hastart", "start", func(t *task, h *haResource) error {
		if err := t.sim.checkNotInError(h, haStarted); err != nil {
			t.printf("%s", err)
			return apiErrorf("command 'ha-manager set %s --state started' failed: exit code 255", h.sid())
		}
		h.state = haStarted
		return nil
	})
}

// haStop turns the stop of a managed guest into a task that only puts the request into the manager's queue. A stop is a shutdown without patience.
func (c *call) haStop(timeout time.Duration) (rep reply, managed bool, err error) {
	return c.haCall("hastop", "stop", func(t *task, h *haResource) error {
		if err := t.sim.checkNotInError(h, haStopped); err != nil {
			t.printf("%s", err)
			return apiErrorf("command 'ha-manager crm-command stop %s %d' failed: exit code 255", h.sid(), timeout/time.Second)
		}
		if t.sim.opts.HADelay < 0 {
			h.state = haStopped
			return nil
		}
		t.sim.haQueue = append(t.sim.haQueue, haCommand{vmid: h.vmid, timeout: timeout})
		return nil
	})
}

// shutdownTimeout returns how long a shutdown waits.
func (c *call) shutdownTimeout() time.Duration {
	if n, given := c.params["timeout"]; given {
		return time.Duration(atoi(n)) * time.Second
	}
	return defaultShutdownTimeout
}

func (c *call) haCall(typ, word string, request func(*task, *haResource) error) (rep reply, managed bool, err error) {
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
			return request(t, h)
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
	haRelocating  = "relocate"
	haFence       = "fence"
	haRecovery    = "recovery"
	haError       = "error"
)

// checkNotInError rejects what Proxmox rejects of a resource in the state error: every wish but disabled. The state is locked.
//
// Source: PVE::API2::HA::Resources check_service_state.
func (s *Sim) checkNotInError(h *haResource, wish string) error {
	if v := s.services[h.vmid]; v == nil || v.state != haError || wish == "disabled" {
		return nil
	}
	return apiErrorf("service '%s' in error state, must be disabled and fixed first", h.sid())
}

// haTarget returns the node on which the manager wants a guest, "" if no node is left: where it is, if it may be there. A guest that was moved away from a node in
// maintenance goes back to it. The state is locked.
//
// Source: PVE::HA::Manager select_service_node.
func (s *Sim) haTarget(h *haResource, v *haService) string {
	nodes := s.haNodes(h, v.node, nil)
	switch away := slices.Contains(s.maintenance, v.node); {
	case len(nodes) == 0:
		return ""
	case away && !slices.Contains(nodes, v.node):
		v.home = cmp.Or(v.home, v.node)
		return s.leastUsed(nodes)
	case slices.Contains(nodes, v.home):
		home := v.home
		v.home = ""
		return home
	case slices.Contains(nodes, v.node):
		return v.node
	}
	return s.leastUsed(nodes)
}

// haNodes returns the nodes on which the rules want a guest, without those that are left out, offline or in maintenance. Without failback, every node of a rule about
// nodes is one of them if the guest is there. The state is locked.
//
// Source: PVE::HA::Rules::NodeAffinity get_node_affinity, PVE::HA::Rules::ResourceAffinity get_resource_affinity.
func (s *Sim) haNodes(h *haResource, node string, without []string) []string {
	var nodes []string
	for _, n := range s.opts.Nodes {
		if s.isMember(n) && !slices.Contains(s.maintenance, n) && !slices.Contains(without, n) {
			nodes = append(nodes, n)
		}
	}
	for _, r := range s.rulesWithGroups() {
		if r.values["disable"] != "1" && r.shared([]string{h.sid()}) > 0 {
			nodes = s.nodesOfRule(r, h, node, nodes)
		}
	}
	return nodes
}

// nodesOfRule returns the nodes of a list that a rule prefers for a guest. The state is locked.
func (s *Sim) nodesOfRule(r *haRule, h *haResource, node string, nodes []string) []string {
	if r.values["type"] == nodeAffinity {
		return nodesOfNodeRule(r, h, node, nodes)
	}
	members := map[string]int{} // of the rule, without the guest, by node
	for _, id := range r.resources() {
		_, vmid, _ := strings.Cut(id, ":")
		if o := s.services[atoi(vmid)]; o != nil && id != h.sid() {
			members[cmp.Or(o.target, o.node)]++
		}
	}
	if r.values["affinity"] == "negative" {
		return slices.DeleteFunc(slices.Clone(nodes), func(n string) bool { return members[n] > 0 })
	}
	members[node]++
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
func nodesOfNodeRule(r *haRule, h *haResource, node string, nodes []string) []string {
	var best []string
	highest := 0
	for _, item := range listOf(r.values["nodes"]) {
		name, number, _ := strings.Cut(item, ":")
		switch priority := atoi(number); {
		case !slices.Contains(nodes, name):
			continue
		case name == node && h.extra["failback"] == "0":
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

// startOrShutdown starts a guest or shuts it down on a node, as root@pam, and then calls ended if it is not nil, with the state locked. The state is not locked.
func (s *Sim) startOrShutdown(g *guest, node string, start bool, timeout time.Duration, ended func(error)) {
	typ := typePrefix(g.kind)
	typeOf, body := typ+"start", func(t *task) error {
		if g.kind == LXC {
			return t.startCT(node, g.vmid)
		}
		return t.startVM(node, g.vmid)
	}
	if !start {
		typeOf, body = typ+map[bool]string{true: "stop", false: "shutdown"}[timeout == 0], func(t *task) error { return t.shutdownByHA(g, timeout) }
	}
	s.spawn(node, typeOf, itoa(g.vmid), g.vmid, "root@pam", nil, func(t *task) error {
		err := body(t)
		if ended != nil && !errors.Is(err, errClosed) {
			s.mu.Lock()
			defer s.mu.Unlock()
			ended(err)
		}
		return err
	})
}

// shutdownByHA shuts a guest down, and stops it if it ignores that for the time.
//
// Source: PVE::HA::Resources::PVEVM shutdown, with forceStop.
func (t *task) shutdownByHA(g *guest, timeout time.Duration) error {
	return t.withGuestLock(g.kind, g.vmid, func() error {
		if err := t.work(1); err != nil {
			return err
		}
		ignores := false
		_ = t.locked(func() error {
			ignores = g.unresponsive && g.running && !g.paused
			return nil
		})
		if ignores && !t.sim.wait(timeout) {
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
