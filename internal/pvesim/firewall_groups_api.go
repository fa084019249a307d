package pvesim

import (
	"fmt"
	"net/http"
	"strings"
)

// groupRoutes are the security groups of the cluster. Their list is open to every token.
func (f firewallScope) groupRoutes() []*route {
	name := matching(firewallName).length(0, 18)
	list := f.path + "/groups"
	routes := []*route{
		readRoute(list, func(c *call) (reply, error) { return firewallListReply(f.of(c).groupList()) }),
		writeRoute(http.MethodPost, list, f.createGroup).withPermission(f.write).
			withParams(map[string]rule{"group": name.needed(), "comment": text(), "rename": name, "digest": text().length(0, 64)}),
		writeRoute(http.MethodDelete, list+"/{group}", f.deleteGroup).withPermission(f.write),
	}
	rules := func(c *call) (ruleList, error) {
		g, err := f.group(c)
		if err != nil {
			return ruleList{}, err
		}
		return ruleList{env: groupRules, rules: &g.rules}, nil
	}
	return append(routes, ruleRoutes(list+"/{group}", rules, f.read, f.write)...)
}

func (f firewallScope) group(c *call) (*ruleGroup, error) {
	g := f.of(c).groups[c.vars["group"]]
	if g == nil {
		return nil, apiErrorf("no such security group '%s'", c.vars["group"])
	}
	return g, nil
}

// createGroup creates, renames or comments on a group. The names in the rules of guests stay.
func (f firewallScope) createGroup(c *call) (reply, error) {
	return c.changeFirewall(func() error {
		fw, name := f.of(c), strings.ToLower(c.params["group"])
		if err := c.checkFirewallDigest(firewallDigest(fw.groupList()...)); err != nil {
			return err
		}
		from, renames := c.params["rename"]
		from = strings.ToLower(from)
		switch {
		case renames && fw.groups[from] == nil:
			return paramError("group", fmt.Sprintf("Security group '%s' does not exist", c.params["rename"]))
		case fw.groups[name] != nil && (!renames || from != name):
			return paramError("group", fmt.Sprintf("Security group '%s' already exists", c.params["group"]))
		case !renames:
			fw.groups[name] = &ruleGroup{}
		default:
			g := fw.groups[from]
			delete(fw.groups, from)
			fw.groups[name] = g
		}
		if note, sent := c.params["comment"]; sent {
			fw.groups[name].comment = firewallLine(note)
		}
		return nil
	})
}

func (f firewallScope) deleteGroup(c *call) (reply, error) {
	return c.changeFirewall(func() error {
		g, err := f.group(c)
		if err != nil {
			return err
		}
		if len(g.rules) > 0 {
			return apiErrorf("Security group '%s' is not empty", c.vars["group"])
		}
		delete(f.of(c).groups, c.vars["group"])
		return nil
	})
}
