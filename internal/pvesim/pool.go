package pvesim

import (
	"maps"
	"net/http"
	"slices"
	"strings"
)

type pool struct {
	id       string
	comment  string
	vms      []int
	storages []string
}

// storedComment returns what Proxmox reads back of a comment. It is a field of a line of user.cfg: line breaks, colons and other characters than ASCII
// are escaped and come back, also in comments of thousands of characters. Blanks at both ends are lost, and so is a comment that Perl takes for false.
func storedComment(text string) string {
	text = strings.Trim(text, " ")
	if text == "0" {
		return ""
	}
	return text
}

// poolOf returns the name of a guest's pool, or "". The state is locked.
func (s *Sim) poolOf(vmid int) string {
	for id, p := range s.pools {
		if slices.Contains(p.vms, vmid) {
			return id
		}
	}
	return ""
}

func poolRoutes() []*route {
	change := map[string]rule{
		"comment": text(), "vms": checked(checkVMIDs), "storage": text(), "delete": boolean(), "allow-move": boolean(),
	}
	withID := map[string]rule{"poolid": text().needed()}
	maps.Copy(withID, change)
	allocate := func(c *call) error { return c.require("/pool/"+c.poolID(), "Pool.Allocate") }
	return []*route{
		readRoute("/pools", listPools).withParams(map[string]rule{"poolid": text(), "type": enum("qemu", "lxc", "storage")}),
		writeRoute(http.MethodPost, "/pools", createPool).withParams(map[string]rule{"poolid": text().needed(), "comment": text()}).withPermission(permitCreatePool),
		writeRoute(http.MethodPut, "/pools", updatePool).withParams(withID).withPermission(allocate),
		writeRoute(http.MethodDelete, "/pools", deletePool).withParams(map[string]rule{"poolid": text().needed()}).withPermission(allocate),
		readRoute("/pools/{poolid}", getPool).withParams(map[string]rule{"type": enum("qemu", "lxc", "storage")}),
		writeRoute(http.MethodPut, "/pools/{poolid}", updatePool).withParams(change).withPermission(allocate),
		writeRoute(http.MethodDelete, "/pools/{poolid}", deletePool).withPermission(allocate),
	}
}

func (c *call) poolID() string {
	if id := c.vars["poolid"]; id != "" {
		return id
	}
	return c.params["poolid"]
}

// permitCreatePool requires Pool.Allocate. It also rejects a name that no ACL path can contain, as Proxmox does.
func permitCreatePool(c *call) error {
	if strings.ContainsAny(c.params["poolid"], " !@") {
		return forbidden(", Pool.Allocate")
	}
	return c.require("/pool/"+c.params["poolid"], "Pool.Allocate")
}

// poolDetail selects how much of a pool is shown.
type poolDetail int

const (
	poolHead poolDetail = iota
	poolMembers
)

func (s *Sim) poolObject(p *pool, with poolDetail) *object {
	o := &object{}
	o.str("poolid", p.id)
	if p.comment != "" {
		o.str("comment", p.comment)
	}
	if with == poolHead {
		return o
	}
	s.broadcast()
	var a array
	for _, id := range p.vms {
		if g := s.guests[id]; g != nil {
			m := s.resource(g, s.broadcastRow(g), nil)
			a.add(m)
		}
	}
	for _, id := range p.storages {
		if st := s.storage(id); st != nil {
			a.add(st.resource(s.opts.Nodes[0]))
		}
	}
	o.raw("members", a.bytes())
	return o
}

func listPools(c *call) (reply, error) {
	s := c.sim
	if id := c.params["poolid"]; id != "" {
		p := s.pools[id] // without a privilege: Proxmox does not use the result of its check
		if p == nil {
			return reply{}, apiErrorf("pool '%s' does not exist", id)
		}
		var a array
		a.add(s.poolObject(p, poolMembers))
		return dataReply(a.bytes())
	}
	var a array
	for _, id := range slices.Sorted(maps.Keys(s.pools)) {
		if s.allows(c.caller, "/pool/"+id, "Pool.Audit") {
			a.add(s.poolObject(s.pools[id], poolHead))
		}
	}
	return dataReply(a.bytes())
}

func (c *call) visiblePool(id string) (*pool, error) {
	if err := c.require("/pool/"+id, "Pool.Audit"); err != nil {
		return nil, err
	}
	p := c.sim.pools[id]
	if p == nil {
		return nil, apiErrorf("pool '%s' does not exist", id)
	}
	return p, nil
}

