package manifest

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/kind"
	"gitops-agent/reconcile/manifest/tree"
)

// firewall is the firewall of a guest. Its options have native names of their own, which are not keys of the guest's configuration.
type firewall struct {
	enable, dhcp, ndp, radv, ipFilter, macFilter opt[bool]
	policyIn, policyOut, logIn, logOut           opt[string]
	keepOthers, guarded                          opt[bool]
	rules                                        opt[[]opt[firewallRule]]
	aliases                                      opt[map[string]opt[firewallAlias]]
	sets                                         opt[map[string]opt[firewallSet]]
}

var firewallLogLevels = kind.FirewallLogLevel.Words

func (f *firewall) fields() []field {
	policy := func(into *opt[string]) value { return choice(into, "ACCEPT", "DROP", "REJECT") }
	return []field{
		{"enable", "", "The firewall has an effect. It also needs firewall: true at the network cards, and the firewall of the datacenter.", flag(&f.enable)},
		{"policyIn", "", "What happens to incoming connections that no rule decides about. Proxmox's default: DROP.", policy(&f.policyIn)},
		{"policyOut", "", "What happens to outgoing connections that no rule decides about. Proxmox's default: ACCEPT.", policy(&f.policyOut)},
		{"logIn", "", "How incoming packets are logged that no rule decides about. Proxmox's default: nolog.", choice(&f.logIn, firewallLogLevels...)},
		{"logOut", "", "How outgoing packets are logged that no rule decides about. Proxmox's default: nolog.", choice(&f.logOut, firewallLogLevels...)},
		{"dhcp", "", "Admit DHCP before the rules.", flag(&f.dhcp)},
		{"ndp", "", "Admit neighbor discovery of IPv6 before the rules.", flag(&f.ndp)},
		{"radv", "", "Let the guest send router advertisements.", flag(&f.radv)},
		{"ipFilter", "", "Drop what the guest sends from other addresses than its own, which the sets ipfilter-net0 and so on name.", flag(&f.ipFilter)},
		{"macFilter", "", "Drop what the guest sends from other MAC addresses than its own. Proxmox's default: true.", flag(&f.macFilter)},
		{"rules", "", "The rules in order: the first one that matches decides. Without keepOthers there are no others.", withExamples(objectList(&f.rules),
			`[{"type": "in", "action": "ACCEPT", "macro": "SSH", "source": "+admins"}, {"type": "in", "action": "ACCEPT", "protocol": "tcp", "port": "80,443"}]`)},
		{"aliases", "", "Names for addresses, for the rules of this guest.", withExamples(namedObjects(&f.aliases, firewallName), `{"office": {"cidr": "10.0.0.0/24"}}`)},
		{"ipSets", "", "Sets of addresses, which rules name with a plus sign.", withExamples(namedObjects(&f.sets, firewallName), `{"admins": {"entries": [{"cidr": "10.0.0.5"}]}}`)},
		{"keepOthers", "", "Rules, aliases and sets that the manifest does not mention stay. Default: false.", flag(&f.keepOthers)},
		{"guarded", "", "Opening the firewall needs approvals. It is then managed as a whole: options, aliases and sets that are not mentioned are not set. Needs enable: true and rules.", flag(&f.guarded)},
	}
}

// firewallRule is one rule.
type firewallRule struct {
	direction, action, group, macro, link    opt[string]
	source, dest, protocol, port, sourcePort opt[string]
	icmpType, log, comment                   opt[string]
	enable                                   opt[bool]
}

func (r *firewallRule) fields() []field {
	return []field{
		{"type", "", "in or out.", choice(&r.direction, "in", "out")},
		{"action", "", "What happens to a connection that matches.", choice(&r.action, "ACCEPT", "DROP", "REJECT")},
		{"group", "", "Security group of the cluster whose rules apply here, instead of type and action.", text(&r.group, groupName)},
		{"macro", "", "Name of a macro of Proxmox: protocol and ports of a service, such as SSH.", text(&r.macro, macroName)},
		{"protocol", "", "Protocol, such as tcp.", text(&r.protocol, protocolName)},
		{"port", "", "Destination ports: numbers, names and ranges.", ports(&r.port)},
		{"sourcePort", "", "Source ports: numbers, names and ranges.", ports(&r.sourcePort)},
		{"source", "", "Source addresses: a list of addresses and networks, a range, an alias, or a set with a plus sign.", text(&r.source, firewallAddress)},
		{"dest", "", "Destination addresses, like source.", text(&r.dest, firewallAddress)},
		{"icmpType", "", "Type of ICMP messages, such as echo-request.", text(&r.icmpType, icmpType)},
		{"interface", "", "Network card, such as net0. Default: all.", text(&r.link, firewallLink)},
		{"log", "", "How packets that match are logged. Default: nolog.", choice(&r.log, firewallLogLevels...)},
		{"comment", "", "Note. A rule has one line.", text(&r.comment, firewallComment)},
		{"enable", "", "The rule has an effect. Default: true.", flag(&r.enable)},
	}
}

