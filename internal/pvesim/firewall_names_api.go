package pvesim

import (
	"fmt"
	"net/http"
	"strings"
)

const firewallName = `[A-Za-z][A-Za-z0-9\-_]+`

func firewallNameRule() rule { return matching(firewallName).length(0, 64) }

// nameRoutes are the aliases, the sets and the references of a scope.
func (f firewallScope) nameRoutes() []*route {
	name, cidr, note, digest := firewallNameRule(), checked(checkCIDR), text(), text().length(0, 64)
	entry := map[string]rule{"cidr": checked(checkCIDROrAlias).needed(), "nomatch": boolean(), "comment": note}
	routes := []*route{
		readRoute(f.path+"/refs", f.refs).withParams(map[string]rule{"type": enum("alias", "ipset")}).withPermission(f.read),
		readRoute(f.path+"/aliases", func(c *call) (reply, error) { return firewallListReply(f.of(c).aliasList()) }).withPermission(f.read),
		writeRoute(http.MethodPost, f.path+"/aliases", f.createAlias).withParams(map[string]rule{"name": name.needed(), "cidr": cidr.needed(), "comment": note}),
		readRoute(f.path+"/aliases/{name}", f.getAlias).withPermission(f.read),
		writeRoute(http.MethodPut, f.path+"/aliases/{name}", f.changeAlias).
			withParams(map[string]rule{"cidr": cidr.needed(), "comment": note, "rename": name, "digest": digest}),
		writeRoute(http.MethodDelete, f.path+"/aliases/{name}", f.deleteAlias).withParams(map[string]rule{"digest": digest}),
		readRoute(f.path+"/ipset", func(c *call) (reply, error) { return firewallListReply(f.of(c).ipsetList()) }).withPermission(f.read),
		writeRoute(http.MethodPost, f.path+"/ipset", f.createIPSet).
			withParams(map[string]rule{"name": name.needed(), "comment": note, "rename": name, "digest": digest}),
		readRoute(f.path+"/ipset/{name}", f.listEntries).withPermission(f.read),
		writeRoute(http.MethodPost, f.path+"/ipset/{name}", f.createEntry).withParams(entry),
		writeRoute(http.MethodDelete, f.path+"/ipset/{name}", f.deleteIPSet).withParams(map[string]rule{"force": boolean()}),
		readRoute(f.path+"/ipset/{name}/{cidr}", f.getEntry).withPermission(f.read),
		writeRoute(http.MethodPut, f.path+"/ipset/{name}/{cidr}", f.changeEntry).
			withParams(map[string]rule{"nomatch": boolean(), "comment": note, "digest": digest}),
		writeRoute(http.MethodDelete, f.path+"/ipset/{name}/{cidr}", f.deleteEntry).withParams(map[string]rule{"digest": digest}),
	}
	for _, r := range routes {
		if r.method != http.MethodGet {
			r.withPermission(f.write)
		}
		if strings.Contains(r.path, "{name}") {
			r.withPathParams(map[string]rule{"name": name})
		}
	}
	return routes
}

// alias returns the values of an alias as they are stored.
func (c *call) alias(name string) values {
	cidr := withoutFullPrefix(c.params["cidr"])
	v := values{"name": name, "cidr": cidr, "ipversion": itoa(cidrFamily(cidr))}
	if note := firewallLine(c.params["comment"]); note != "" {
		v["comment"] = note
	}
	return v
}

func (f firewallScope) createAlias(c *call) (reply, error) {
	return c.changeFirewall(func() error {
		name := c.params["name"]
		aliases := f.of(c).aliases
		if aliases[strings.ToLower(name)] != nil {
			return paramError("name", fmt.Sprintf("alias '%s' already exists", name))
		}
		aliases[strings.ToLower(name)] = c.alias(name)
		return nil
	})
}

func (f firewallScope) getAlias(c *call) (reply, error) {
	v := f.of(c).aliases[strings.ToLower(c.vars["name"])]
	if v == nil {
		return reply{}, paramError("name", "no such alias")
	}
	return dataReply(firewallObject(v).bytes())
}

// changeAlias replaces an alias: a comment that is not sent is lost.
func (f firewallScope) changeAlias(c *call) (reply, error) {
	return c.changeFirewall(func() error {
		fw, key := f.of(c), strings.ToLower(c.vars["name"])
		if err := c.checkFirewallDigest(firewallDigest(fw.aliasList()...)); err != nil {
			return err
		}
		old := fw.aliases[key]
		if old == nil {
			return paramError("name", "no such alias")
		}
		name := old["name"]
		if to := c.params["rename"]; to != "" && strings.ToLower(to) != key {
			if fw.aliases[strings.ToLower(to)] != nil {
				return paramError("name", fmt.Sprintf("alias '%s' already exists", to))
			}
			delete(fw.aliases, key)
			name, key = to, strings.ToLower(to)
		}
		fw.aliases[key] = c.alias(name)
		return nil
	})
}

func (f firewallScope) deleteAlias(c *call) (reply, error) {
	return c.changeFirewall(func() error {
		fw := f.of(c)
		if err := c.checkFirewallDigest(firewallDigest(fw.aliasList()...)); err != nil {
			return err
		}
		delete(fw.aliases, strings.ToLower(c.vars["name"]))
		return nil
	})
}

