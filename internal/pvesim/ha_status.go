package pvesim

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

// haState returns the state that lists show of a managed guest: that of the master's books, and the wish of an entry that it has not read. The state is locked.
func (s *Sim) haState(vmid int) string {
	if v := s.services[vmid]; v != nil {
		return v.state
	}
	if h := s.ha[vmid]; h != nil && (s.opts.HADelay >= 0 || h.wish() == haIgnored) {
		return h.wish()
	}
	return ""
}

// haNodeState returns the state that the master has of a node, "" if it never worked. The state is locked.
func (s *Sim) haNodeState(node string) string {
	if slices.Contains(s.maintenance, node) {
		return "maintenance"
	}
	if st := s.haNodeStates[node]; st != nil {
		return st.state
	}
	if s.haMaster == "" && len(s.maintenance) == 0 {
		return ""
	}
	return "online"
}

// deadAfter is how old the time stamp of a manager is when it counts as dead, in rounds.
const deadRounds = 3

// lrmRow returns what is known of the local manager of a node. The state is locked.
func (s *Sim) lrmRow(c *call, node string) *object {
	l := s.local(node)
	if !s.haRounds && s.isMember(node) {
		l.at = time.Now()
	}
	mode, watchdog, at := l.mode, "standby", s.lastSeen(c, l.at)
	switch {
	case s.isDead(at):
		mode = "old timestamp - dead?"
	case slices.Contains(s.maintenance, node):
		mode = "maintenance mode"
	}
	if l.mode == localActive && mode != "old timestamp - dead?" {
		watchdog = "active"
	}
	o := &object{}
	for _, kv := range [][2]string{
		{"id", "lrm:" + node}, {"type", "lrm"}, {"node", node}, {"status", node + " (" + mode + ", watchdog " + watchdog + ", " + at.Format(time.ANSIC) + ")"},
	} {
		o.str(kv[0], kv[1])
	}
	o.num("timestamp", at.Unix())
	return o
}

// lastSeen returns a time stamp as the node that answers knows it: a node without a quorum learns nothing. The state is locked.
func (s *Sim) lastSeen(c *call, at time.Time) time.Time {
	if since, isCut := s.cut[c.local()]; isCut && since.Before(at) {
		at = since
	}
	if s.lacksQuorum() && s.quorumLost.Before(at) {
		at = s.quorumLost
	}
	return at
}

// isDead reports whether a manager with the time stamp counts as dead.
func (s *Sim) isDead(at time.Time) bool {
	return s.opts.HADelay > 0 && time.Since(at) > deadRounds*s.opts.HADelay
}

func haStatus(c *call) (reply, error) {
	var a array
	s := c.sim
	var q, f object
	q.str("id", "quorum")
	q.str("type", "quorum")
	q.str("node", c.local())
	if s.isQuorate(c.local()) {
		q.str("status", "OK")
	} else {
		q.str("status", "No quorum on node '"+c.local()+"'!")
	}
	q.num("quorate", boolToInt(s.isQuorate(c.local())))
	a.add(&q)
	works, at := s.haMaster != "", s.lastSeen(c, s.lastHARound())
	if works {
		mode := "active"
		if s.isDead(at) {
			mode = "old timestamp - dead?"
		}
		var m object
		for _, kv := range [][2]string{
			{"id", "master"}, {"type", "master"}, {"node", s.haMaster}, {"status", s.haMaster + " (" + mode + ", " + at.Format(time.ANSIC) + ")"},
		} {
			m.str(kv[0], kv[1])
		}
		m.num("timestamp", at.Unix())
		a.add(&m)
	}
	f.str("id", "fencing")
	f.str("type", "fencing")
	f.str("node", cmp.Or(s.haMaster, s.opts.Nodes[0]))
	if works && !s.isDead(at) {
		f.str("status", "armed (CRM watchdog active)")
		f.str("armed-state", "armed")
	} else {
		f.str("status", "standby (CRM watchdog standby)")
		f.str("armed-state", "standby")
	}
	a.add(&f)
	for _, n := range s.opts.Nodes {
		if s.haNodeState(n) != "" {
			a.add(s.lrmRow(c, n))
		}
	}
	ids := slices.Collect(maps.Keys(s.ha))
	for id := range s.services {
		if s.ha[id] == nil {
			ids = append(ids, id)
		}
	}
	known := s.frozen[c.local()]
	for _, id := range slices.Sorted(slices.Values(ids)) {
		if known == nil || known.states[id] != "" {
			a.add(s.haServiceRow(id))
		}
	}
	return dataReply(a.bytes())
}

