package pvesim

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"
)

func clusterRoutes() []*route {
	return []*route{
		get("/version", version),
		index("/cluster", "name", strings.Fields(`acme backup backup-info bulk-action ceph config firewall ha jobs log mapping metrics
			notifications nextid options qemu replication resources status tasks sdn`)...),
		get("/cluster/resources", clusterResources).takes(map[string]rule{"type": enum("vm", "storage", "node", "sdn")}),
		get("/cluster/status", clusterStatus),
		get("/cluster/options", clusterOptions),
		get("/cluster/nextid", nextID).takes(map[string]rule{"vmid": vmidRule}),
		get("/cluster/tasks", clusterTasks),
		get("/access/permissions", permissions).takes(map[string]rule{"path": text(), "userid": text()}),
		get("/storage", storageConfigs).takes(map[string]rule{"type": text()}),
		get("/storage/{storage}", storageConfig),
		{method: http.MethodGet, path: "/", read: func(*call) (reply, error) {
			return data(subdirs("subdir", "version", "cluster", "nodes", "storage", "access", "pools"))
		}},
	}
}

func emptyList(*call) (reply, error) { return data([]byte("[]")) }

const repoID = "14a22df35955d97d"

func version(c *call) (reply, error) {
	var o object
	v := c.sim.opts.Version
	parts := strings.SplitN(v, ".", 3)
	o.str("version", v)
	o.str("repoid", repoID)
	o.str("release", strings.Join(parts[:min(2, len(parts))], "."))
	return data(o.bytes())
}

func clusterStatus(c *call) (reply, error) {
	var a array
	if len(c.sim.opts.Nodes) > 1 {
		var o object
		o.str("type", "cluster")
		o.str("id", "cluster")
		o.str("name", "sim")
		o.num("version", int64(len(c.sim.opts.Nodes)))
		o.num("nodes", int64(len(c.sim.opts.Nodes)))
		o.num("quorate", 1)
		a.add(&o)
	}
	for i, n := range c.sim.opts.Nodes {
		var o object
		o.str("type", "node")
		o.str("name", n)
		o.str("ip", "192.0.2."+itoa(10+i))
		local, id := int64(0), int64(i+1)
		if i == 0 {
			local = 1
		}
		if len(c.sim.opts.Nodes) == 1 {
			id = 0
		}
		o.num("local", local)
		o.str("level", "")
		o.num("online", 1)
		o.num("nodeid", id)
		o.str("id", "node/"+n)
		a.add(&o)
	}
	return data(a.bytes())
}

func clusterOptions(*call) (reply, error) {
	var o object
	o.str("mac_prefix", "BC:24:11")
	o.raw("allowed-tags", []byte("[]"))
	o.str("description", "")
	return data(o.bytes())
}

// nextID hands out the lowest free id and reserves nothing; asked for one id, it refuses one that exists.
func nextID(c *call) (reply, error) {
	if v := c.params["vmid"]; v != "" {
		if g := c.sim.guests[atoi(v)]; g != nil {
			return reply{}, badParam("vmid", g.label()+" "+v+" already exists")
		}
		return data(jsonString(v))
	}
	return data(jsonString(itoa(c.sim.freeID(100))))
}

// freeID is the lowest unused vmid from the given one on. The state is locked.
func (s *Sim) freeID(from int) int {
	for s.guests[from] != nil {
		from++
	}
	return from
}

func permissions(c *call) (reply, error) {
	paths := []string{"/", "/access", "/access/groups", "/nodes", "/pool", "/sdn", "/storage", "/vms"}
	if p := c.params["path"]; p != "" {
		paths = []string{p}
	} else {
		for _, a := range c.who.ACL {
			if !slices.Contains(paths, a.Path) {
				paths = append(paths, a.Path)
			}
		}
	}
	var o object
	for _, p := range paths {
		privs := c.who.privileges(p)
		if len(privs) == 0 {
			continue
		}
		var po object
		for _, name := range slices.Sorted(maps.Keys(privs)) {
			po.num(name, 1)
		}
		o.raw(p, po.bytes())
	}
	return data(o.bytes())
}

func storageConfigs(c *call) (reply, error) {
	var a array
	for _, st := range c.sim.storages {
		if t := c.params["type"]; t != "" && t != st.Type {
			continue
		}
		a.add(st.settings())
	}
	return data(a.bytes())
}

func storageConfig(c *call) (reply, error) {
	st, err := c.storage()
	if err != nil {
		return reply{}, err
	}
	return data(st.settings().bytes())
}

// settings is the storage's section of the storage configuration.
func (st *storage) settings() *object {
	o := &object{}
	o.str("storage", st.ID)
	o.str("type", st.Type)
	o.str("content", st.Content)
	if st.Type == "dir" {
		o.str("path", st.Path)
		if st.ID == "local" {
			o.str("prune-backups", "keep-all=1")
		}
	} else {
		o.str("thinpool", "data")
		o.str("vgname", "pve")
	}
	o.str("digest", digest(st.ID+st.Content))
	return o
}

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
