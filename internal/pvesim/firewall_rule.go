package pvesim

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// ruleEnv is where a rule is: it decides what the rule may say.
type ruleEnv string

const (
	vmRules      ruleEnv = "vm"
	ctRules      ruleEnv = "ct"
	groupRules   ruleEnv = "group"
	clusterRules ruleEnv = "cluster"
	nodeRules    ruleEnv = "host"
)

// ofGuest reports whether the rules are those of one guest.
func (e ruleEnv) ofGuest() bool { return e == vmRules || e == ctRules }

var firewallLogLevels = []string{"emerg", "alert", "crit", "err", "warning", "notice", "info", "debug", "nolog"}

// ruleParams are the parameters of a rule, without those that select it.
var ruleParams = map[string]rule{
	"type": enum("in", "out", "forward", "group"), "action": matching(`[A-Za-z][A-Za-z0-9\-_]+`).length(2, 20), "macro": text().length(0, 128),
	"iface": text().length(2, 20), "source": addressRule(), "dest": addressRule(), "proto": checked(checkProtocol), "enable": integer().atLeast(0),
	"sport": checked(checkPorts), "dport": checked(checkPortsOrICMPType), "comment": text(), "log": enum(firewallLogLevels...), "icmp-type": checked(checkICMPType),
	"digest": text().length(0, 64),
}

func addressRule() rule {
	return checked(func(s string) error { _, err := addressFamily(s); return err }).length(0, 512)
}

// services are some names of /etc/services, and protocols some of /etc/protocols.
var (
	services  = strings.Fields("ftp ssh telnet smtp domain tftp http kerberos pop3 ntp imap2 snmp bgp ldap https submission ldaps imaps pop3s mysql postgresql")
	protocols = strings.Fields("tcp udp icmp icmpv6 ipv6-icmp igmp ipencap egp gre esp ah skip eigrp ospf ipip vrrp l2tp sctp dccp udplite hip mpls-in-ip")
	icmpTypes = strings.Fields(`any echo-reply destination-unreachable network-unreachable host-unreachable protocol-unreachable port-unreachable
		fragmentation-needed source-route-failed network-unknown host-unknown network-prohibited host-prohibited TOS-network-unreachable
		TOS-host-unreachable communication-prohibited host-precedence-violation precedence-cutoff source-quench redirect network-redirect host-redirect
		TOS-network-redirect TOS-host-redirect echo-request router-advertisement router-solicitation time-exceeded ttl-zero-during-transit
		ttl-zero-during-reassembly parameter-problem ip-header-bad required-option-missing timestamp-request timestamp-reply address-mask-request
		address-mask-reply`)
	icmpv6Types = strings.Fields(`destination-unreachable no-route communication-prohibited beyond-scope address-unreachable port-unreachable failed-policy
		reject-route packet-too-big time-exceeded ttl-zero-during-transit ttl-zero-during-reassembly parameter-problem bad-header unknown-header-type
		unknown-option echo-request echo-reply router-solicitation router-advertisement neighbor-solicitation neighbour-solicitation
		neighbor-advertisement neighbour-advertisement redirect`)
	icmpProtocols      = []string{"icmp", "icmpv6", "ipv6-icmp"}
	protocolsWithPorts = strings.Fields("udp 17 udplite 136 tcp 6 dccp 33 sctp 132")
)

func checkProtocol(s string) error {
	if slices.Contains(protocols, s) || integerText.MatchString(s) && atoi(s) >= 0 && atoi(s) <= 255 {
		return nil
	}
	return fmt.Errorf("unknown protocol '%s'", s)
}

func checkICMPType(s string) error {
	if !slices.Contains(icmpTypes, s) && !slices.Contains(icmpv6Types, s) {
		return fmt.Errorf("invalid icmp-type value '%s'", s)
	}
	return nil
}

var (
	portRange  = newPattern(`^(\d+):(\d+)$`)
	portNumber = newPattern(`^\d+$`)
)

func checkPorts(s string) error { return checkPortList(s, false) }

// checkPortsOrICMPType accepts a type of ICMP in place of ports, as the destination port of a rule may be.
func checkPortsOrICMPType(s string) error { return checkPortList(s, true) }

