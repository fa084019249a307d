package pvesim

import (
	"maps"
	"slices"
	"time"
)

// The HA manager as two parts that meet in files only: the master decides in rounds and writes its books, and the local manager of each node does in its own rounds what
// the books say of its guests, and writes results. Entries and requests wait for the next round of the master.
//
// Source: pve-ha-manager 5.2.0, PVE/HA/Manager.pm and PVE/HA/LRM.pm; the times are those of recordings 72, 73 and 75.

// haService is a guest in the books of the master.
type haService struct {
	kind      Kind
	state     string
	node      string // where the master believes it
	target    string // of a move
	running   bool   // a start has succeeded
	arrived   bool   // it has just been moved
	result    haResult
	busy      bool // the local manager works on it
	failed    int  // starts on this node that failed one after the other
	relocated []string
	timeout   time.Duration // of the shutdown
	home      string        // the node in maintenance from which it was moved; "" if it was moved from none
}

// haResult is what the local manager says of the present state.
type haResult int

const (
	haPending haResult = iota
	haDone
	haRetry
	haFailed
)

// haCommand is a request in the queue.
type haCommand struct {
	vmid      int
	target    string // of a move; "" for a stop
	relocates bool
	timeout   time.Duration // of a stop
}

// haNodeView is what the master knows of a node.
type haNodeView struct {
	state string // online, unknown, fence
	since time.Time
}

// become puts a service into another state, about which the local manager has not reported yet.
func (v *haService) become(state string) {
	if v.state, v.result = state, haPending; state != haRequestStop {
		v.timeout = defaultShutdownTimeout
	}
	if state != haMigrating && state != haRelocating {
		v.target = ""
	}
}

// fenceRounds is the number of rounds after which the master gives a lost node up, and lockRounds that after which the locks of a lost node may be taken: a minute and
// two by default.
const (
	fenceRounds = 6
	lockRounds  = 12
)

// scheduleHA begins the rounds of the manager, if they have not begun. The state is locked.
func (s *Sim) scheduleHA() {
	if s.haRounds || s.opts.HADelay < 0 {
		return
	}
	if s.haMaster == "" {
		s.haMaster = s.opts.Nodes[0]
	}
	s.haRounds = true
	s.goTracked(func() {
		half := max(s.opts.HADelay/2, time.Millisecond)
		for {
			n := time.Since(s.bootTime)/half + 1
			if !s.wait(time.Until(s.bootTime.Add(n*half))) || !s.haRound(n%2 == 0) {
				return
			}
		}
	})
}

// haRound lets the master or the local managers act once, and reports whether there will be another round.
func (s *Sim) haRound(ofMaster bool) (again bool) {
	s.mu.Lock()
	var acts []func()
	if ofMaster {
		s.electMaster()
		if s.noMaster.IsZero() && !s.lacksQuorum() {
			s.manage()
		}
	}
	for _, n := range s.opts.Nodes {
		acts = append(acts, s.localRound(n, !ofMaster)...)
	}
	s.haRounds = len(s.ha)+len(s.services)+len(s.haQueue) > 0
	again = s.haRounds
	s.mu.Unlock()
	for _, act := range acts {
		act()
	}
	return again
}

// electMaster makes another node the master if the lock of a lost one has expired. The state is locked.
func (s *Sim) electMaster() {
	if s.masterStopped || s.isMember(s.haMaster) && s.noMaster.IsZero() {
		return
	}
	if s.noMaster.IsZero() {
		s.noMaster = s.lastHARound()
		if lost := s.lostSince(s.haMaster); lost.Before(s.noMaster) {
			s.noMaster = s.noMaster.Add(-s.noMaster.Sub(lost).Truncate(s.opts.HADelay) - s.opts.HADelay)
		}
	}
	if time.Since(s.noMaster) < lockRounds*s.opts.HADelay {
		return
	}
	for _, n := range slices.Backward(s.opts.Nodes) {
		if s.isMember(n) {
			s.haMaster, s.noMaster, s.masterSince = n, time.Time{}, time.Now()
			return
		}
	}
}

