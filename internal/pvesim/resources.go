package pvesim

import (
	"slices"
	"time"
)

// clusterResources returns the inventory. Run states, names and sizes are those of the last broadcast; the rest is current.
func clusterResources(c *call) (reply, error) {
	s := c.sim
	s.broadcast()
	a := array{buf: make([]byte, 0, 320*len(s.guests))}
	typ, rows := c.params["type"], s.frontWorkerRows()
	if typ == "" || typ == "vm" {
		for _, id := range s.vmids() {
			if g := s.guests[id]; s.allows(c.caller, "/vms/"+itoa(id), "VM.Audit") {
				if f := s.frozen[c.local()]; f == nil || f.guests[id] != nil {
					a.add(c.resourceRow(g, rows))
				}
			}
		}
	}
	if typ == "" || typ == "node" {
		for _, n := range s.opts.Nodes {
			a.add(s.nodeRow(c, n, nodeInResources))
		}
	}
	if typ == "" || typ == "storage" {
		for _, n := range s.opts.Nodes {
			for _, st := range s.storages {
				if st.isOn(n) {
					a.add(st.resource(n, s.isExpired(n)))
				}
			}
		}
	}
	if typ == "" {
		for _, n := range s.opts.Nodes {
			var o object
			o.str("id", "network/"+n+"/zone/localnetwork")
			o.str("network", "localnetwork")
			o.str("network-type", "zone")
			o.str("node", n)
			o.str("status", "ok")
			o.str("type", "network")
			a.add(&o)
		}
	}
	return dataReply(a.bytes())
}

// resourceRow returns the row of a guest as the node that answers knows it. The state is locked.
func (c *call) resourceRow(g *guest, rows func(*guest) *row) *object {
	s, f := c.sim, c.sim.frozen[c.local()]
	switch {
	case f == nil:
		return s.resource(g, rows(g), s.haState(g.vmid), c.caller)
	case f.guests[g.vmid] != nil && f.guests[g.vmid].node != c.local():
		known := f.guests[g.vmid]
		if time.Since(s.cut[c.local()]) > broadcastLife {
			return s.resource(known, nil, f.states[g.vmid], c.caller)
		}
		return s.resource(known, known.lastBroadcast, f.states[g.vmid], c.caller)
	}
	r := s.rowOf(g)
	return s.resource(g, &r, f.states[g.vmid], c.caller)
}

// broadcast starts a new round of the status broadcast on the nodes where one is due. Nodes that are down do not take part. The state is locked.
func (s *Sim) broadcast() {
	var due []string
	for i, n := range s.opts.Nodes {
		if p := s.opts.ResourcesPeriod; p > 0 {
			// The rounds of two nodes are half a period apart, and none is at the time of a round of the HA manager.
			round := int64((time.Since(s.bootTime) + p*time.Duration(1+2*i)/4) / p)
			if round == s.rounds[n] {
				continue
			}
			s.rounds[n] = round
		}
		due = append(due, n)
	}
	if len(due) == 0 {
		return
	}
	for _, g := range s.guests {
		if !slices.Contains(due, g.node) {
			continue
		}
		if _, isCut := s.cut[g.node]; isCut || len(s.down) > 0 && slices.Contains(s.down, g.node) {
			continue
		}
		r := s.rowOf(g)
		g.lastBroadcast = &r
	}
}

// isExpired reports whether the last broadcast of a node is too old. The state is locked.
func (s *Sim) isExpired(node string) bool {
	_, isCut := s.cut[node]
	return (isCut || slices.Contains(s.down, node)) && time.Since(s.lostSince(node)) > broadcastLife
}

// broadcastLife is how long the broadcast of a node stays valid after its last round.
const broadcastLife = 300 * time.Second

// broadcastRow returns a guest's row in the broadcast, or nil if there is no row yet or the row has expired. The state is locked.
func (s *Sim) broadcastRow(g *guest) *row {
	if s.isExpired(g.node) {
		return nil
	}
	return g.lastBroadcast
}

// frontWorkers is the number of processes that answer calls without root privileges. Each caches the broadcast for Options.ResourcesCache.
const frontWorkers = 3

// broadcastCopy is the broadcast as one front worker last read it.
type broadcastCopy struct {
	at   time.Time
	rows map[int]*row
}

// frontWorkerRows returns the broadcast in the cache of the next front worker. The workers take turns, so a reply can be older than the reply
// before it. The state is locked.
func (s *Sim) frontWorkerRows() func(*guest) *row {
	if s.opts.ResourcesCache <= 0 {
		return s.broadcastRow
	}
	d := &s.broadcastCopies[s.nextFrontWorker]
	s.nextFrontWorker = (s.nextFrontWorker + 1) % frontWorkers
	if d.rows == nil || time.Since(d.at) >= s.opts.ResourcesCache {
		d.at, d.rows = time.Now(), make(map[int]*row, len(s.guests))
		for id, g := range s.guests {
			d.rows[id] = s.broadcastRow(g)
		}
	}
	return func(g *guest) *row { return d.rows[g.vmid] }
}

func (s *Sim) resource(g *guest, r *row, haState string, who *credential) *object {
	o := &object{buf: make([]byte, 0, 384)}
	o.str("id", string(g.kind)+"/"+itoa(g.vmid))
	o.str("type", string(g.kind))
	o.num("vmid", int64(g.vmid))
	o.str("node", g.node)
	if t := g.conf.Values["tags"]; t != "" {
		o.str("tags", t)
	}
	if l := g.conf.Values["lock"]; l != "" {
		o.str("lock", l)
	}
	if p := s.poolOf(g.vmid); p != "" && who != nil && s.allows(who, "/pool/"+p, "Pool.Audit") {
		o.str("pool", p)
	}
	if haState != "" {
		o.str("hastate", haState)
	}
	if r == nil {
		o.str("status", "unknown")
		return o
	}
	o.str("status", r.status)
	o.str("name", r.name)
	o.num("template", r.template)
	o.num("maxcpu", r.cpus)
	o.num("maxmem", r.maxmem)
	o.num("maxdisk", r.maxdisk)
	o.num("uptime", r.uptime)
	for _, k := range []string{"mem", "cpu", "disk", "diskread", "diskwrite", "netin", "netout"} {
		o.num(k, 0)
	}
	if s.major() >= 9 {
		o.num("memhost", 0)
	}
	return o
}
