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

var startsWithLetter = newPattern(`^[A-Za-z]`)

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
	name := checked(checkPool).needed()
	withID := map[string]rule{"poolid": name}
	maps.Copy(withID, change)
	guestKinds := enum("qemu", "lxc", "storage")
	allocate := func(c *call) error { return c.require("/pool/"+c.poolID(), "Pool.Allocate") }
	return []*route{
		readRoute("/pools", listPools).withParams(map[string]rule{"poolid": checked(checkPool), "type": guestKinds.with("poolid")}),
		writeRoute(http.MethodPost, "/pools", createPool).withParams(map[string]rule{"poolid": name, "comment": text()}).withPermission(permitCreatePool),
		writeRoute(http.MethodPut, "/pools", updatePool).withParams(withID).withPermission(allocate),
		writeRoute(http.MethodDelete, "/pools", deletePool).withParams(map[string]rule{"poolid": name}).withPermission(allocate),
		readRoute("/pools/{poolid}", getPool).withParams(map[string]rule{"type": guestKinds}).
			withPermission(func(c *call) error { return c.require("/pool/"+c.poolID(), "Pool.Audit") }),
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

// summary returns the pool without its members.
func (p *pool) summary() *object {
	o := &object{}
	o.str("poolid", p.id)
	if p.comment != "" {
		o.str("comment", p.comment)
	}
	return o
}

// withMembers returns the pool with its members of the kind qemu, lxc or storage, or with all of them.
func (s *Sim) withMembers(p *pool, kind string) *object {
	o := p.summary()
	s.broadcast()
	var a array
	for _, id := range p.vms {
		if g := s.guests[id]; g != nil && (kind == "" || kind == string(g.kind)) {
			a.add(s.resource(g, s.broadcastRow(g), s.haState(g.vmid), nil))
		}
	}
	for _, id := range p.storages {
		if st := s.storage(id); st != nil && (kind == "" || kind == "storage") {
			a.add(st.resource(s.opts.Nodes[0], false))
		}
	}
	o.raw("members", a.bytes())
	return o
}

// listPools lists the pools that the caller may see, or one pool with its members. Proxmox checks the privilege on that pool and ignores the result.
//
// Source: PVE::API2::Pool index.
func listPools(c *call) (reply, error) {
	s := c.sim
	var a array
	if id := c.params["poolid"]; id != "" {
		p := s.pools[id]
		if p == nil {
			return reply{}, apiErrorf("pool '%s' does not exist", id)
		}
		a.add(s.withMembers(p, c.params["type"]))
		return dataReply(a.bytes())
	}
	pools := s.pools
	if f := s.frozen[c.local()]; f != nil {
		pools = f.pools
	}
	for _, id := range slices.Sorted(maps.Keys(pools)) {
		if s.allows(c.caller, "/pool/"+id, "Pool.Audit") {
			a.add(pools[id].summary())
		}
	}
	return dataReply(a.bytes())
}

func getPool(c *call) (reply, error) {
	p := c.sim.pools[c.poolID()]
	if p == nil {
		return reply{}, apiErrorf("pool '%s' does not exist", c.poolID())
	}
	return dataReply(c.sim.withMembers(p, c.params["type"]).bytes())
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
		leaf := id
		if i := strings.LastIndexByte(id, '/'); i >= 0 {
			if c.sim.pools[id[:i]] == nil {
				return apiErrorf("create pool failed: parent '%s' of pool '%s' does not exist", id[:i], id)
			}
			leaf = id[i+1:]
		}
		if !startsWithLetter.MatchString(leaf) {
			return apiErrorf("create pool failed: pool name must start with a letter")
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
		if err := c.requireAny("/vms/"+v, "Permissions.Modify", "VM.Allocate"); err != nil {
			return failedUpdate(err)
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
			return apiErrorf("update pools failed: VM %d belongs already to pool '%s' and 'allow-move' is not set", id, other)
		case other != "" && c.require("/pool/"+other, "Pool.Allocate") != nil:
			return failedUpdate(forbidden("/pool/" + other + ", Pool.Allocate"))
		default:
			c.sim.removeFromPool(id)
			p.vms = append(p.vms, id)
		}
	}
	for _, st := range listOf(c.params["storage"]) {
		if err := c.requireAny("/storage/"+st, "Permissions.Modify", "Datastore.Allocate"); err != nil {
			return failedUpdate(err)
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

// failedUpdate returns the error of a check inside the lock of the pools.
func failedUpdate(err error) error { return apiErrorf("update pools failed: %s", inTask(err)) }

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
		for _, child := range slices.Sorted(maps.Keys(c.sim.pools)) {
			if strings.HasPrefix(child, id+"/") {
				return apiErrorf("delete pool failed: pool '%s' is not empty (contains pool '%s')", id, child)
			}
		}
		for _, vm := range p.vms {
			if c.sim.guests[vm] != nil {
				return apiErrorf("delete pool failed: pool '%s' is not empty (contains VM %d)", id, vm)
			}
		}
		for _, name := range slices.Sorted(slices.Values(p.storages)) {
			if c.sim.storage(name) != nil { // a storage that was removed keeps no pool
				return apiErrorf("delete pool failed: pool '%s' is not empty (contains storage '%s')", id, name)
			}
		}
		delete(c.sim.pools, id)
		return nil
	})
	if err != nil {
		return reply{}, err
	}
	return nullReply()
}
