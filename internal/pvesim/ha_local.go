package pvesim

import (
	"errors"
	"maps"
	"slices"
	"time"
)

// haLocal is the local manager of a node.
type haLocal struct {
	mode string // idle, wait_for_agent_lock, active
	at   time.Time
}

const (
	localIdle    = "idle"
	localWaiting = "wait_for_agent_lock"
	localActive  = "active"
)

// local returns the local manager of a node. The state is locked.
func (s *Sim) local(node string) *haLocal {
	l := s.locals[node]
	if l == nil {
		l = &haLocal{mode: localIdle, at: time.Now()}
		s.locals[node] = l
	}
	return l
}

// localRound is one round of the local manager of a node, and returns what it begins. An active one works in every second of them. Without a quorum it does nothing. The
// state is locked.
func (s *Sim) localRound(node string, full bool) (acts []func()) {
	l := s.local(node)
	if !s.isMember(node) || s.lacksQuorum() || !full && l.mode == localActive {
		return nil
	}
	l.at = time.Now()
	switch {
	case l.mode == localIdle && s.hasServices(node):
		l.mode = localWaiting
		return nil
	case l.mode == localWaiting && s.hasServices(node):
		l.mode = localActive
	case l.mode != localActive:
		return nil
	}
	for _, id := range slices.Sorted(maps.Keys(s.services)) {
		g, h, v := s.guests[id], s.ha[id], s.services[id]
		if g == nil || h == nil || v.node != node || v.busy || g.node != node {
			continue
		}
		switch {
		case v.arrived && v.state == haStarted && g.running:
			v.arrived = false // it looks at a guest that has come a round later
		case v.state == haStarted && g.running:
			v.result, v.failed = haDone, 0
		case v.state == haStarted && v.result != haFailed:
			v.busy = true
			acts = append(acts, func() { s.startOrShutdown(g, node, true, 0, func(err error) { v.started(h, err) }) })
		case v.state == haRequestStop && v.result == haPending && !g.running:
			v.result = haDone
		case v.state == haRequestStop && v.result == haPending:
			v.busy = true
			acts = append(acts, func() { s.startOrShutdown(g, node, false, v.timeout, v.did) })
		case (v.state == haMigrating || v.state == haRelocating) && v.result == haPending:
			v.busy = true
			acts = append(acts, func() { s.haMove(g, v, node) })
		}
	}
	return acts
}

// did ends what the local manager did for a service. The state is locked.
func (v *haService) did(err error) {
	v.busy, v.result = false, haDone
	if err != nil {
		v.result = haFailed
	}
}

// started ends a start. The local manager tries again as often as the entry allows.
func (v *haService) started(h *haResource, err error) {
	v.did(err)
	if v.state != haStarted {
		v.result = haPending
	}
	if err == nil {
		v.failed = 0
		return
	}
	if v.failed++; v.failed <= h.most("max_restart") {
		v.result = haRetry
	}
}

// haMove moves a guest to the target of its service in a task of root@pam. A machine goes on running if it only migrates; a container, and whatever relocates, is shut
// down before, and the next node starts it. The state is not locked.
//
// Source: PVE::HA::Resources::PVEVM migrate, PVE::HA::Resources::PVECT migrate.
func (s *Sim) haMove(g *guest, v *haService, node string) {
	s.mu.Lock()
	if err := g.checkLock(); err != nil {
		v.did(err) // no task begins
		s.mu.Unlock()
		return
	}
	stops := g.running && (g.kind == LXC || v.state == haRelocating)
	m := migration{kind: g.kind, vmid: g.vmid, target: v.target, online: !stops, copiesDisks: true}
	s.mu.Unlock()
	migrate := func() {
		s.spawn(node, map[Kind]string{QEMU: "qmigrate", LXC: "vzmigrate"}[g.kind], itoa(g.vmid), g.vmid, "root@pam", nil, func(t *task) error {
			err := t.migrate(m)
			if !errors.Is(err, errClosed) {
				s.mu.Lock()
				defer s.mu.Unlock()
				v.did(err)
			}
			return err
		})
	}
	if !stops {
		migrate()
		return
	}
	s.startOrShutdown(g, node, false, defaultShutdownTimeout, func(err error) {
		if err != nil {
			v.did(err)
			return
		}
		s.goTracked(migrate)
	})
}
