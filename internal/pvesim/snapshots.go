package pvesim

import (
	"net/http"
	"slices"
	"strings"
)

func snapshotRoutes(kind Kind, path string) []*route {
	one := path + "/snapshot/{snapname}"
	return []*route{
		get(path+"/snapshot", listSnapshots(kind)).onGuest("VM.Audit"),
		act(http.MethodPost, path+"/snapshot", createSnapshot(kind)).takes(map[string]rule{
			"snapname": checked(checkConfigID).length(0, 40).needed(), "description": text(), "vmstate": boolean(),
		}).onGuest("VM.Snapshot"),
		index(one, "cmd", "rollback", "config").onGuest("VM.Snapshot"),
		act(http.MethodDelete, one, deleteSnapshot(kind)).takes(map[string]rule{"force": boolean()}).onGuest("VM.Snapshot"),
		act(http.MethodPost, one+"/rollback", rollbackSnapshot(kind)).takes(map[string]rule{"start": boolean()}).permits(func(c *call) error {
			return c.requireAny("/vms/"+c.vars["vmid"], "VM.Snapshot", "VM.Snapshot.Rollback")
		}),
		get(one+"/config", snapshotConfig(kind)).permits(func(c *call) error {
			return c.requireAny("/vms/"+c.vars["vmid"], "VM.Snapshot", "VM.Snapshot.Rollback", "VM.Audit")
		}),
		act(http.MethodPut, one+"/config", editSnapshot(kind)).takes(map[string]rule{"description": text()}).onGuest("VM.Snapshot"),
	}
}

func listSnapshots(kind Kind) func(*call) (reply, error) {
	return func(c *call) (reply, error) {
		g, err := c.sim.find(kind, c.node(), c.vmid())
		if err != nil {
			return reply{}, err
		}
		var a array
		for _, s := range g.conf.snaps {
			var o object
			o.str("name", s.name)
			o.str("description", s.values["description"])
			o.num("snaptime", int64(atoi(s.values["snaptime"])))
			if kind == QEMU {
				o.num("vmstate", b2i(s.values["vmstate"] != ""))
			}
			if p := s.values["parent"]; p != "" {
				o.str("parent", p)
			}
			a.add(&o)
		}
		var o object
		o.str("name", "current")
		o.str("description", "You are here!")
		o.str("digest", g.digest)
		o.num("running", b2i(g.running))
		if p := g.conf.values["parent"]; p != "" {
			o.str("parent", p)
		}
		a.add(&o)
		return data(a.bytes())
	}
}

func b2i(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

func deleteSnapshot(kind Kind) func(*call) (reply, error) {
	return func(c *call) (reply, error) {
		name := c.vars["snapname"]
		return c.start(typePrefix(kind)+"delsnapshot", c.vmid(), func(t *task) error {
			return t.onGuest(kind, c.vmid(), func() error {
				g, err := c.sim.find(kind, c.node(), c.vmid())
				if err != nil {
					return err
				}
				snap := g.conf.snap(name)
				if snap == nil {
					return die("snapshot '%s' does not exist", name)
				}
				if err := g.checkLock(); err != nil {
					return err
				}
				if v := snap.values["vmstate"]; v != "" {
					c.sim.free(v, loss("delete of snapshot "+name))
				}
				g.edit(func(conf *config) { conf.dropSnapshot(name) })
				c.sim.effect(g.vmid, SnapshotDeleted)
				return nil
			})
		})
	}
}

// dropSnapshot removes a snapshot; its children and the current state move to its parent.
func (c *config) dropSnapshot(name string) {
	parent := c.snap(name).values["parent"]
	adopt := func(v values) {
		if v["parent"] != name {
			return
		}
		delete(v, "parent")
		if parent != "" {
			v["parent"] = parent
		}
	}
	adopt(c.values)
	for _, s := range c.snaps {
		adopt(s.values)
	}
	c.snaps = slices.DeleteFunc(c.snaps, func(s snapshot) bool { return s.name == name })
}

func snapshotConfig(kind Kind) func(*call) (reply, error) {
	return func(c *call) (reply, error) {
		g, err := c.sim.find(kind, c.node(), c.vmid())
		if err != nil {
			return reply{}, err
		}
		snap := g.conf.snap(c.vars["snapname"])
		if snap == nil {
			return reply{}, die("snapshot '%s' does not exist", c.vars["snapname"])
		}
		var o object
		for k, v := range snap.values {
			writeValue(&o, kind, k, k, v)
		}
		return data(o.bytes())
	}
}

func editSnapshot(kind Kind) func(*call) (reply, error) {
	return func(c *call) (reply, error) {
		err := c.sim.withGuest(kind, c.vmid(), func() error {
			g, err := c.sim.find(kind, c.node(), c.vmid())
			if err != nil {
				return err
			}
			if err := g.checkLock(); err != nil {
				return err
			}
			if err := c.sim.mayWrite(g); err != nil {
				return err
			}
			if g.conf.snap(c.vars["snapname"]) == nil {
				return die("snapshot '%s' does not exist", c.vars["snapname"])
			}
			g.edit(func(conf *config) {
				conf.snap(c.vars["snapname"]).values["description"] = strings.TrimRight(c.params["description"], "\n")
			})
			return nil
		})
		if err != nil {
			return reply{}, err
		}
		return null()
	}
}
