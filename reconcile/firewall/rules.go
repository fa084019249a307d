package firewall

import (
	"slices"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
)

// ruleCall returns a call on the rule at a position, under the digest of the rules.
func (s *sequence) ruleCall(verb cluster.FirewallVerb, pos int, params map[string]string) cluster.Call {
	return cluster.Call{
		Firewall: cluster.FirewallCall{Verb: verb, Object: cluster.FirewallRule, Pos: pos}, Digest: s.seen.RulesDigest, Params: params,
	}
}

// addRule adds a rule without effect.
func addRule(r guest.FirewallRule) cluster.Call {
	return cluster.Call{Firewall: cluster.FirewallCall{Verb: cluster.FirewallAdd, Object: cluster.FirewallRule}, Params: r.Disabled().Params()}
}

// addRules adds the missing rules without effect. The last one comes first, since each becomes the first rule.
func (s *sequence) addRules() (cluster.Call, bool) {
	for i, r := range slices.Backward(s.want.Rules) {
		if s.places.at[i] < 0 && s.places.staged[i] < 0 {
			return addRule(r), true
		}
	}
	return cluster.Call{}, false
}

// placeRules moves the added rules behind the wanted rule before them, and sets them in effect, the first one first.
func (s *sequence) placeRules() (cluster.Call, bool) {
	before := -1
	for i, r := range s.want.Rules {
		at := s.places.at[i]
		if at < 0 {
			at = s.places.staged[i]
			if at < before || at > s.places.nextPlaced(i, len(s.seen.Rules)) {
				call := s.ruleCall(cluster.FirewallMove, at, nil)
				call.Firewall.To = before + 1
				return call, true
			}
			if r.Enabled {
				return s.ruleCall(cluster.FirewallSet, at, map[string]string{"enable": "1"}), true
			}
		}
		before = at
	}
	return cluster.Call{}, false
}

// dropRules removes what the manifest does not mention, the last rule first. Copies without effect that a call without a reply left are removed in
// any case.
func (s *sequence) dropRules() (cluster.Call, bool) {
	for j, r := range slices.Backward(s.seen.Rules) {
		if s.isOther(j, r) {
			return s.ruleCall(cluster.FirewallDelete, j, nil), true
		}
	}
	return cluster.Call{}, false
}

// isOther reports whether the rule at a position is to be removed, apart from the rules that block.
func (s *sequence) isOther(pos int, r guest.FirewallRule) bool {
	switch {
	case s.want.Rules == nil || s.places.taken[pos] || isBlock(r):
		return false
	case !s.want.KeepOthers:
		return true
	}
	return !r.Enabled && slices.ContainsFunc(s.want.Rules, func(w guest.FirewallRule) bool { return w.Enabled && w.Disabled() == r })
}

// describeRules writes comments and levels of logs.
func (s *sequence) describeRules() (cluster.Call, bool) {
	for i, r := range s.want.Rules {
		at := s.places.at[i]
		if at < 0 || s.seen.Rules[at] == r {
			continue
		}
		call := s.ruleCall(cluster.FirewallSet, at, map[string]string{})
		for key, value := range map[string]string{"comment": r.Comment, "log": r.Log} {
			if value == "" {
				call.Delete = append(call.Delete, key)
			} else {
				call.Params[key] = value
			}
		}
		slices.Sort(call.Delete)
		return call, true
	}
	return cluster.Call{}, false
}
