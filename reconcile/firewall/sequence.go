package firewall

import (
	"maps"
	"slices"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
)

// Next returns the next call from the observed firewall to the wanted one. It has no kind, node and vmid. It returns false if nothing differs.
func Next(want *guest.FirewallWanted, seen *guest.FirewallSeen) (cluster.Call, bool) {
	if isAsWanted(want, seen) {
		return cluster.Call{}, false
	}
	s := newSequence(want, seen)
	for _, stage := range s.stages() {
		if call, found := stage(); found {
			call.Op = cluster.OpFirewall
			return call, true
		}
	}
	return cluster.Call{}, false
}

// isAsWanted reports whether a firewall certainly does not differ. Each cycle asks that of every guest, and the rules of almost all are equal one by one. A firewall
// with names is compared in full.
func isAsWanted(want *guest.FirewallWanted, seen *guest.FirewallSeen) bool {
	if len(want.Aliases)+len(want.Sets)+len(seen.Aliases)+len(seen.Sets) > 0 {
		return false
	}
	for key, value := range want.Options {
		if seen.Options[key] != value {
			return false
		}
	}
	return (want.Rules == nil || slices.Equal(want.Rules, seen.Rules)) && !slices.ContainsFunc(seen.Rules, isBlock)
}

// sequence chooses the next call.
type sequence struct {
	want   *guest.FirewallWanted
	seen   *guest.FirewallSeen
	places places
}

func newSequence(want *guest.FirewallWanted, seen *guest.FirewallSeen) *sequence {
	return &sequence{want: want, seen: seen, places: align(want.Rules, seen.Rules)}
}

// stage returns a call, or false if there is nothing to do.
type stage func() (cluster.Call, bool)

// stages returns the parts of the work in order.
func (s *sequence) stages() []stage {
	inForce, stays := isOn(s.seen.Options["enable"]), s.staysOn()
	rules := []stage{s.defineNames, s.addRules, s.placeRules}
	rest := []stage{s.dropRules, s.describeRules}
	names := []stage{s.dropNames, s.unblock}
	switch {
	case !inForce:
		return slices.Concat(rules, rest, []stage{s.options(anyOption)}, names)
	case !stays:
		return slices.Concat([]stage{s.options(anyOption)}, rules, rest, names)
	}
	return slices.Concat([]stage{s.options(isTightened), s.block}, rules, []stage{s.options(isPlain)}, rest, []stage{s.options(anyOption)}, names)
}

func isOn(value string) bool { return value != "" && value != "0" }

// staysOn reports whether the firewall is in force with the wanted options.
func (s *sequence) staysOn() bool {
	if value, managed := s.want.Options["enable"]; managed {
		return isOn(value)
	}
	return isOn(s.seen.Options["enable"])
}

func anyOption(string, string) bool { return true }

// filters are the options that drop packets before the rules see them, with whether a value does.
var filters = map[string]func(value string) bool{
	"ipfilter":  isOn,
	"macfilter": func(value string) bool { return value != "0" }, // on by default
	"radv":      func(value string) bool { return !isOn(value) }, // drops router advertisements unless it is set
}

// isTightened reports whether an option drops more before the rules: it changes before any rule.
func isTightened(key, value string) bool {
	drops, isFilter := filters[key]
	return isFilter && drops(value)
}

// isPlain reports whether an option decides about packets after the rules, or about none: it changes between the new and the old rules.
func isPlain(key, _ string) bool {
	_, isFilter := filters[key]
	return !isFilter
}

// options returns the stage that writes the options that may be written.
func (s *sequence) options(may func(key, value string) bool) stage {
	return func() (cluster.Call, bool) {
		call := cluster.Call{
			Firewall: cluster.FirewallCall{Verb: cluster.FirewallSet, Object: cluster.FirewallOptions}, Digest: s.seen.OptionsDigest, Params: map[string]string{},
		}
		for _, key := range slices.Sorted(maps.Keys(s.want.Options)) {
			value := s.want.Options[key]
			switch {
			case s.seen.Options[key] == value || !may(key, value):
			case value == "":
				call.Delete = append(call.Delete, key)
			default:
				call.Params[key] = value
			}
		}
		return call, len(call.Params)+len(call.Delete) > 0
	}
}
