package pvesim

import (
	"maps"
	"net/http"
	"slices"
)

// Release 8 places managed guests by groups of nodes, release 9 by the rules of ha_rules.go. The simulator stores and shows both; neither moves a guest.

func haPlacementRoutes() []*route {
	audit := func(c *call) error { return c.require("/", "Sys.Audit") }
	console := func(c *call) error { return c.require("/", "Sys.Console") }
	group := map[string]rule{"nodes": text(), "comment": text(), "restricted": boolean(), "nofailback": boolean()}
	newGroup := maps.Clone(group)
	newGroup["group"], newGroup["nodes"], newGroup["type"] = checked(checkConfigID).needed(), text().needed(), enum("group")
	group["delete"], group["digest"] = text(), text()
	return []*route{
		readRoute("/cluster/ha/groups", listPlacements(8)).withPermission(audit),
		writeRoute(http.MethodPost, "/cluster/ha/groups", createPlacement(8, "group")).withParams(newGroup).withPermission(console),
		readRoute("/cluster/ha/groups/{placement}", getPlacement(8)).withPermission(audit),
		writeRoute(http.MethodPut, "/cluster/ha/groups/{placement}", changePlacement(8)).withParams(group).withPermission(console),
		writeRoute(http.MethodDelete, "/cluster/ha/groups/{placement}", deletePlacement(8)).withPermission(console),
	}
}

// requireRelease rejects a call that the cluster's release does not have yet or no longer has.
func (c *call) requireRelease(release int) error {
	switch {
	case c.sim.major() == release:
		return nil
	case release == 9:
		return notImplemented(c.method, c.path)
	}
	if c.method == http.MethodPost {
		return apiErrorf("cannot create group: ha groups have been migrated to rules")
	}
	return apiErrorf("cannot index groups: ha groups have been migrated to rules")
}

func (s *Sim) placement(name string) *object {
	o := &object{}
	p := s.placements[name]
	for _, k := range slices.Sorted(maps.Keys(p)) {
		if integerText.MatchString(p[k]) && k != "comment" {
			o.num(k, int64(atoi(p[k])))
		} else {
			o.str(k, p[k])
		}
	}
	return o
}

func listPlacements(release int) func(*call) (reply, error) {
	return func(c *call) (reply, error) {
		if err := c.requireRelease(release); err != nil {
			return reply{}, err
		}
		var a array
		for _, name := range slices.Sorted(maps.Keys(c.sim.placements)) {
			p := c.sim.placements[name]
			if t := c.params["type"]; t != "" && t != p["type"] {
				continue
			}
			a.add(c.sim.placement(name))
		}
		return dataReply(a.bytes())
	}
}

func getPlacement(release int) func(*call) (reply, error) {
	return func(c *call) (reply, error) {
		if err := c.requireRelease(release); err != nil {
			return reply{}, err
		}
		if err := c.sim.hasPlacement(c.vars["placement"]); err != nil {
			return reply{}, err
		}
		return dataReply(c.sim.placement(c.vars["placement"]).bytes())
	}
}

func (s *Sim) hasPlacement(name string) error {
	if s.placements[name] == nil {
		return apiErrorf("no such ha group '%s'", name)
	}
	return nil
}

// updatePlacements runs a change of the groups or rules with the state locked.
func (c *call) updatePlacements(release int, change func() error) (reply, error) {
	err := c.sim.locked(func() error {
		if err := c.requireRelease(release); err != nil {
			return err
		}
		if err := c.checkClusterLock("", "domain-ha"); err != nil {
			return err
		}
		return change()
	})
	if err != nil {
		return reply{}, err
	}
	return nullReply()
}

func createPlacement(release int, key string) func(*call) (reply, error) {
	return func(c *call) (reply, error) {
		return c.updatePlacements(release, func() error {
			name := c.params[key]
			if c.sim.placements[name] != nil {
				return apiErrorf("create %s failed: %s ID '%s' already defined", key, key, name)
			}
			p := values(maps.Clone(c.params))
			if p["type"] == "" {
				p["type"] = "group"
			}
			c.sim.placements[name] = p
			return nil
		})
	}
}

func changePlacement(release int) func(*call) (reply, error) {
	return func(c *call) (reply, error) {
		return c.updatePlacements(release, func() error {
			name := c.vars["placement"]
			if err := c.sim.hasPlacement(name); err != nil {
				return err
			}
			p := c.sim.placements[name]
			for k, v := range c.params {
				if k != "delete" && k != "digest" {
					p[k] = v
				}
			}
			for _, k := range listOf(c.params["delete"]) {
				delete(p, k)
			}
			return nil
		})
	}
}

func deletePlacement(release int) func(*call) (reply, error) {
	return func(c *call) (reply, error) {
		return c.updatePlacements(release, func() error {
			if err := c.sim.hasPlacement(c.vars["placement"]); err != nil {
				return err
			}
			delete(c.sim.placements, c.vars["placement"])
			return nil
		})
	}
}
