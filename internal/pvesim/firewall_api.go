package pvesim

import (
	"fmt"
	"maps"
	"net/http"
	"strings"
	"time"
)

// firewallScope is one kind of firewall file and the calls' path to it.
type firewallScope struct {
	path  string
	env   ruleEnv
	file  func(*call) string
	read  func(*call) error // the privilege for reading
	write func(*call) error
}

func firewallRoutes() []*route {
	cluster := firewallScope{
		path: "/cluster/firewall", env: clusterRules,
		file:  func(*call) string { return clusterFirewall },
		read:  func(c *call) error { return c.require("/", "Sys.Audit") },
		write: func(c *call) error { return c.require("/", "Sys.Modify") },
	}
	node := firewallScope{
		path: "/nodes/{node}/firewall", env: nodeRules,
		file:  func(c *call) string { return "node/" + c.node() },
		read:  func(c *call) error { return c.require("/nodes/"+c.node(), "Sys.Audit") },
		write: func(c *call) error { return c.require("/nodes/"+c.node(), "Sys.Modify") },
	}
	all := cluster.routes(clusterOptionParams, "aliases", "rules", "options", "groups", "ipset", "macros", "refs")
	all = append(all, cluster.groupRoutes()...)
	all = append(all, readRoute("/cluster/firewall/macros", listMacros))
	all = append(all, cluster.nameRoutes()...)
	all = append(all, node.routes(nodeOptionParams, "rules", "options", "log")...)
	all = append(all, logRoute(node.path).withPermission(func(c *call) error { return c.require("/nodes/"+c.node(), "Sys.Syslog") }))
	for kind, env := range map[Kind]ruleEnv{QEMU: vmRules, LXC: ctRules} {
		guest := firewallScope{
			path: "/nodes/{node}/" + string(kind) + "/{vmid}/firewall", env: env,
			file:  func(c *call) string { return guestFirewall(c.vmid()) },
			read:  func(c *call) error { return c.require("/vms/"+c.vars["vmid"], "VM.Audit") },
			write: func(c *call) error { return c.require("/vms/"+c.vars["vmid"], "VM.Config.Network") },
		}
		all = append(all, guest.routes(guestOptionParams, "rules", "aliases", "ipset", "refs", "options")...)
		all = append(all, guest.nameRoutes()...)
		all = append(all, logRoute(guest.path).withGuestPrivilege("VM.Console"))
	}
	return all
}

var (
	policies          = []string{"ACCEPT", "REJECT", "DROP"}
	guestOptionParams = map[string]rule{
		"enable": boolean(), "dhcp": boolean(), "ndp": boolean(), "radv": boolean(), "ipfilter": boolean(), "macfilter": boolean(),
		"policy_in": enum(policies...), "policy_out": enum(policies...), "log_level_in": enum(firewallLogLevels...), "log_level_out": enum(firewallLogLevels...),
	}
	clusterOptionParams = map[string]rule{
		"enable": integer().atLeast(0), "ebtables": boolean(), "policy_in": enum(policies...), "policy_out": enum(policies...),
		"policy_forward": enum("ACCEPT", "DROP"),
		"log_ratelimit": propertyRule("log_ratelimit", propertyString{
			"enable": boolean().asDefaultKey().needed(), "rate": matching(`[1-9][0-9]*/(?:second|minute|hour|day)`), "burst": integer().atLeast(0),
		}),
	}
	nodeOptionParams = map[string]rule{
		"enable": boolean(), "ndp": boolean(), "nftables": boolean(), "nosmurfs": boolean(), "log_level_in": enum(firewallLogLevels...),
		"log_level_out": enum(firewallLogLevels...), "log_level_forward": enum(firewallLogLevels...),
	}
)

// routes are the index, the options and the rules of a scope.
func (f firewallScope) routes(options map[string]rule, children ...string) []*route {
	change := map[string]rule{"delete": text(), "digest": text().length(0, 64)}
	maps.Copy(change, options)
	list := []*route{
		indexRoute(f.path, "name", children...).withPermission(f.read),
		readRoute(f.path+"/options", f.getOptions).withPermission(f.read),
		writeRoute(http.MethodPut, f.path+"/options", f.changeOptions(options)).withParams(change).withPermission(f.write),
	}
	rules := func(c *call) (ruleList, error) {
		fw := f.of(c)
		l := ruleList{env: f.env, rules: &fw.rules}
		if f.env.ofGuest() {
			l.own = fw
		}
		return l, nil
	}
	return append(list, ruleRoutes(f.path+"/rules", rules, f.read, f.write)...)
}

func (f firewallScope) of(c *call) *firewall { return c.sim.firewallOf(f.file(c)) }

func (f firewallScope) getOptions(c *call) (reply, error) {
	options := f.of(c).options
	o := firewallObject(options)
	o.str("digest", firewallDigest(options))
	return dataReply(o.bytes())
}

// changeOptions deletes first, so that an option that is deleted and set is set.
func (f firewallScope) changeOptions(known map[string]rule) func(*call) (reply, error) {
	return func(c *call) (reply, error) {
		return c.changeFirewall(func() error {
			options := f.of(c).options
			if err := c.checkFirewallDigest(firewallDigest(options)); err != nil {
				return err
			}
			for _, k := range listOf(c.params["delete"]) {
				if _, ok := known[k]; !ok {
					return paramError("delete", fmt.Sprintf("no such option '%s'", k))
				}
				delete(options, k)
			}
			for k, v := range c.params {
				if k != "delete" && k != "digest" {
					options[k] = v
				}
			}
			if f.env == clusterRules && atoi(options["enable"]) > 1 && c.params["enable"] != "" {
				options["enable"] = itoa(int(time.Now().Unix()))
				return apiErrorf("unable to apply firewall changes") // no daemon answers
			}
			return nil
		})
	}
}

func logRoute(path string) *route {
	return readRoute(path+"/log", func(*call) (reply, error) {
		var o object
		o.num("n", 1)
		o.str("t", "unable to open file - No such file or directory")
		var a array
		a.add(&o)
		return reply{data: a.bytes(), total: 1}, nil
	}).withParams(map[string]rule{"start": integer().atLeast(0), "limit": integer().atLeast(0), "since": integer(), "until": integer()})
}

// refs lists what rules can name: the objects of the cluster and those of the guest, sets before aliases.
//
// Source: PVE::Firewall::Helpers collect_refs.
func (f firewallScope) refs(c *call) (reply, error) {
	var a array
	list := func(fw *firewall, scope string) {
		add := func(typ, ref string, v values) {
			var o object
			o.str("type", typ)
			o.str("name", strings.TrimPrefix(ref, "+"))
			o.str("ref", ref)
			o.str("scope", scope)
			if v["comment"] != "" {
				o.str("comment", v["comment"])
			}
			a.add(&o)
		}
		if c.params["type"] != "alias" {
			for _, v := range fw.ipsetList() {
				add("ipset", "+"+v["name"], v)
			}
		}
		if c.params["type"] != "ipset" {
			for _, v := range fw.aliasList() {
				add("alias", strings.ToLower(v["name"]), v)
			}
		}
	}
	list(c.sim.firewallOf(clusterFirewall), "dc")
	if f.env.ofGuest() {
		list(f.of(c), "guest")
	}
	return dataReply(a.bytes())
}
