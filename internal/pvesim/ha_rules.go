package pvesim

import (
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"

	"gitops-agent/internal/pvesim/configtext"
)

// haRule is a rule of the HA manager of release 9.
type haRule struct {
	name   string
	values values // type, resources, nodes, affinity, strict, disable, comment
}

const (
	nodeAffinity     = "node-affinity"
	resourceAffinity = "resource-affinity"
)

// haRuleOptions are the parameters of each type of rule. All but strict are required.
var haRuleOptions = map[string]map[string]rule{
	nodeAffinity:     {"resources": checked(checkHAResources), "nodes": checked(checkHANodes), "strict": boolean()},
	resourceAffinity: {"resources": checked(checkHAResources), "affinity": enum("positive", "negative")},
}

var haRuleCommon = map[string]rule{
	"type": enum(nodeAffinity, resourceAffinity).needed(), "comment": text().length(0, 4096), "disable": boolean(),
}

var (
	haResourceID = newPattern(`^(?:vm|ct):[1-9]\d{2,8}$`)
	notASCII     = newPattern(`[^\x00-\x7f]`)
	haNode       = newPattern(`^[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?(?::\d+)?$`)
)

func checkHAResources(s string) error {
	for _, id := range listOf(s) {
		if !haResourceID.MatchString(id) {
			return errors.New("value does not look like a valid ha resource id")
		}
	}
	return nil
}

func checkHANodes(s string) error {
	for _, n := range listOf(s) {
		if !haNode.MatchString(n) {
			return errors.New("value does not look like a valid ha node")
		}
	}
	return nil
}

func haRuleRoutes() []*route {
	audit := func(c *call) error { return c.require("/", "Sys.Audit") }
	console := func(c *call) error { return c.require("/", "Sys.Console") }
	create, change := maps.Clone(haRuleCommon), maps.Clone(haRuleCommon)
	create["rule"] = checked(checkConfigID).needed()
	change["delete"], change["digest"] = text(), text()
	return []*route{
		indexRoute("/cluster/ha", "id", "status", "resources", "groups", "rules").withPermission(audit),
		indexRoute("/cluster/ha/status", "name", "current", "manager_status", "disarm-ha", "arm-ha").withPermission(audit),
		readRoute("/cluster/ha/rules", listHARules).withParams(map[string]rule{"type": enum(nodeAffinity, resourceAffinity), "resource": text()}).withPermission(audit),
		writeRoute(http.MethodPost, "/cluster/ha/rules", createHARule).withSchema(params(create), verifyHARule(true)).withPermission(console),
		readRoute("/cluster/ha/rules/{rule}", getHARule).withPermission(audit),
		writeRoute(http.MethodPut, "/cluster/ha/rules/{rule}", changeHARule).withSchema(params(change), verifyHARule(false)).withPermission(console),
		writeRoute(http.MethodDelete, "/cluster/ha/rules/{rule}", deleteHARule).withPermission(console),
	}
}

// verifyHARule checks the parameters of a rule. Those of its type have names with the type in errors.
func verifyHARule(creating bool) func(*schema, values) error {
	return func(s *schema, p values) error {
		common, bad := values{}, map[string]string{}
		options := haRuleOptions[p["type"]]
		for k, v := range p {
			r, known := options[k]
			if !known {
				common[k] = v
			} else if msg := r.verify(v); msg != "" {
				bad["oneOf["+p["type"]+"]."+k] = msg
			}
		}
		for k := range options {
			if _, given := p[k]; creating && !given && k != "strict" {
				bad["oneOf["+p["type"]+"]."+k] = "property is missing and it is not optional"
			}
		}
		return mergeParamErrors(s.verify(common), bad)
	}
}

// canonicalHARule writes the lists of a rule as they are stored: sorted, without duplicates, each node with its last priority.
func canonicalHARule(p values) values {
	v := maps.Clone(p)
	if list, ok := v["resources"]; ok {
		ids := listOf(list)
		slices.Sort(ids)
		v["resources"] = strings.Join(slices.Compact(ids), ",")
	}
	if list, ok := v["nodes"]; ok {
		byName := map[string]string{}
		for _, n := range listOf(list) {
			name, _, _ := strings.Cut(n, ":")
			byName[name] = n
		}
		v["nodes"] = strings.Join(slices.Sorted(maps.Values(byName)), ",")
	}
	if v["disable"] == "0" {
		delete(v, "disable") // so that it changes nothing
	}
	return v
}