// checkPortList checks a list of ports, ranges and services, or with icmp of types of ICMP.
//
// Source: PVE::Firewall parse_port_name_number_or_range.
func checkPortList(s string, icmp bool) error {
	if strings.HasSuffix(s, ",") {
		return errors.New("extraneous commas in list")
	}
	count, hasType := 0, false
	for item := range strings.SplitSeq(s, ",") {
		m := portRange.FindStringSubmatch(item)
		switch {
		case m != nil:
			count += 2
			for _, p := range m[1:] {
				if atoi(p) > 65535 {
					return fmt.Errorf("invalid port '%s'", p)
				}
			}
			if atoi(m[1]) > atoi(m[2]) {
				return fmt.Errorf("backwards range '%s:%s' not allowed, did you mean '%s:%s'?", m[1], m[2], m[2], m[1])
			}
		case portNumber.MatchString(item) && atoi(item) <= 65535:
			count++
		case icmp && checkICMPType(item) == nil:
			hasType = true
		case !slices.Contains(services, item):
			return fmt.Errorf("invalid port '%s'", item)
		}
	}
	switch {
	case hasType && count > 0:
		return errors.New("ICMP ports not allowed in port range")
	case count > 15:
		return errors.New("too many entries in port list (> 15 numbers)")
	}
	return nil
}

var guestInterface = newPattern(`^net\d+$`)

// ruleErrors are the errors of a rule, at most one for each parameter, in the order in which they were found. A call that writes shows the first.
type ruleErrors []ruleError

type ruleError struct{ param, text string }

func (e *ruleErrors) add(param, text string) {
	if !slices.ContainsFunc(*e, func(known ruleError) bool { return known.param == param }) {
		*e = append(*e, ruleError{param, text})
	}
}

// verifyRule returns a rule with what follows from it, and its errors. It returns an error only where Proxmox gives up in the middle. own is the firewall of
// the rule's guest, or nil.
//
// Source: PVE::Firewall verify_rule.
func (s *Sim) verifyRule(r values, env ruleEnv, own *firewall) (values, ruleErrors, error) {
	r = maps.Clone(r)
	delete(r, "ipversion")
	var bad ruleErrors
	verifyRuleType(r, env, &bad)
	m, known := findMacro(r["macro"])
	if known {
		r["macro"] = m.name
	} else if r["macro"] != "" {
		bad.add("macro", fmt.Sprintf("unknown macro '%s'", r["macro"]))
	}
	verifyRulePorts(r, &bad)
	family := map[string]int{"icmp": 4, "icmpv6": 6, "ipv6-icmp": 6}[r["proto"]]
	for _, side := range []string{"source", "dest"} {
		if r[side] == "" {
			continue
		}
		literal, err := addressFamily(r[side])
		switch {
		case err != nil:
			bad.add(side, err.Error())
		case literal != 0 && family != 0 && literal != family:
			bad.add(side, "detected mixed ipv4/ipv6 addresses in rule")
		case literal != 0:
			family = literal
		}
		named, msg := s.namedFamily(r[side], own)
		if msg != "" {
			bad.add(side, msg)
		}
		if named != 0 && family != 0 && named != family {
			return nil, nil, apiErrorf("detected mixed ipv4/ipv6 addresses in rule")
		}
		if named != 0 {
			family = named
		}
	}
	if family != 0 {
		r["ipversion"] = itoa(family)
	}
	if known && len(bad) == 0 && r["proto"] != "" {
		if i := slices.IndexFunc(m.protos, func(proto string) bool { return proto != r["proto"] }); i >= 0 {
			bad.add("proto", fmt.Sprintf("parameter 'proto' already define in macro (value = '%s')", m.protos[i]))
		}
	}
	return r, bad, nil
}

// verifyRulePorts checks which protocols have ports, and which a type of ICMP.
func verifyRulePorts(r values, bad *ruleErrors) {
	proto := r["proto"]
	isICMP := slices.Contains(icmpProtocols, proto)
	checkSide := func(port string, icmp bool) {
		if r[port] == "" {
			return
		}
		if err := checkPortList(r[port], icmp); err != nil {
			bad.add(port, err.Error())
		}
		switch {
		case proto == "":
			bad.add("proto", "missing property - '"+port+"' requires this property")
		case !icmp && !slices.Contains(protocolsWithPorts, proto):
			bad.add(port, "protocol '"+proto+"' does not support ports")
		}
	}
	checkSide("dport", isICMP)
	if typ := r["icmp-type"]; typ != "" {
		if !isICMP {
			bad.add("proto", "missing property - 'icmp-type' requires this property")
		}
		if r["dport"] != "" {
			bad.add("icmp-type", "'icmp-type' cannot be specified together with 'dport'")
		}
		if proto == "icmp" && !slices.Contains(icmpTypes, typ) || proto != "icmp" && isICMP && !slices.Contains(icmpv6Types, typ) {
			bad.add("icmp-type", fmt.Sprintf("invalid icmp-type '%s' for proto '%s'", typ, proto))
		}
	}
	checkSide("sport", false)
}

