package pvesim

import "time"

// clusterResources is the inventory. Run states, names and sizes come from the last broadcast round; the rest is current.
func clusterResources(c *call) (reply, error) {
	s := c.sim
	s.broadcast()
	a := array{buf: make([]byte, 0, 320*len(s.guests))}
	typ := c.params["type"]
	if typ == "" || typ == "vm" {
		for _, id := range s.vmids() {
			if g := s.guests[id]; s.allows(c.who, "/vms/"+itoa(id), "VM.Audit") {
				a.add(s.resource(g, c.who))
			}
		}
	}
	if typ == "" || typ == "node" {
		for _, n := range s.opts.Nodes {
			a.add(s.nodeRow(n, nodeInResources))
		}
	}
	if typ == "" || typ == "storage" {
		for _, n := range s.opts.Nodes {
			for _, st := range s.storages {
				a.add(st.resource(n))
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
	return data(a.bytes())
}

// broadcast takes a new round of the status broadcast if one is due. The state is locked.
func (s *Sim) broadcast() {
	if s.opts.ResourcesPeriod > 0 {
		n := int64(time.Since(s.booted) / s.opts.ResourcesPeriod)
		if n == s.round {
			return
		}
		s.round = n
	}
	for _, g := range s.guests {
		r := s.rowOf(g)
		g.seen = &r
	}
}

func (s *Sim) resource(g *guest, who *credential) *object {
	o := &object{buf: make([]byte, 0, 384)}
	o.str("id", string(g.kind)+"/"+itoa(g.vmid))
	o.str("type", string(g.kind))
	o.num("vmid", int64(g.vmid))
	o.str("node", g.node)
	if t := g.conf.values["tags"]; t != "" {
		o.str("tags", t)
	}
	if l := g.conf.values["lock"]; l != "" {
		o.str("lock", l)
	}
	if p := s.poolOf(g.vmid); p != "" && who != nil && s.allows(who, "/pool/"+p, "Pool.Audit") {
		o.str("pool", p)
	}
	r := g.seen
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
	for _, k := range []string{"mem", "memhost", "cpu", "disk", "diskread", "diskwrite", "netin", "netout"} {
		o.num(k, 0)
	}
	return o
}