// manage is one round of the master. The state is locked.
func (s *Sim) manage() {
	s.manageNodes()
	for _, id := range slices.Sorted(maps.Keys(s.services)) {
		if h := s.ha[id]; h == nil || h.wish() == haIgnored || s.guests[id] == nil {
			delete(s.services, id)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(s.ha)) {
		if h, g := s.ha[id], s.guests[id]; g != nil && h.wish() != haIgnored && s.services[id] == nil {
			v := &haService{kind: g.kind, node: g.node}
			v.become(map[bool]string{true: haStarted, false: haRequestStop}[h.wish() == haStarted])
			s.services[id] = v
		}
	}
	commands := map[int]haCommand{}
	for _, cmd := range s.haQueue { // what it cannot do it drops, with a word in its own log alone
		if h, v := s.ha[cmd.vmid], s.services[cmd.vmid]; h != nil && v != nil && cmd.target == "" {
			h.state, v.timeout = haStopped, cmd.timeout
			if v.state == haStarted {
				v.become(haRequestStop)
			}
			continue
		}
		if v := s.services[cmd.vmid]; v != nil && v.node != cmd.target && s.hasNode(cmd.target) && s.isMember(cmd.target) && !slices.Contains(s.maintenance, cmd.target) {
			commands[cmd.vmid] = cmd
		}
	}
	s.haQueue = nil
	for again := true; again; {
		again = false
		for _, id := range slices.Sorted(maps.Keys(s.services)) {
			cmd, asked := commands[id]
			v := s.services[id]
			before := v.state
			if s.manageService(s.ha[id], v, s.guests[id], cmd, asked); v.state != before {
				delete(commands, id)
				again = true
			}
		}
	}
}

// manageNodes updates what the master knows of the nodes. A lost node with services is fenced after a minute. The state is locked.
func (s *Sim) manageNodes() {
	for _, n := range s.opts.Nodes {
		st := s.haNodeStates[n]
		if st == nil {
			st = &haNodeView{state: "online"}
			s.haNodeStates[n] = st
		}
		switch {
		case s.isMember(n):
			st.state = "online"
		case st.state == "online":
			st.state, st.since = "unknown", time.Now()
		case st.state == "unknown" && s.hasServices(n) && time.Since(st.since) >= (fenceRounds-1)*s.opts.HADelay:
			st.state = haFence
		}
	}
}

func (s *Sim) hasServices(node string) bool {
	for _, v := range s.services {
		if v.node == node && v.state != haStopped {
			return true
		}
	}
	return false
}

// manageService brings a service one state further. The state is locked.
//
// Source: PVE::HA::Manager next_state_request_stop, next_state_started, next_state_stopped, next_state_error, next_state_migrate_relocate, next_state_recovery.
func (s *Sim) manageService(h *haResource, v *haService, g *guest, cmd haCommand, asked bool) {
	wish := h.wish()
	if !s.isMember(v.node) && v.state != haFence && v.state != haRecovery {
		if s.haNodeStates[v.node].state == haFence && v.state != haStopped && v.state != haError {
			v.become(haFence)
		}
		return
	}
	switch v.state {
	case haError:
		if wish == "disabled" {
			v.become(haStopped)
			v.failed, v.relocated, v.running = 0, nil, false
		}
	case haStopped:
		switch {
		case wish == haStarted:
			v.running = false
			v.become(haStarted)
		case asked:
			v.move(cmd.target, cmd.relocates)
		}
	case haRequestStop:
		switch v.result {
		case haDone:
			v.running, v.failed, v.relocated = false, 0, nil
			v.become(haStopped)
		case haFailed, haRetry:
			v.become(haError)
		case haPending:
		}
	case haMigrating, haRelocating:
		if v.result == haPending {
			return
		}
		if v.result == haDone {
			v.node = v.target
		}
		v.running, v.arrived = false, true
		v.become(map[bool]string{true: haStarted, false: haRequestStop}[wish == haStarted])
	case haFence:
		if local := s.locals[v.node]; local == nil || time.Since(local.at) >= lockRounds*s.opts.HADelay {
			v.become(haRecovery)
		}
	case haRecovery:
		s.recover(h, v, g)
	case haStarted:
		s.manageStarted(h, v, cmd, asked)
	}
}

func (s *Sim) manageStarted(h *haResource, v *haService, cmd haCommand, asked bool) {
	switch {
	case h.wish() != haStarted:
		v.become(haRequestStop)
		return
	case asked:
		v.move(cmd.target, cmd.relocates)
		return
	}
	switch v.result {
	case haPending:
	case haDone:
		v.running, v.relocated = true, nil
	case haRetry:
		v.result = haPending
		return
	case haFailed:
		v.failed, v.relocated = 0, append(v.relocated, v.node)
		if len(v.relocated) > h.most("max_relocate") {
			v.become(haError)
			return
		}
		v.result = haPending // without another node it is tried again where it is
		if nodes := s.haNodes(h, v.node, v.relocated); len(nodes) > 0 {
			v.move(s.leastUsed(nodes), false)
		}
		return
	}
	if v.busy {
		return
	}
	if target := s.haTarget(h, v); target != "" && target != v.node {
		v.move(target, false)
	}
}

// leastUsed returns the first of the nodes with the fewest services, as the basic scheduler does. The state is locked.
func (s *Sim) leastUsed(nodes []string) string {
	uses := map[string]int{}
	for _, v := range s.services {
		if v.state != haStopped {
			uses[v.node]++
		}
	}
	if slices.Contains(nodes, s.preferred) {
		return s.preferred
	}
	return slices.MinFunc(nodes, func(a, b string) int { return uses[a] - uses[b] })
}

func (v *haService) move(target string, relocates bool) {
	v.become(map[bool]string{true: haRelocating, false: haMigrating}[relocates])
	v.target = target
}

// most returns a limit of the entry, which is 1 by default.
func (h *haResource) most(key string) int {
	if n := h.extra[key]; n != "" {
		return atoi(n)
	}
	return 1
}

// recover gives a guest of a fenced node to another node, which starts it. Without such a node it stays. The state is locked.
func (s *Sim) recover(h *haResource, v *haService, g *guest) {
	lost := v.node
	nodes := s.haNodes(h, v.node, nil)
	if len(nodes) == 0 {
		return
	}
	node := s.leastUsed(nodes)
	g.node, g.running, g.paused, g.movedTo = node, false, false, ""
	v.node, v.failed, v.busy, v.running = node, 0, false, false
	v.become(map[bool]string{true: haStarted, false: haRequestStop}[h.wish() == haStarted])
	s.countEffect(g.vmid, Migrated)
	if st := s.haNodeStates[lost]; !s.hasServices(lost) {
		st.state, st.since = "unknown", time.Now()
	}
}
