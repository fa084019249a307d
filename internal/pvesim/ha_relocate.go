package pvesim

import (
	"slices"
	"time"
)

// Where the HA manager puts guests: on request, and when their node is gone. Proxmox's sources say how; no recording shows it.

// fenceRounds is how many times HADelay the manager waits before it takes a silent node for dead, two minutes by default.
const fenceRounds = 12

// haMigrate turns a move of a managed guest into a wish that the manager fulfils later.
func (c *call) haMigrate(target string) (rep reply, managed bool, err error) {
	c.sim.mu.Lock()
	h := c.sim.ha[c.vmid()]
	c.sim.mu.Unlock()
	if h == nil {
		return reply{}, false, nil
	}
	rep, err = c.start("hamigrate", c.vmid(), func(t *task) error {
		if err := t.work(1); err != nil {
			return err
		}
		t.logLine("Requesting HA migration for %s %d to node %s", kindLabel(h.kind), h.vmid, target)
		t.sim.afterDelay(t.sim.opts.HADelay, func() { t.sim.haMove(h, target) })
		return nil
	})
	return rep, true, err
}

// afterDelay does something after a while, unless the manager is switched off or the Sim is closed.
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

// haMove has the manager move a guest, with a task of its own.
func (s *Sim) haMove(h *haResource, target string) {
	s.mu.Lock()
	g := s.guests[h.vmid]
	if g == nil || s.ha[h.vmid] != h || s.noQuorum || g.node == target {
		s.mu.Unlock()
		return
	}
	node := g.node
	s.mu.Unlock()
	m := migration{kind: g.kind, vmid: g.vmid, target: target, online: true, copiesDisks: true}
	typ := map[Kind]string{QEMU: "qmigrate", LXC: "vzmigrate"}[g.kind]
	s.spawn(node, typ, itoa(g.vmid), g.vmid, "root@pam", nil, func(t *task) error { return t.migrate(m) })
}

// fence gives a node that went silent up after a while: its managed guests are stopped there for certain and recovered elsewhere.
func (s *Sim) fence(node string) {
	s.afterDelay(fenceRounds*s.opts.HADelay, func() {
		var lost []*guest
		_ = s.locked(func() error {
			if !slices.Contains(s.down, node) || s.noQuorum {
				return nil
			}
			for _, id := range s.vmids() {
				if g, h := s.guests[id], s.ha[id]; g.node == node && h != nil && s.recoverGuest(g, h) {
					lost = append(lost, g)
				}
			}
			return nil
		})
		for _, g := range lost {
			s.haStartOrShutdown(g, true)
		}
	})
}

// recoverGuest puts a guest of a fenced node on another one and says whether it is to be started there. The state is locked.
func (s *Sim) recoverGuest(g *guest, h *haResource) bool {
	i := slices.IndexFunc(s.opts.Nodes, func(n string) bool { return !slices.Contains(s.down, n) })
	if i < 0 {
		return false
	}
	g.node, g.running, g.paused = s.opts.Nodes[i], false, false
	s.countEffect(g.vmid, Migrated)
	return h.state == "started" || h.state == "enabled"
}
