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
	guestRules   ruleEnv = "vm"
	groupRules   ruleEnv = "group"
	clusterRules ruleEnv = "cluster"
	nodeRules    ruleEnv = "host"
)

var firewallLogLevels = []string{"emerg", "alert", "crit", "err", "warning", "notice", "info", "debug", "nolog"}

// ruleParams are the parameters of a rule, without those that select it.
var ruleParams = map[string]rule{
	"type": enum("in", "out", "forward", "group"), "action": matching(`[A-Za-z][A-Za-z0-9\-_]+`).length(2, 20), "macro": text().length(0, 128),
	"iface": text().length(2, 20), "source": addressRule(), "dest": addressRule(), "proto": checked(checkProtocol), "enable": integer().atLeast(0),
	"sport": checked(checkPorts), "dport": checked(checkPorts), "comment": text(), "log": enum(firewallLogLevels...), "icmp-type": checked(checkICMPType),
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
		address-mask-reply no-route beyond-scope address-unreachable failed-policy reject-route packet-too-big bad-header unknown-header-type
		unknown-option neighbor-solicitation neighbour-solicitation neighbor-advertisement neighbour-advertisement`)
)

func checkProtocol(s string) error {
	if slices.Contains(protocols, s) || integerText.MatchString(s) && atoi(s) >= 0 && atoi(s) <= 255 {
		return nil
	}
	return fmt.Errorf("unknown protocol '%s'", s)
}

func checkICMPType(s string) error {
	if !slices.Contains(icmpTypes, s) {
		return fmt.Errorf("invalid icmp-type value '%s'", s)
	}
	return nil
}

var (
	portRange  = newPattern(`^(\d+):(\d+)$`)
	portNumber = newPattern(`^\d+$`)
)

func checkPorts(s string) error {
	if strings.HasSuffix(s, ",") {
		return errors.New("extraneous commas in list")
	}
	count := 0
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
		case portNumber.MatchString(item) && atoi(item) <= 65535, slices.Contains(services, item):
			count++
		default:
			return fmt.Errorf("invalid port '%s'", item)
		}
	}
	if count > 15 {
		return errors.New("too many entries in port list (> 15 numbers)")
	}
	return nil
}

var guestInterface = newPattern(`^net\d+$`)

// verifyRule returns a rule with what follows from it, and its errors by parameter. It returns an error only where Proxmox gives up in the middle. own is
// the firewall of the rule's guest, or nil.
//
// Source: PVE::Firewall verify_rule.
func (s *Sim) verifyRule(r values, env ruleEnv, own *firewall) (values, map[string]string, error) {
	r = maps.Clone(r)
	delete(r, "ipversion")
	bad := map[string]string{}
	verifyRuleType(r, env, bad)
	if m, known := findMacro(r["macro"]); r["macro"] != "" && !known {
		bad["macro"] = fmt.Sprintf("unknown macro '%s'", r["macro"])
	} else if r["macro"] != "" {
		r["macro"] = m.name
		if r["proto"] != "" && m.proto != "" {
			bad["proto"] = fmt.Sprintf("parameter 'proto' already define in macro (value = '%s')", m.proto)
		}
	}
	for _, port := range []string{"dport", "sport"} {
		if r[port] != "" && r["proto"] == "" {
			bad["proto"] = "missing property - '" + port + "' requires this property"
		}
	}
	family := map[string]int{"icmp": 4, "icmpv6": 6, "ipv6-icmp": 6}[r["proto"]]
	for _, side := range []string{"source", "dest"} {
		if r[side] == "" {
			continue
		}
		literal, err := addressFamily(r[side])
		switch {
		case err != nil:
			bad[side] = err.Error()
		case literal != 0 && family != 0 && literal != family:
			bad[side] = "detected mixed ipv4/ipv6 addresses in rule"
		case literal != 0:
			family = literal
		}
		named, msg := s.namedFamily(r[side], own)
		if msg != "" {
			bad[side] = msg
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
	return r, bad, nil
}

func verifyRuleType(r values, env ruleEnv, bad map[string]string) {
	typ, action := r["type"], r["action"]
	switch {
	case typ == "forward" && env == guestRules, typ == "group" && env == groupRules:
		bad["type"] = fmt.Sprintf("invalid rule type '%s' for rule_env '%s'", typ, env)
	case typ == "forward" && action == "REJECT":
		bad["action"] = "cannot define REJECT rules on forward chain"
	case typ != "group" && action != "ACCEPT" && action != "DROP" && action != "REJECT":
		bad["action"] = fmt.Sprintf("unknown action '%s'", action)
	}
	switch {
	case r["iface"] == "":
	case env == groupRules:
		bad["type"] = "parameter -i not allowed for this rule type"
	case env == guestRules && !guestInterface.MatchString(r["iface"]):
		bad["iface"] = `value does not match the regex pattern 'net\d+'`
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