// createIPSet creates, renames or comments on a set.
func (f firewallScope) createIPSet(c *call) (reply, error) {
	return c.changeFirewall(func() error {
		fw, name := f.of(c), strings.ToLower(c.params["name"])
		if err := c.checkFirewallDigest(firewallDigest(fw.ipsetList()...)); err != nil {
			return err
		}
		from, renames := c.params["rename"]
		from = strings.ToLower(from)
		switch {
		case renames && fw.ipsets[from] == nil:
			return paramError("name", fmt.Sprintf("IPSet '%s' does not exist", c.params["rename"]))
		case fw.ipsets[name] != nil && (!renames || from != name):
			return paramError("name", fmt.Sprintf("IPSet '%s' already exists", c.params["name"]))
		case !renames:
			fw.ipsets[name] = &ipset{entries: map[string]values{}}
		default:
			set := fw.ipsets[from]
			delete(fw.ipsets, from)
			fw.ipsets[name] = set
		}
		if note, sent := c.params["comment"]; sent {
			fw.ipsets[name].comment = firewallLine(note)
		}
		return nil
	})
}

// ipset returns the set of the path.
func (f firewallScope) ipset(c *call) (*ipset, error) {
	set := f.of(c).ipsets[c.vars["name"]]
	if set == nil {
		return nil, apiErrorf("no such IPSet '%s'", c.vars["name"])
	}
	return set, nil
}

func (f firewallScope) deleteIPSet(c *call) (reply, error) {
	return c.changeFirewall(func() error {
		set, err := f.ipset(c)
		if err != nil {
			return err
		}
		if len(set.entries) > 0 && !c.flag("force") {
			return apiErrorf("IPSet '%s' is not empty", c.vars["name"])
		}
		delete(f.of(c).ipsets, c.vars["name"])
		return nil
	})
}

func (f firewallScope) listEntries(c *call) (reply, error) {
	set, err := f.ipset(c)
	if err != nil {
		return reply{}, err
	}
	list := set.entryList()
	var a array
	digest := firewallDigest(list...)
	for _, e := range list {
		o := firewallObject(e)
		o.str("digest", digest)
		if problem := f.entryProblem(c, e["cidr"]); problem != "" {
			var bad object
			bad.str("cidr", problem)
			o.raw("errors", bad.bytes())
		}
		a.add(o)
	}
	return dataReply(a.bytes())
}

// entryProblem returns why an entry of a set has no effect: it names an alias that was removed.
//
// Source: PVE::Firewall generic_fw_config_parser.
func (f firewallScope) entryProblem(c *call, cidr string) string {
	m := firewallAlias.FindStringSubmatch(cidr)
	if m == nil {
		return ""
	}
	if _, problem := c.sim.namedFamily(cidr, f.of(c)); problem == "" {
		return ""
	}
	return "no such alias '" + m[2] + "'"
}

func (c *call) entry(cidr string) values {
	v := values{"cidr": cidr}
	if c.flag("nomatch") {
		v["nomatch"] = "1"
	}
	if note := firewallLine(c.params["comment"]); note != "" {
		v["comment"] = note
	}
	return v
}

func (f firewallScope) createEntry(c *call) (reply, error) {
	return c.changeFirewall(func() error {
		set, err := f.ipset(c)
		if err != nil {
			return err
		}
		cidr := networkOf(c.params["cidr"])
		if problem := f.entryProblem(c, cidr); problem != "" {
			return apiErrorf("%s", problem)
		}
		switch {
		case strings.HasSuffix(cidr, "/0"):
			return paramError("cidr", "a zero prefix is not allowed in ipset entries")
		case set.entries[cidr] != nil:
			return paramError("cidr", fmt.Sprintf("address '%s' already exists", cidr))
		}
		set.entries[cidr] = c.entry(cidr)
		return nil
	})
}

func (f firewallScope) getEntry(c *call) (reply, error) {
	set, err := f.ipset(c)
	if err != nil {
		return reply{}, err
	}
	e := set.entries[c.vars["cidr"]]
	if e == nil {
		return reply{}, paramError("cidr", "no such IP/Network")
	}
	o := firewallObject(e)
	o.str("digest", firewallDigest(e))
	return dataReply(o.bytes())
}

// changeEntry replaces an entry: what is not sent is removed.
func (f firewallScope) changeEntry(c *call) (reply, error) {
	return c.changeFirewall(func() error {
		set, err := f.ipset(c)
		if err != nil {
			return err
		}
		if err := c.checkFirewallDigest(firewallDigest(set.entryList()...)); err != nil {
			return err
		}
		cidr := c.vars["cidr"]
		if set.entries[cidr] == nil {
			return paramError("cidr", "no such IP/Network")
		}
		set.entries[cidr] = c.entry(cidr)
		return nil
	})
}

func (f firewallScope) deleteEntry(c *call) (reply, error) {
	return c.changeFirewall(func() error {
		set, err := f.ipset(c)
		if err != nil {
			return err
		}
		if err := c.checkFirewallDigest(firewallDigest(set.entryList()...)); err != nil {
			return err
		}
		delete(set.entries, c.vars["cidr"])
		return nil
	})
}