// firewallAlias is a name for an address.
type firewallAlias struct{ cidr, comment opt[string] }

func (a *firewallAlias) fields() []field {
	return []field{
		{"cidr", "", "Address or network. Required.", text(&a.cidr, networkAddress)},
		{"comment", "", "Note.", text(&a.comment, firewallComment)},
	}
}

// firewallSet is a set of addresses.
type firewallSet struct {
	comment opt[string]
	entries opt[[]opt[firewallEntry]]
}

func (s *firewallSet) fields() []field {
	return []field{
		{"comment", "", "Note. Removing it from the manifest leaves it in Proxmox.", text(&s.comment, firewallComment)},
		{"entries", "", "The addresses.", objectList(&s.entries)},
	}
}

// firewallEntry is one element of a set.
type firewallEntry struct {
	cidr, comment opt[string]
	noMatch       opt[bool]
}

func (e *firewallEntry) fields() []field {
	return []field{
		{"cidr", "", "Address, network, or an alias of the cluster, such as dc/office. Required.", text(&e.cidr, setEntry)},
		{"noMatch", "", "These addresses do not belong to the set, although a larger network of it has them.", flag(&e.noMatch)},
		{"comment", "", "Note.", text(&e.comment, firewallComment)},
	}
}

// wanted returns the firewall that the manifest wants, nil if it does not mention one.
func (f *firewall) wanted(l *lowering, at place) *guest.FirewallWanted {
	out := &guest.FirewallWanted{Options: map[string]string{}, KeepOthers: f.keepOthers.value, Origin: guest.Origin(at.at)}
	for key, o := range map[string]opt[bool]{
		"enable": f.enable, "dhcp": f.dhcp, "ndp": f.ndp, "radv": f.radv, "ipfilter": f.ipFilter, "macfilter": f.macFilter,
	} {
		if o.set {
			out.Options[key] = boolCodec{"1", "0"}.format(o.value)
		}
	}
	for key, o := range map[string]opt[string]{"policy_in": f.policyIn, "policy_out": f.policyOut, "log_level_in": f.logIn, "log_level_out": f.logOut} {
		if o.set {
			out.Options[key] = o.value
		}
	}
	f.wantRules(l, out)
	if f.guarded.value {
		f.guard(l, out)
	}
	if f.aliases.set || f.guarded.value {
		out.Aliases = []guest.FirewallAlias{}
		for _, name := range slices.Sorted(maps.Keys(f.aliases.value)) {
			a := f.aliases.value[name]
			l.require(a.place, a.value.cidr.set, "cidr")
			out.Aliases = append(out.Aliases, guest.FirewallAlias{Name: name, CIDR: a.value.cidr.value, Comment: a.value.comment.value})
		}
	}
	if f.sets.set || f.guarded.value {
		out.Sets = []guest.FirewallSet{}
		for _, name := range slices.Sorted(maps.Keys(f.sets.value)) {
			out.Sets = append(out.Sets, f.sets.value[name].value.wanted(l, name))
		}
	}
	return out
}

// guardedOptions are the options that decide about packets.
var guardedOptions = []string{"enable", "policy_in", "policy_out", "dhcp", "ndp", "radv", "ipfilter", "macfilter"}

// guard manages what the manifest does not mention, so that two versions of the manifest can be compared: it has Proxmox's default, or does not exist.
func (f *firewall) guard(l *lowering, out *guest.FirewallWanted) {
	out.Guarded = true
	at := f.guarded.place
	switch {
	case f.enable.set && !f.enable.value:
		l.missing(f.enable.place, "got enable: false beside guarded: true", "to switch a guarded firewall off, remove guarded too, and have both approved")
	case !f.enable.set:
		l.missing(at, "got guarded: true without enable: true", "add enable: true")
	}
	if !f.rules.set {
		l.missing(at, "got guarded: true without rules, which leaves any rule in force", "add rules, or rules: [] for none")
	}
	if f.keepOthers.value {
		l.missing(f.keepOthers.place, "got keepOthers: true beside guarded: true: rules of others could admit anything", "leave one of them out")
	}
	for _, key := range guardedOptions {
		if _, mentioned := out.Options[key]; !mentioned {
			out.Options[key] = ""
		}
	}
}

// require reports a field that an object has to have.
func (l *lowering) require(at place, set bool, name string) {
	if !set {
		l.missing(at, "got no "+name+", want one", "add "+name+":")
	}
}