// haServiceRow returns what is known of a service, in words of its own: what the master does with it, and what it waits for. The state is locked.
//
// Source: PVE::API2::HA::Status get_verbose_service_state.
func (s *Sim) haServiceRow(id int) *object {
	h, v, g := s.ha[id], s.services[id], s.guests[id]
	o := &object{}
	node, sid := "", ""
	if g != nil {
		node = g.node
	}
	if v != nil {
		node, sid = v.node, (&haResource{vmid: id, kind: v.kind}).sid()
	}
	state := ""
	switch {
	case h == nil:
		state = "deleting"
	case h.wish() == haIgnored:
		state = haIgnored
	case v == nil:
		state = "queued"
	case v.state == haError && h.wish() == "disabled":
		state = "clearing error flag"
	case v.state == haStarted && h.wish() != haStarted:
		state = "stopping"
	case h.wish() == haStarted && (v.state == haStopped || v.state == haStarted && !v.running):
		state = "starting"
	case v.state == haStopped && h.wish() == "disabled":
		state = "disabled"
	default:
		state = v.state
	}
	if h != nil {
		sid = h.sid()
		o.str("request_state", h.wish())
		for _, k := range []string{"failback", "max_relocate", "max_restart"} {
			o.num(k, int64(h.most(k)))
		}
	}
	if v != nil {
		o.str("crm_state", v.state)
	}
	for _, kv := range [][2]string{
		{"id", "service:" + sid}, {"type", "service"}, {"sid", sid}, {"node", node}, {"state", state}, {"status", sid + " (" + node + ", " + state + ")"},
	} {
		o.str(kv[0], kv[1])
	}
	return o
}

// haManagerStatus returns the master's own file, those of the local managers, and whether the node that answers has a quorum.
func haManagerStatus(c *call) (reply, error) {
	s := c.sim
	var o, manager, nodes, services, locals, quorum object
	for _, n := range s.opts.Nodes {
		if state := s.haNodeState(n); state != "" {
			nodes.str(n, state)
		}
		if l := s.locals[n]; l != nil {
			var lo object
			lo.str("state", l.mode)
			lo.str("mode", map[bool]string{true: "maintenance", false: "active"}[slices.Contains(s.maintenance, n)])
			lo.num("timestamp", l.at.Unix())
			lo.raw("results", []byte("{}"))
			locals.raw(n, lo.bytes())
		}
	}
	for _, id := range slices.Sorted(maps.Keys(s.services)) {
		v := s.services[id]
		var so object
		so.str("state", v.state)
		so.str("node", v.node)
		if v.running {
			so.num("running", 1)
		}
		if v.target != "" {
			so.str("target", v.target)
		}
		services.raw((&haResource{vmid: id, kind: v.kind}).sid(), so.bytes())
	}
	manager.raw("node_status", nodes.bytes())
	if round := s.lastHARound(); !round.IsZero() && s.haMaster != "" {
		manager.str("master_node", s.haMaster)
		manager.num("timestamp", round.Unix())
		manager.raw("service_status", services.bytes())
	}
	quorum.str("quorate", itoa(int(boolToInt(s.isQuorate(c.local())))))
	quorum.str("node", c.local())
	o.raw("quorum", quorum.bytes())
	o.raw("manager_status", manager.bytes())
	if s.haMaster != "" {
		o.raw("lrm_status", locals.bytes())
	}
	return dataReply(o.bytes())
}
