package pvesim

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
)

// ruleList is the list of rules that a call works on.
type ruleList struct {
	env   ruleEnv
	own   *firewall // of the guest whose rules these are, or nil
	rules *[]values
}

// ruleLister finds the rules of a call's path. The state is locked.
type ruleLister func(*call) (ruleList, error)

// ruleRoutes are the calls on a list of rules.
func ruleRoutes(path string, of ruleLister, read, write func(*call) error) []*route {
	create := maps.Clone(ruleParams)
	create["type"], create["action"] = create["type"].needed(), create["action"].needed()
	create["pos"] = integer().atLeast(0)
	change := maps.Clone(ruleParams)
	change["moveto"], change["delete"] = integer().atLeast(0), text()
	return []*route{
		readRoute(path, of.list).withPermission(read),
		writeRoute(http.MethodPost, path, of.create).withParams(create).withPermission(write),
		readRoute(path+"/{pos}", of.get).withPermission(read),
		writeRoute(http.MethodPut, path+"/{pos}", of.change).withParams(change).withPermission(write),
		writeRoute(http.MethodDelete, path+"/{pos}", of.remove).withParams(map[string]rule{"digest": text()}).withPermission(write),
	}
}

// checkPosition checks the position of the path, which is a parameter of the real API.
func (c *call) checkPosition() error {
	if msg := integer().atLeast(0).verify(c.vars["pos"]); msg != "" {
		return paramError("pos", msg)
	}
	return nil
}

// verified returns the rules with what follows from them, and their errors by position.
func (s *Sim) verified(l ruleList) ([]values, []ruleErrors) {
	var rules []values
	var errs []ruleErrors
	for _, r := range *l.rules {
		checked, bad, err := s.verifyRule(r, l.env, l.own)
		if err != nil {
			checked, bad = r, ruleErrors{{"dest", err.Error()}}
		}
		rules, errs = append(rules, checked), append(errs, bad)
	}
	return rules, errs
}

func ruleObject(r values, bad ruleErrors, digest string) *object {
	o := firewallObject(r)
	o.str("digest", digest)
	if len(bad) > 0 {
		var e object
		slices.SortFunc(bad, func(a, b ruleError) int { return strings.Compare(a.param, b.param) })
		for _, known := range bad {
			e.str(known.param, known.text)
		}
		o.raw("errors", e.bytes())
	}
	return o
}

func (of ruleLister) list(c *call) (reply, error) {
	l, err := of(c)
	if err != nil {
		return reply{}, err
	}
	rules, errs := c.sim.verified(l)
	digest := firewallDigest(rules...)
	var a array
	for i, r := range rules {
		o := ruleObject(r, errs[i], digest)
		o.num("pos", int64(i))
		a.add(o)
	}
	return dataReply(a.bytes())
}

// at returns the list and the position of the path. The digest of the call must be that of the list.
func (of ruleLister) at(c *call) (ruleList, int, error) {
	if err := c.checkPosition(); err != nil {
		return ruleList{}, 0, err
	}
	l, err := of(c)
	if err != nil {
		return ruleList{}, 0, err
	}
	rules, _ := c.sim.verified(l)
	if err := c.checkFirewallDigest(firewallDigest(rules...)); err != nil {
		return ruleList{}, 0, err
	}
	pos := atoi(c.vars["pos"])
	if pos >= len(rules) {
		return ruleList{}, 0, apiErrorf("no rule at position %s", c.vars["pos"])
	}
	return l, pos, nil
}

func (of ruleLister) get(c *call) (reply, error) {
	l, pos, err := of.at(c)
	if err != nil {
		return reply{}, err
	}
	rules, errs := c.sim.verified(l)
	o := ruleObject(rules[pos], errs[pos], firewallDigest(rules...))
	o.str("pos", c.vars["pos"])
	return dataReply(o.bytes())
}

// create adds a rule in front of all others. It ignores the position and the digest of the call.
//
// Source: PVE::API2::FirewallRulesBase create_rule.
func (of ruleLister) create(c *call) (reply, error) {
	return c.changeFirewall(func() error {
		l, err := of(c)
		if err != nil {
			return err
		}
		r := maps.Clone(c.params)
		delete(r, "pos")
		delete(r, "digest")
		stored, err := c.checkedRule(l, r)
		if err != nil {
			return err
		}
		*l.rules = append(stored, *l.rules...)
		return nil
	})
}

func (c *call) checkedRule(l ruleList, r values) ([]values, error) {
	r, bad, err := c.sim.verifyRule(r, l.env, l.own)
	if err != nil {
		return nil, err
	}
	if len(bad) > 0 {
		return nil, paramError(bad[0].param, bad[0].text)
	}
	delete(r, "ipversion")
	return storedRule(r), nil
}

// change moves a rule, or changes the values that are sent. A call that moves a rule changes nothing else.
//
// Source: PVE::API2::FirewallRulesBase update_rule.
func (of ruleLister) change(c *call) (reply, error) {
	return c.changeFirewall(func() error {
		l, pos, err := of.at(c)
		if err != nil {
			return err
		}
		if to, moves := c.params["moveto"]; moves {
			*l.rules = moved(*l.rules, pos, atoi(to))
			return nil
		}
		r := maps.Clone((*l.rules)[pos])
		for k, v := range c.params {
			if k != "delete" && k != "digest" {
				r[k] = v
			}
		}
		for _, k := range listOf(c.params["delete"]) {
			switch _, known := ruleParams[k]; {
			case k == "type" || k == "action":
				return paramError("delete", fmt.Sprintf("unable to delete required property '%s'", k))
			case !known || k == "digest":
				return paramError("delete", fmt.Sprintf("no such property ('%s')", k))
			}
			delete(r, k)
		}
		stored, err := c.checkedRule(l, r)
		if err != nil {
			return err
		}
		*l.rules = slices.Replace(*l.rules, pos, pos+1, stored...)
		return nil
	})
}

// moved puts a rule in front of the rule that is at the position to, or at the end.
func moved(rules []values, from, to int) []values {
	var out []values
	for i, r := range rules {
		if i == to {
			out = append(out, rules[from])
		}
		if i != from {
			out = append(out, r)
		}
	}
	if to >= len(rules) {
		out = append(out, rules[from])
	}
	return out
}

func (of ruleLister) remove(c *call) (reply, error) {
	return c.changeFirewall(func() error {
		l, pos, err := of.at(c)
		if err != nil {
			return err
		}
		*l.rules = slices.Delete(*l.rules, pos, pos+1)
		return nil
	})
}

// changeFirewall runs a change of a firewall file with the state locked. The file is written at once, without a task and without the guest's lock.
func (c *call) changeFirewall(change func() error) (reply, error) {
	err := c.sim.locked(func() error {
		if err := c.requireQuorum(); err != nil {
			return err
		}
		return change()
	})
	if err != nil {
		return reply{}, err
	}
	return nullReply()
}