func (s firewallSet) wanted(l *lowering, name string) guest.FirewallSet {
	out := guest.FirewallSet{Name: name, Comment: s.comment.value}
	first := map[string]place{}
	for _, e := range s.entries.value {
		l.require(e.place, e.value.cidr.set, "cidr")
		cidr := e.value.cidr.value
		if other, twice := first[cidr]; twice && e.value.cidr.set {
			l.problem(e.place, "got "+cidr+" twice, the first time in "+l.describePlace(other), "")
		}
		first[cidr] = e.place
		out.Entries = append(out.Entries, guest.FirewallEntry{CIDR: cidr, NoMatch: e.value.noMatch.value, Comment: e.value.comment.value})
	}
	slices.SortFunc(out.Entries, func(a, b guest.FirewallEntry) int { return strings.Compare(a.CIDR, b.CIDR) })
	return out
}

func (f *firewall) wantRules(l *lowering, out *guest.FirewallWanted) {
	if !f.rules.set {
		return
	}
	out.Rules = []guest.FirewallRule{}
	for _, r := range f.rules.value {
		r.value.check(l, r.place)
		rule := r.value.wanted()
		for i, other := range out.Rules {
			if other.Effect().Disabled() == rule.Effect().Disabled() {
				l.missing(r.place, "got the same rule as "+l.describePlace(f.rules.value[i].place)+", which decides first", "leave one of them out")
			}
		}
		out.Rules, out.RuleOrigins = append(out.Rules, rule), append(out.RuleOrigins, guest.Origin(r.at))
	}
}

func (r *firewallRule) wanted() guest.FirewallRule {
	rule := guest.FirewallRule{
		Type: r.direction.value, Action: r.action.value, Macro: strings.ToLower(r.macro.value), Interface: r.link.value, Source: r.source.value, Dest: r.dest.value,
		Protocol: r.protocol.value, SourcePort: r.sourcePort.value, DestPort: r.port.value, ICMPType: r.icmpType.value, Log: r.log.value, Comment: r.comment.value,
		Enabled: !r.enable.set || r.enable.value,
	}
	if r.group.set {
		rule.Type, rule.Action = "group", r.group.value
	}
	return rule
}

// check refuses what Proxmox would refuse, or would understand otherwise.
func (r *firewallRule) check(l *lowering, at place) {
	if r.group.set {
		for _, other := range []place{
			placeIf(r.direction), placeIf(r.action), placeIf(r.macro), placeIf(r.protocol), placeIf(r.port), placeIf(r.sourcePort), placeIf(r.source), placeIf(r.dest),
			placeIf(r.icmpType), placeIf(r.log),
		} {
			if other != (place{}) {
				l.problem(other, "got it beside group, which has rules of its own", "keep group with interface, comment and enable")
			}
		}
		return
	}
	places := map[string]place{"": at, "proto": r.protocol.place, "icmp-type": r.icmpType.place, "source": r.source.place, "dest": r.dest.place}
	for _, p := range r.wanted().Problems() {
		found := places[p.Key]
		if p.Lacks {
			l.missing(found, p.Message, p.Hint)
		} else {
			l.report.add(Problem{Origin: guest.Origin(found.at), Guest: l.label, Field: found.path, Message: p.Message, Hint: p.Hint, New: p.New})
		}
	}
}

// checkMacros warns of macros that the newest known release of Proxmox does not have. A later one may have them, so nothing is refused: a plan asks the cluster.
func (p *parser) checkMacros(warnings *report) {
	check := func(label, field string, at guest.Origin, macro string) {
		if macro != "" && !guest.IsFirewallMacro(macro) {
			warnings.add(Problem{
				Origin: at, Guest: label, Field: field, Message: "got the macro " + tree.Quote(macro) + ", which Proxmox VE 9.2 does not have: a cluster without it refuses the rule",
				Hint: didYouMean(closest(macro, guest.FirewallMacros())),
			})
		}
	}
	for _, label := range slices.Sorted(maps.Keys(p.specs)) {
		for _, r := range p.specs[label].shared().firewall.value.rules.value {
			macro := r.value.macro
			check(label, macro.path, guest.Origin(macro.at), macro.value)
		}
	}
	for _, d := range p.set.Objects {
		if text, _ := d.Text(kind.KeyRules); d.Kind == kind.FirewallGroups {
			for i, r := range kind.RulesOf(text) {
				check(d.Label(), fmt.Sprintf("%s[%d]", kind.KeyRules, i), d.Items[i], r.Macro)
			}
		}
	}
}

// placeIf returns where a field is set, the zero place if it is not.
func placeIf(o opt[string]) place {
	if !o.set {
		return place{}
	}
	return o.place
}
