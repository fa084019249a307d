package pvesim

import (
	"net/http"
	"strings"
)

func snapshotRoutes(kind Kind, path string) []*route {
	one := path + "/snapshot/{snapname}"
	create := map[string]rule{"snapname": checked(checkConfigID).length(0, 40).needed(), "description": text()}
	if kind == QEMU {
		create["vmstate"] = boolean()
	}
	return []*route{
		featureRoute(kind, path),
		readRoute(path+"/snapshot", listSnapshots(kind)).withGuestPrivilege("VM.Audit"),
		writeRoute(http.MethodPost, path+"/snapshot", createSnapshot(kind)).withParams(create).withGuestPrivilege("VM.Snapshot"),
		indexRoute(one, "cmd", "rollback", "config").withGuestPrivilege("VM.Snapshot"),
		writeRoute(http.MethodDelete, one, deleteSnapshot(kind)).withParams(map[string]rule{"force": boolean()}).withGuestPrivilege("VM.Snapshot"),
		writeRoute(http.MethodPost, one+"/rollback", rollbackSnapshot(kind)).withParams(map[string]rule{"start": boolean()}).withPermission(func(c *call) error {
			return c.requireAny("/vms/"+c.vars["vmid"], "VM.Snapshot", "VM.Snapshot.Rollback")
		}),
		readRoute(one+"/config", snapshotConfig(kind)).withPermission(func(c *call) error {
			return c.requireAny("/vms/"+c.vars["vmid"], "VM.Snapshot", "VM.Snapshot.Rollback", "VM.Audit")
		}),
		writeRoute(http.MethodPut, one+"/config", editSnapshot(kind)).withParams(map[string]rule{"description": text()}).withGuestPrivilege("VM.Snapshot"),
	}
}

func listSnapshots(kind Kind) func(*call) (reply, error) {
	return func(c *call) (reply, error) {
		g, err := c.sim.find(kind, c.node(), c.vmid())
		if err != nil {
			return reply{}, err
		}
		var a array
		for _, s := range g.conf.Snapshots {
			var o object
			o.str("name", s.Name)
			o.str("description", s.Values["description"])
			o.num("snaptime", int64(atoi(s.Values["snaptime"])))
			if kind == QEMU {
				o.num("vmstate", boolToInt(s.Values["vmstate"] != ""))
			}
			for _, k := range []string{"parent", "snapstate"} {
				if v := s.Values[k]; v != "" {
					o.str(k, v)
				}
			}
			a.add(&o)
		}
		var o object
		o.str("name", "current")
		o.str("description", "You are here!")
		o.str("digest", g.digest)
		o.num("running", boolToInt(g.running))
		if p := g.conf.Values["parent"]; p != "" {
			o.str("parent", p)
		}
		a.add(&o)
		return dataReply(a.bytes())
	}
}

// isInSnapshot reports whether a snapshot of the guest has the volume.
func (g *guest) isInSnapshot(volume string) bool {
	for _, snap := range g.conf.Snapshots {
		for _, slot := range diskSlots(g.kind, snap.Values) {
			if d, err := parseDisk(g.kind, slot, snap.Values[slot]); err == nil && d.file() == volume {
				return true
			}
		}
	}
	return false
}

func deleteSnapshot(kind Kind) func(*call) (reply, error) {
	return func(c *call) (reply, error) {
		name := c.vars["snapname"]
		return c.start(typePrefix(kind)+"delsnapshot", c.vmid(), func(t *task) error {
			return t.runOnGuest(kind, c.vmid(), func() error {
				g, err := c.sim.find(kind, c.node(), c.vmid())
				if err != nil {
					return err
				}
				snap := g.conf.Snapshot(name)
				if snap == nil {
					return apiErrorf("snapshot '%s' does not exist", name)
				}
				if err := g.checkLock(); err != nil {
					return err
				}
				if v := snap.Values["vmstate"]; v != "" {
					c.sim.free(v, freeReason("delete of snapshot "+name))
				}
				g.edit(func(conf *config) { conf.DropSnapshot(name) })
				c.sim.countEffect(g.vmid, SnapshotDeleted)
				return nil
			})
		})
	}
}

func snapshotConfig(kind Kind) func(*call) (reply, error) {
	return func(c *call) (reply, error) {
		g, err := c.sim.find(kind, c.node(), c.vmid())
		if err != nil {
			return reply{}, err
		}
		snap := g.conf.Snapshot(c.vars["snapname"])
		if snap == nil {
			return reply{}, apiErrorf("snapshot '%s' does not exist", c.vars["snapname"])
		}
		var o object
		for k, v := range snap.Values {
			writeValue(&o, kind, k, k, v)
		}
		return dataReply(o.bytes())
	}
}

func editSnapshot(kind Kind) func(*call) (reply, error) {
	return func(c *call) (reply, error) {
		err := c.sim.withGuestLock(kind, c.vmid(), func() error {
			g, err := c.sim.find(kind, c.node(), c.vmid())
			if err != nil {
				return err
			}
			if err := g.checkLock(); err != nil {
				return err
			}
			if err := c.sim.checkWritable(g); err != nil {
				return err
			}
			if g.conf.Snapshot(c.vars["snapname"]) == nil {
				return apiErrorf("snapshot '%s' does not exist", c.vars["snapname"])
			}
			g.edit(func(conf *config) {
				v := conf.Snapshot(c.vars["snapname"]).Values
				switch d, given := c.params["description"]; {
				case !given:
				case strings.TrimSpace(d) == "":
					delete(v, "description")
				default:
					v["description"] = strings.TrimRight(d, " \n")
				}
			})
			return nil
		})
		if err != nil {
			return reply{}, err
		}
		return nullReply()
	}
}