// checkHARule rejects resources that are not managed and nodes that do not exist. The state is locked.
func (s *Sim) checkHARule(v values) error {
	var unmanaged, unknown []string
	for _, id := range listOf(v["resources"]) {
		_, vmid, _ := strings.Cut(id, ":")
		if h := s.ha[atoi(vmid)]; h == nil || h.sid() != id {
			unmanaged = append(unmanaged, id)
		}
	}
	for _, n := range listOf(v["nodes"]) {
		if name, _, _ := strings.Cut(n, ":"); !s.hasNode(name) {
			unknown = append(unknown, name)
		}
	}
	switch {
	case len(unmanaged) > 0:
		return apiErrorf("cannot use unmanaged resource(s) %s.", strings.Join(unmanaged, ", "))
	case len(unknown) > 0:
		return apiErrorf("cannot use non-existent node(s) %s.", strings.Join(unknown, ", "))
	}
	return nil
}

// requireRules rejects a call about rules on release 8, which has none.
func (c *call) requireRules() error {
	if c.sim.major() >= 9 {
		return nil
	}
	return notImplemented(c.method, c.path)
}

func (s *Sim) haRule(name string) *haRule {
	if i := slices.IndexFunc(s.haRules, func(r *haRule) bool { return r.name == name }); i >= 0 {
		return s.haRules[i]
	}
	return nil
}

// haRulesDigest returns the digest of the file with all rules, which every rule shows.
func (s *Sim) haRulesDigest() string {
	var b strings.Builder
	for _, r := range s.haRules {
		b.WriteString(r.values["type"] + ": " + r.name + "\n")
		for _, k := range sortedKeys(r.values) {
			b.WriteString("\t" + k + " " + r.values[k] + "\n")
		}
	}
	return configtext.Digest(b.String())
}

func (s *Sim) haRuleObject(r *haRule, order int, digest string) *object {
	o := &object{}
	o.str("rule", r.name)
	o.num("order", int64(order))
	o.str("digest", digest)
	for _, k := range sortedKeys(r.values) {
		switch v := r.values[k]; k {
		case "strict", "disable":
			o.num(k, int64(atoi(v)))
		case "comment": // its bytes beyond ASCII come back as invalid UTF-8
			o.str(k, notASCII.ReplaceAllString(v, "\uFFFD"))
		default:
			o.str(k, v)
		}
	}
	return o
}

func listHARules(c *call) (reply, error) {
	if err := c.requireRules(); err != nil {
		return reply{}, err
	}
	var a array
	digest, rules := c.sim.haRulesDigest(), c.sim.rulesWithGroups()
	problems := haProblems(rules, len(c.sim.opts.Nodes))
	for i, r := range rules {
		if t := c.params["type"]; t != "" && t != r.values["type"] {
			continue
		}
		if id := c.params["resource"]; id != "" && !slices.Contains(listOf(r.values["resources"]), id) {
			continue
		}
		o := c.sim.haRuleObject(r, i+1, digest)
		if found := problems[r.name]; len(found) > 0 {
			var all object
			all.raw("resources", stringArray(found))
			o.raw("errors", all.bytes())
		}
		a.add(o)
	}
	return dataReply(a.bytes())
}

func getHARule(c *call) (reply, error) {
	if err := c.requireRules(); err != nil {
		return reply{}, err
	}
	for i, r := range c.sim.rulesWithGroups() {
		if r.name == c.vars["rule"] {
			return dataReply(c.sim.haRuleObject(r, i+1, c.sim.haRulesDigest()).bytes())
		}
	}
	return reply{}, apiErrorf("no such ha rule '%s'", c.vars["rule"])
}

// updateHARules runs a change of the rules with the state locked. Its errors follow the prefix. Doing is what has to wait until the groups of release 8 are
// migrated, "" if nothing has.
func (c *call) updateHARules(doing, prefix string, change func() error) (reply, error) {
	return c.updateHA(prefix, change, func() error {
		if err := c.requireRules(); err != nil {
			return err
		}
		if doing != "" && c.sim.hasGroups() {
			return apiErrorf("cannot %s ha rule: ha groups have not been migrated yet", doing)
		}
		return nil
	})
}

