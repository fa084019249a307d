package pvesim

import (
	"maps"
	"net/http"
	"slices"
	"strings"
)

func clusterRoutes() []*route {
	return []*route{
		readRoute("/version", version),
		indexRoute("/cluster", "name", strings.Fields(`acme backup backup-info bulk-action ceph config firewall ha jobs log mapping metrics
			notifications nextid options qemu replication resources status tasks sdn`)...),
		readRoute("/cluster/resources", clusterResources).withParams(map[string]rule{"type": enum("vm", "storage", "node", "sdn")}),
		readRoute("/cluster/status", clusterStatus).withPermission(func(c *call) error { return c.require("/", "Sys.Audit") }),
		readRoute("/cluster/options", clusterOptions),
		readRoute("/cluster/nextid", nextID).withParams(map[string]rule{"vmid": vmidRule}),
		readRoute("/cluster/tasks", clusterTasks),
		readRoute("/access/permissions", permissions).withParams(map[string]rule{"path": text(), "userid": text()}),
		readRoute("/storage", storageConfigs).withParams(map[string]rule{"type": text()}),
		readRoute("/storage/{storage}", storageConfig),
		{method: http.MethodGet, path: "/", read: func(*call) (reply, error) {
			return dataReply(subdirs("subdir", "version", "cluster", "nodes", "storage", "access", "pools"))
		}},
	}
}

const repoID = "14a22df35955d97d"

func version(c *call) (reply, error) {
	var o object
	v := c.sim.release.Load().version
	parts := strings.SplitN(v, ".", 3)
	o.str("version", v)
	o.str("repoid", repoID)
	o.str("release", strings.Join(parts[:min(2, len(parts))], "."))
	return dataReply(o.bytes())
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
		o.num("quorate", boolToInt(c.sim.isQuorate(c.local())))
		a.add(&o)
	}
	for i, n := range c.sim.opts.Nodes {
		var o object
		o.str("type", "node")
		o.str("name", n)
		o.str("ip", "192.0.2."+itoa(10+i))
		local, id := int64(0), int64(i+1)
		if n == c.local() {
			local = 1
		}
		if len(c.sim.opts.Nodes) == 1 {
			id = 0
		}
		o.num("local", local)
		o.str("level", "")
		o.num("online", boolToInt(c.sim.sees(c.local(), n)))
		o.num("nodeid", id)
		o.str("id", "node/"+n)
		a.add(&o)
	}
	return dataReply(a.bytes())
}

// nextID returns the lowest free vmid and reserves nothing. With the parameter vmid it rejects that id if a guest has it.
func nextID(c *call) (reply, error) {
	if v := c.params["vmid"]; v != "" {
		if g := c.sim.guests[atoi(v)]; g != nil {
			return reply{}, paramError("vmid", g.label()+" "+v+" already exists")
		}
		return dataReply(jsonString(v))
	}
	d := c.sim.opts.Cluster
	id := c.sim.freeID(d.LowestID)
	if id >= d.HighestID {
		return reply{}, apiErrorf("unable to get any free VMID in range [%d, %d]", d.LowestID, d.HighestID-1)
	}
	return dataReply(jsonString(itoa(id)))
}

// freeID returns the lowest unused vmid that is not below from. The state is locked.
func (s *Sim) freeID(from int) int {
	for s.guests[from] != nil {
		from++
	}
	return from
}

// permissions shows the privileges of the caller. Those of another user need Sys.Audit on /access, those of an own token do not.
func permissions(c *call) (reply, error) {
	who := c.caller
	if id := c.params["userid"]; id != "" && id != who.ID {
		if owner, _, _ := strings.Cut(id, "!"); owner != who.ID {
			if err := c.require("/access", "Sys.Audit"); err != nil {
				return reply{}, err
			}
		}
		who = c.sim.account(id)
	}
	paths := []string{"/", "/access", "/access/groups", "/nodes", "/pool", "/sdn", "/storage", "/vms"}
	if p := c.params["path"]; p != "" {
		paths = []string{p}
	} else {
		for _, a := range who.ACL {
			if !slices.Contains(paths, a.Path) {
				paths = append(paths, a.Path)
			}
		}
	}
	var o object
	for _, p := range paths {
		held := map[string]bool{}
		for _, name := range privilegesOf("") {
			if name = c.sim.privilegeName(name); name != "" && c.sim.holds(who, p, name) {
				held[name] = true
			}
		}
		var po object
		for _, name := range slices.Sorted(maps.Keys(held)) {
			po.num(name, 1)
		}
		if len(held) > 0 || c.params["path"] != "" {
			o.raw(p, po.bytes())
		}
	}
	return dataReply(o.bytes())
}

// account returns the token or the user with the id. An unknown account has no privileges, except root@pam. The state is locked.
func (s *Sim) account(id string) *credential {
	switch {
	case s.tokens[id] != nil:
		return s.tokens[id]
	case s.users[id] != nil:
		return s.users[id]
	}
	return s.newCredential(Token{ID: id})
}