func verifyRuleType(r values, env ruleEnv, bad *ruleErrors) {
	typ, action := r["type"], r["action"]
	switch {
	case typ == "forward" && env.ofGuest(), typ == "group" && env == groupRules:
		bad.add("type", fmt.Sprintf("invalid rule type '%s' for rule_env '%s'", typ, env))
	case typ == "forward" && action == "REJECT":
		bad.add("action", "cannot define REJECT rules on forward chain")
	case typ != "group" && action != "ACCEPT" && action != "DROP" && action != "REJECT":
		bad.add("action", fmt.Sprintf("unknown action '%s'", action))
	}
	switch {
	case r["iface"] == "":
	case env == groupRules:
		bad.add("type", "parameter -i not allowed for this rule type")
	case env.ofGuest() && !guestInterface.MatchString(r["iface"]):
		bad.add("iface", `value does not match the regex pattern 'net\d+'`)
	}
}

// namedFamily looks up an alias or a set. The prefix of a name decides the family that an alias gives the rule, but not whether the name exists.
func (s *Sim) namedFamily(text string, own *firewall) (family int, problem string) {
	dc := s.firewallOf(clusterFirewall)
	if own == nil {
		own = newFirewall()
	}
	if m := firewallIPSet.FindStringSubmatch(text); m != nil {
		if dc.ipsets[m[2]] == nil && own.ipsets[m[2]] == nil {
			return 0, fmt.Sprintf("no such ipset '%s'", m[2])
		}
		return 0, ""
	}
	if strings.HasPrefix(text, "+") {
		return 0, fmt.Sprintf("invalid ipset name '%s'", text)
	}
	m := firewallAlias.FindStringSubmatch(text)
	if m == nil {
		return 0, ""
	}
	name := strings.ToLower(m[2])
	if dc.aliases[name] == nil && own.aliases[name] == nil {
		return 0, fmt.Sprintf("no such alias '%s'", text)
	}
	found := own.aliases[name]
	if m[1] == "dc/" || found == nil && m[1] == "" {
		found = dc.aliases[name]
	}
	return atoi(found["ipversion"]), ""
}

// storedRule returns the rule of a call as it is stored, and the rules that its comment adds behind it: a comment with line breaks is written into the
// file as it is, and every further line is read as a line of the file.
func storedRule(r values) []values {
	comment := r["comment"]
	r["comment"] = firewallLine(comment)
	r["enable"] = itoa(min(1, atoi(r["enable"])))
	for _, k := range []string{"dport", "sport", "source", "dest", "macro", "iface", "log", "icmp-type", "comment", "proto"} {
		if r[k] == "" || r[k] == "0" {
			delete(r, k)
		}
	}
	out := []values{r}
	if _, more, found := strings.Cut(comment, "\n"); found {
		for line := range strings.SplitSeq(more, "\n") {
			if added := parseRuleLine(line); added != nil {
				out = append(out, added)
			}
		}
	}
	return out
}

var ruleFlags = map[string]string{"-p": "proto", "-source": "source", "-dest": "dest", "-dport": "dport", "-sport": "sport", "-i": "iface", "-log": "log", "-icmp-type": "icmp-type"}

// parseRuleLine reads a line of a firewall file, such as "IN DROP -p udp". It returns nil for a line that is no rule.
func parseRuleLine(line string) values {
	line, comment, _ := strings.Cut(line, "#")
	line, off := strings.CutPrefix(strings.TrimSpace(line), "|")
	words := strings.Fields(line)
	if len(words) < 2 || len(words)%2 != 0 || !slices.Contains([]string{"IN", "OUT", "GROUP"}, words[0]) {
		return nil
	}
	r := values{"type": strings.ToLower(words[0]), "action": words[1], "enable": itoa(int(1 - boolToInt(off)))}
	if macro, action, found := strings.Cut(strings.TrimSuffix(words[1], ")"), "("); found {
		r["macro"], r["action"] = macro, action
	}
	for i := 2; i < len(words); i += 2 {
		key := ruleFlags[words[i]]
		if key == "" {
			return nil
		}
		r[key] = words[i+1]
	}
	if c := strings.TrimSpace(comment); c != "" {
		r["comment"] = c
	}
	return r
}
