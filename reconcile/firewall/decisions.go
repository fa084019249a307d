package firewall

import (
	"slices"
	"strconv"
	"strings"

	"gitops-agent/reconcile/guest"
)

const (
	accept    = "ACCEPT"
	ruleGroup = "group"
)

// decision is a rule as far as it decides about packets in one direction, or the policy behind the rules.
type decision struct {
	rule           guest.FirewallRule
	group          bool // of a security group whose rules are not known: it may accept and deny
	source, dest   []addresses
	ports, sources portSet // destination and source ports
	text           string
}

func (d *decision) accepts() bool { return d.group || d.rule.Action == accept }
func (d *decision) denies() bool  { return d.group || d.rule.Action != accept }

// directions are the directions of rules, with the option that decides about the rest and its default.
var directions = []struct{ name, policy, byDefault string }{{"in", "policy_in", "DROP"}, {"out", "policy_out", accept}}

// decisions returns what decides about packets in a direction, the policy last.
func (s scope) decisions(direction, policy string) []*decision {
	list := make([]*decision, 0, len(s.own.Rules)+1)
	for _, r := range s.own.Rules {
		rules, known := s.cluster.Groups[strings.ToLower(r.Action)]
		switch {
		case !r.Enabled || r.Type != ruleGroup && r.Type != direction:
		case r.Type != ruleGroup:
			list = append(list, s.decision(r))
		case !known:
			unknown := r.Effect()
			unknown.Action += s.cluster.UnknownGroups
			list = append(list, &decision{rule: unknown, group: true, text: r.String()})
		default:
			for _, inner := range rules {
				if inner.Enabled && inner.Type == direction {
					list = append(list, s.ofGroup(r, inner))
				}
			}
		}
	}
	return append(list, &decision{rule: guest.FirewallRule{Type: direction, Action: policy}, source: s.named(""), dest: s.named(""), text: "the policy " + policy})
}

func (s scope) decision(r guest.FirewallRule) *decision {
	return &decision{
		rule: r.Effect(), source: s.named(r.Source), dest: s.named(r.Dest), ports: parsePorts(r.DestPort), sources: parsePorts(r.SourcePort), text: r.String(),
	}
}

// ofGroup returns a rule of a security group where a rule of the guest names the group. A card that both name applies twice.
func (s scope) ofGroup(r, inner guest.FirewallRule) *decision {
	switch {
	case inner.Interface == "":
		inner.Interface = r.Interface
	case r.Interface != "":
		inner.Interface = r.Interface + "+" + inner.Interface
	}
	s.own = &guest.FirewallWanted{} // names in a group are those of the cluster
	d := s.decision(inner)
	d.text = inner.String() + " of the group " + r.Action
	return d
}

// covers reports whether every packet that o decides about certainly matches d.
func (d *decision) covers(o *decision) bool {
	if d.group || o.group {
		return d.group && o.group && d.rule.Action == o.rule.Action && d.rule.Interface == o.rule.Interface
	}
	if d.rule.Interface != "" && d.rule.Interface != o.rule.Interface {
		return false
	}
	return d.coversService(o) && slices.EqualFunc(d.source, o.source, addresses.contains) && slices.EqualFunc(d.dest, o.dest, addresses.contains)
}

// coversService compares protocols and ports. A macro is several protocols and ports, which the agent does not know.
func (d *decision) coversService(o *decision) bool {
	a, b := d.rule, o.rule
	if a.Macro == "" && a.Protocol == "" && a.DestPort == "" && a.SourcePort == "" && a.ICMPType == "" {
		return true
	}
	return a.Macro == b.Macro && a.Protocol == b.Protocol && (a.ICMPType == "" || a.ICMPType == b.ICMPType) && d.ports.contains(o.ports) && d.sources.contains(o.sources)
}

// portSet is a list of ports. An empty one has all ports.
type portSet []portRange

// portRange is a range of ports, or an item with the name of a service, or with a number that is not read as it is written.
type portRange struct {
	first, last uint64
	name        string
}

func parsePorts(text string) portSet {
	var set portSet
	if text == "" {
		return nil
	}
	for item := range strings.SplitSeq(text, ",") {
		begin, end, isRange := strings.Cut(item, ":")
		if !isRange {
			end = begin
		}
		first, errFirst := strconv.ParseUint(begin, 10, 16)
		last, errLast := strconv.ParseUint(end, 10, 16)
		if errFirst != nil || errLast != nil || guest.HasZeroInFront(item) {
			set = append(set, portRange{name: item})
			continue
		}
		set = append(set, portRange{first: first, last: last})
	}
	return set
}

func (set portSet) contains(o portSet) bool {
	if len(set) == 0 {
		return true
	}
	for _, r := range o {
		has := func(w portRange) bool {
			return w == r || w.name == "" && r.name == "" && w.first <= r.first && r.last <= w.last
		}
		if !slices.ContainsFunc(set, has) {
			return false
		}
	}
	return len(o) > 0
}
