package pvesim

import (
	"maps"
	"net/http"
	"slices"
	"strings"

	"gitops-agent/internal/pvesim/configtext"
)

// Release 8 places managed guests by groups of nodes, of which each guest may have one, and release 9 by the rules of ha_rules.go. The manager moves no guest
// because of either.

// haGroup has the values of a group: nodes, restricted, nofailback, comment.
type haGroup = values

// haGroupOptions are the parameters of a group, beside its name.
var haGroupOptions = map[string]rule{"nodes": checked(checkHANodes), "comment": text().length(0, 4096), "restricted": boolean(), "nofailback": boolean()}

func haGroupRoutes() []*route {
	audit := func(c *call) error { return c.require("/", "Sys.Audit") }
	console := func(c *call) error { return c.require("/", "Sys.Console") }
	create, change := maps.Clone(haGroupOptions), maps.Clone(haGroupOptions)
	create["group"], create["nodes"], create["type"] = checked(checkConfigID).needed(), checked(checkHANodes).needed(), enum("group")
	change["delete"], change["digest"] = text(), text()
	return []*route{
		readRoute("/cluster/ha/groups", listHAGroups).withPermission(audit),
		writeRoute(http.MethodPost, "/cluster/ha/groups", createHAGroup).withParams(create).withPermission(console),
		readRoute("/cluster/ha/groups/{group}", getHAGroup).withPermission(audit),
		writeRoute(http.MethodPut, "/cluster/ha/groups/{group}", changeHAGroup).withParams(change).withPermission(console),
		writeRoute(http.MethodDelete, "/cluster/ha/groups/{group}", deleteHAGroup).withPermission(console),
	}
}

// requireGroups rejects a call about groups on a cluster that has none any more. The state is locked.
func (s *Sim) requireGroups(doing string) error {
	if s.hasGroups() {
		return nil
	}
	return apiErrorf("cannot %s: ha groups have been migrated to rules", doing)
}

// hasGroups reports whether the manager works with groups: on release 8, and on release 9 until it has migrated those that exist. The state is locked.
func (s *Sim) hasGroups() bool { return s.major() < 9 || len(s.haGroups) > 0 }

// haGroupObject returns a group with its nodes in any order, as Perl prints the keys of a hash. The state is locked.
func (s *Sim) haGroupObject(name, digest string) *object {
	o := &object{}
	o.str("group", name)
	o.str("type", "group")
	o.str("digest", digest)
	for _, k := range sortedKeys(s.haGroups[name]) {
		switch v := s.haGroups[name][k]; k {
		case "restricted", "nofailback":
			o.num(k, int64(atoi(v)))
		case "nodes":
			nodes := listOf(v)
			s.rng.Shuffle(len(nodes), func(i, j int) { nodes[i], nodes[j] = nodes[j], nodes[i] })
			o.str(k, strings.Join(nodes, ","))
		default:
			o.str(k, v)
		}
	}
	return o
}

// haGroupsDigest returns the digest of the file with all groups, which every group shows. The state is locked.
func (s *Sim) haGroupsDigest() string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(s.haGroups)) {
		b.WriteString("group: " + name + "\n")
		for _, k := range sortedKeys(s.haGroups[name]) {
			b.WriteString("\t" + k + " " + s.haGroups[name][k] + "\n")
		}
	}
	return configtext.Digest(b.String())
}

func listHAGroups(c *call) (reply, error) {
	if err := c.sim.requireGroups("index groups"); err != nil {
		return reply{}, err
	}
	var a array
	digest := c.sim.haGroupsDigest()
	for _, name := range slices.Sorted(maps.Keys(c.sim.haGroups)) {
		a.add(c.sim.haGroupObject(name, digest))
	}
	return dataReply(a.bytes())
}

func getHAGroup(c *call) (reply, error) {
	if err := c.sim.requireGroups("read group"); err != nil {
		return reply{}, err
	}
	name := c.vars["group"]
	if c.sim.haGroups[name] == nil {
		return reply{}, apiErrorf("no such ha group '%s'", name)
	}
	return dataReply(c.sim.haGroupObject(name, c.sim.haGroupsDigest()).bytes())
}

// updateHAGroups runs a change of the groups with the state locked. Doing is what a cluster without groups refuses, and failed begins the other errors.
func (c *call) updateHAGroups(doing, failed string, change func() error) (reply, error) {
	return c.updateHA(failed, change, func() error { return c.sim.requireGroups(doing) })
}

func createHAGroup(c *call) (reply, error) {
	return c.updateHAGroups("create group", "create ha group failed: ", func() error {
		name := c.params["group"]
		if c.sim.haGroups[name] != nil {
			return apiErrorf("ha group ID '%s' already defined", name)
		}
		g := haGroup(maps.Clone(c.params))
		delete(g, "group")
		delete(g, "type")
		c.sim.haGroups[name] = g
		return nil
	})
}

func changeHAGroup(c *call) (reply, error) {
	return c.updateHAGroups("update group", "update ha group failed: ", func() error {
		g := c.sim.haGroups[c.vars["group"]]
		if d := c.params["digest"]; d != "" && d != c.sim.haGroupsDigest() {
			return apiErrorf("detected modified configuration - file changed by other user? Try again.")
		}
		if g == nil {
			return apiErrorf("no such ha group '%s'", c.vars["group"])
		}
		gone := listOf(c.params["delete"])
		for _, k := range gone {
			if _, known := haGroupOptions[k]; !known {
				return apiErrorf("no such option '%s'", k)
			}
			if k == "nodes" {
				return apiErrorf("unable to delete required option '%s'", k)
			}
		}
		for k, v := range c.params {
			if k != "delete" && k != "digest" {
				g[k] = v
			}
		}
		for _, k := range gone {
			delete(g, k)
		}
		return nil
	})
}

// deleteHAGroup removes a group that no guest has. A group that does not exist is not an error.
func deleteHAGroup(c *call) (reply, error) {
	return c.updateHAGroups("delete group", "delete ha group failed: ", func() error {
		name := c.vars["group"]
		if members := c.sim.haGroupMembers(name); len(members) > 0 {
			return apiErrorf("ha group is used by service '%s'", members[0])
		}
		delete(c.sim.haGroups, name)
		return nil
	})
}

// haGroupMembers returns the resources that have a group, sorted. The state is locked.
func (s *Sim) haGroupMembers(name string) []string {
	var members []string
	for _, h := range s.ha {
		if h.extra["group"] == name {
			members = append(members, h.sid())
		}
	}
	slices.Sort(members)
	return members
}

// checkGroup rejects a group that a call gives to a managed guest and that does not exist, or on a cluster without groups. The state is locked.
func (c *call) checkGroup(creates bool) error {
	switch name := c.params["group"]; {
	case name == "":
		return nil
	case !c.sim.hasGroups():
		return apiErrorf("invalid parameter 'group': ha groups have been migrated to rules")
	case !creates && c.sim.haGroups[name] == nil:
		return apiErrorf("HA group '%s' does not exist", name)
	}
	return nil
}