func getPool(c *call) (reply, error) {
	p, err := c.visiblePool(c.poolID())
	if err != nil {
		return reply{}, err
	}
	return dataReply(c.sim.poolObject(p, poolMembers).bytes())
}

func createPool(c *call) (reply, error) {
	err := c.sim.locked(func() error {
		if err := c.checkClusterLock("create pool failed: ", "file-user_cfg"); err != nil {
			return err
		}
		id := c.poolID()
		if c.sim.pools[id] != nil {
			return apiErrorf("create pool failed: pool '%s' already exists", id)
		}
		c.sim.pools[id] = &pool{id: id, comment: storedComment(c.params["comment"])}
		return nil
	})
	if err != nil {
		return reply{}, err
	}
	return nullReply()
}

func updatePool(c *call) (reply, error) {
	err := c.sim.locked(func() error {
		if err := c.checkClusterLock("update pools failed: ", "file-user_cfg"); err != nil {
			return err
		}
		p := c.sim.pools[c.poolID()]
		if p == nil {
			return apiErrorf("update pools failed: pool '%s' does not exist", c.poolID())
		}
		next := *p
		next.vms, next.storages = slices.Clone(p.vms), slices.Clone(p.storages)
		if comment, ok := c.params["comment"]; ok {
			next.comment = storedComment(comment)
		}
		if err := c.changeMembers(&next); err != nil {
			return err
		}
		*p = next
		return nil
	})
	if err != nil {
		return reply{}, err
	}
	return nullReply()
}

func (c *call) changeMembers(p *pool) error {
	for _, v := range listOf(c.params["vms"]) {
		id := atoi(v)
		if err := c.requireAny("/vms/"+v, "VM.Allocate", "Permissions.Modify"); err != nil {
			return err
		}
		in := slices.Index(p.vms, id)
		switch other := c.sim.poolOf(id); {
		case c.flag("delete") && in < 0:
			return apiErrorf("update pools failed: VM %d is not a pool member", id)
		case c.flag("delete"):
			p.vms = slices.Delete(p.vms, in, in+1)
		case in >= 0:
			return apiErrorf("update pools failed: VM %d is already a pool member", id)
		case other != "" && !c.flag("allow-move"):
			return apiErrorf("update pools failed: VM %d belongs already to pool '%s' and allow-move is not set", id, other)
		case other != "" && c.require("/pool/"+other, "Pool.Allocate") != nil:
			return forbidden("/pool/" + other + ", Pool.Allocate")
		default:
			c.sim.removeFromPool(id)
			p.vms = append(p.vms, id)
		}
	}
	for _, st := range listOf(c.params["storage"]) {
		if err := c.requireAny("/storage/"+st, "Datastore.Allocate", "Permissions.Modify"); err != nil {
			return err
		}
		in := slices.Index(p.storages, st)
		switch {
		case c.flag("delete") && in < 0:
			return apiErrorf("update pools failed: Storage '%s' is not a pool member", st)
		case c.flag("delete"):
			p.storages = slices.Delete(p.storages, in, in+1)
		case in >= 0:
			return apiErrorf("update pools failed: Storage '%s' is already a pool member", st)
		default:
			p.storages = append(p.storages, st)
		}
	}
	return nil
}

func (s *Sim) removeFromPool(vmid int) {
	for _, p := range s.pools {
		p.vms = slices.DeleteFunc(p.vms, func(id int) bool { return id == vmid })
	}
}

func deletePool(c *call) (reply, error) {
	err := c.sim.locked(func() error {
		if err := c.checkClusterLock("delete pool failed: ", "file-user_cfg"); err != nil {
			return err
		}
		id := c.poolID()
		p := c.sim.pools[id]
		if p == nil {
			return apiErrorf("delete pool failed: pool '%s' does not exist", id)
		}
		for _, vm := range p.vms {
			if c.sim.guests[vm] != nil {
				return apiErrorf("delete pool failed: pool '%s' is not empty (contains VM %d)", id, vm)
			}
		}
		if len(p.storages) > 0 {
			return apiErrorf("delete pool failed: pool '%s' is not empty (contains storage '%s')", id, p.storages[0])
		}
		delete(c.sim.pools, id)
		return nil
	})
	if err != nil {
		return reply{}, err
	}
	return nullReply()
}
