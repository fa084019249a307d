package securitygroup

import (
	"fmt"
	"strings"

	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/kind"
	"gitops-agent/reconcile/kind/alias"
	"gitops-agent/reconcile/kind/ipset"
)

const (
	fieldKeepOthers = "keepOthers"
	fieldEnable     = "enable"
)

// ruleFields are the fields of a rule, with the native key of each. A rule of a group has no interface: the rule of the guest that uses the group names it.
func ruleFields() []kind.Field {
	return []kind.Field{
		{Name: "type", Key: "type", Doc: "in or out; forward for packets of virtual networks.", Form: kind.Choice{Words: []string{"in", "out", "forward"}}},
		{Name: "action", Key: "action", Doc: "What happens to a connection that matches.", Form: kind.Choice{Words: []string{"ACCEPT", "DROP", "REJECT"}}},
		{Name: "macro", Key: "macro", Doc: "Name of a macro of Proxmox: protocol and ports of a service, such as SSH.", Form: kind.MacroName},
		{Name: "protocol", Key: "proto", Doc: "Protocol, such as tcp.", Form: kind.ProtocolName},
		{Name: "port", Key: "dport", Doc: "Destination ports: numbers, names and ranges.", Form: kind.PortList},
		{Name: "sourcePort", Key: "sport", Doc: "Source ports: numbers, names and ranges.", Form: kind.PortList},
		{Name: "source", Key: "source", Doc: "Source addresses: a list of addresses and networks, a range, an alias of the cluster, or a set of the cluster with a plus sign.", Form: kind.FirewallAddress},
		{Name: "dest", Key: "dest", Doc: "Destination addresses, like source.", Form: kind.FirewallAddress},
		{Name: "icmpType", Key: "icmp-type", Doc: "Type of ICMP messages, such as echo-request.", Form: kind.ICMPType},
		{Name: "log", Key: "log", Doc: "How packets that match are logged. Default: nolog.", Form: kind.FirewallLogLevel},
		{Name: "comment", Key: "comment", Doc: "Note. A rule has one line.", Form: kind.FirewallComment},
		{Name: fieldEnable, Key: "enable", Doc: "The rule has an effect. Default: true.", Form: kind.Flag{}},
	}
}

// lower puts the rules into the key of the group, with what they need.
func lower(spec kind.Spec, d *kind.Desired) []kind.Problem {
	d.Keeps = spec[fieldKeepOthers].Text == "1"
	v, managed := spec[keyRules]
	if !managed {
		return nil
	}
	var problems []kind.Problem
	rules := []guest.FirewallRule{}
	for i, item := range v.List {
		rule := ruleOf(item.Fields)
		field := fmt.Sprintf("%s[%d]", keyRules, i)
		for _, p := range ruleProblems(rule) {
			problems = append(problems, problemOf(field, item, p))
		}
		for j, other := range rules {
			if other.Effect().Disabled() == rule.Effect().Disabled() {
				problems = append(problems, kind.Problem{
					Field: field, Origin: item.Origin, Message: fmt.Sprintf("got the same rule as %s[%d] (%s), which decides first", keyRules, j, v.List[j].Origin),
					Hint: "leave one of them out",
				})
			}
		}
		rules, d.Items = append(rules, rule), append(d.Items, item.Origin)
	}
	d.Put(kind.Intent{Key: keyRules, Text: kind.RulesText(rules), Origin: v.Origin})
	names := &guest.FirewallWanted{Rules: rules}
	d.Needs = append(alias.NeededBy(names), ipset.NeededBy(names)...)
	return problems
}

// ruleOf returns the rule that a manifest describes.
func ruleOf(fields kind.Spec) guest.FirewallRule {
	params := map[string]string{fieldEnable: "1"}
	for _, f := range ruleFields() {
		if v, set := fields[f.Name]; set {
			params[f.Key] = v.Text
		}
	}
	return guest.RuleOf(params)
}

// ruleProblems returns what Proxmox would refuse in a rule of a group.
func ruleProblems(rule guest.FirewallRule) []guest.RuleProblem {
	problems := rule.Problems()
	for key, text := range map[string]string{"source": rule.Source, "dest": rule.Dest} {
		if strings.HasPrefix(strings.TrimPrefix(text, "+"), "guest/") {
			problems = append(problems, guest.RuleProblem{Key: key, Message: "got " + text + ", want a name of the cluster: guests have none of their own here", Hint: "write " + strings.Replace(text, "guest/", "dc/", 1)})
		}
	}
	if rule.Type == "forward" && rule.Action == "REJECT" {
		problems = append(problems, guest.RuleProblem{Key: "action", Message: "got REJECT in a rule of the type forward, want ACCEPT or DROP"})
	}
	return problems
}

// problemOf returns a problem of a rule with the position of the field that it concerns.
func problemOf(field string, item kind.Value, p guest.RuleProblem) kind.Problem {
	problem := kind.Problem{Field: field, Origin: item.Origin, Message: p.Message, Hint: p.Hint, New: p.New}
	for _, f := range ruleFields() {
		if v, set := item.Fields[f.Name]; set && f.Key == p.Key {
			problem.Field, problem.Origin = field+"."+f.Name, v.Origin
		}
	}
	return problem
}