// updateHA runs a change of the HA manager's configuration with the state locked, unless allowed returns an error. The errors of the change follow the prefix.
func (c *call) updateHA(prefix string, change, allowed func() error) (reply, error) {
	err := c.sim.locked(func() error {
		if err := allowed(); err != nil {
			return err
		}
		if err := c.checkClusterLock(prefix, "domain-ha"); err != nil {
			return err
		}
		if err := change(); err != nil {
			return apiErrorf("%s%s", prefix, err)
		}
		return nil
	})
	if err != nil {
		return reply{}, err
	}
	return nullReply()
}

func createHARule(c *call) (reply, error) {
	return c.updateHARules("create", "create ha rule failed: ", func() error {
		name := c.params["rule"]
		if c.sim.haRule(name) != nil {
			return apiErrorf("HA rule '%s' already defined", name)
		}
		r := &haRule{name: name, values: canonicalHARule(c.params)}
		delete(r.values, "rule")
		return c.sim.storeHARule(r)
	})
}

// storeHARule checks a rule and puts it in the place of the rule with its name. A new rule gets the order of the second one, so that either may be first.
// The state is locked.
//
// Source: PVE::HA::Rules get_next_ordinal, check_feasibility.
func (s *Sim) storeHARule(r *haRule) error {
	if err := s.checkHARule(r.values); err != nil {
		return err
	}
	others := slices.DeleteFunc(s.rulesWithGroups(), func(o *haRule) bool { return o.name == r.name })
	if found := haProblems(append(others, r), len(s.opts.Nodes))[r.name]; len(found) > 0 {
		return apiErrorf("400 Rule '%s' is invalid.\nresources: %s", r.name, strings.Join(found, ", "))
	}
	switch old := s.haRule(r.name); {
	case old != nil:
		old.values = r.values
	case len(s.haRules) < 2:
		s.haRules = append(s.haRules, r)
	default:
		s.haRules = slices.Insert(s.haRules, 1+s.rng.IntN(2), r)
	}
	return nil
}

func changeHARule(c *call) (reply, error) {
	return c.updateHARules("update", "update HA rules failed: ", func() error {
		if d := c.params["digest"]; d != "" && d != c.sim.haRulesDigest() {
			return apiErrorf("detected modified configuration - file changed by other user? Try again.")
		}
		old := c.sim.haRule(c.vars["rule"])
		switch {
		case old == nil:
			return apiErrorf("HA rule '%s' does not exist", c.vars["rule"])
		case old.values["type"] != c.params["type"]:
			return apiErrorf("unexpected property 'type'")
		}
		v := maps.Clone(old.values)
		for _, k := range listOf(c.params["delete"]) {
			_, own := haRuleOptions[v["type"]][k]
			switch {
			case !own && k != "comment" && k != "disable":
				return apiErrorf("no such option '%s'", k)
			case own && k != "strict":
				return apiErrorf("unable to delete required option '%s'", k)
			}
			delete(v, k)
		}
		maps.Copy(v, canonicalHARule(c.params))
		for _, k := range []string{"delete", "digest"} {
			delete(v, k)
		}
		return c.sim.storeHARule(&haRule{name: old.name, values: v})
	})
}

// deleteHARule removes a rule. A rule that does not exist is not an error.
func deleteHARule(c *call) (reply, error) {
	return c.updateHARules("", "delete ha rule failed: ", func() error {
		c.sim.haRules = slices.DeleteFunc(c.sim.haRules, func(r *haRule) bool { return r.name == c.vars["rule"] })
		return nil
	})
}

// dropFromHARules takes a resource out of all rules, and removes the rules that are left empty. The state is locked.
func (s *Sim) dropFromHARules(sid string) {
	s.haRules = slices.DeleteFunc(s.haRules, func(r *haRule) bool {
		rest := slices.DeleteFunc(listOf(r.values["resources"]), func(id string) bool { return id == sid })
		r.values["resources"] = strings.Join(rest, ",")
		return len(rest) == 0
	})
}
