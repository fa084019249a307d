package firewall

import (
	"slices"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
)

// BlockComment is the comment of the rules that drop new connections while aliases or sets change.
const BlockComment = "gitops-agent: addresses are being changed"

// blocks are the rules that drop new connections in both directions.
var blocks = []guest.FirewallRule{
	{Type: "in", Action: "DROP", Comment: BlockComment, Enabled: true},
	{Type: "out", Action: "DROP", Comment: BlockComment, Enabled: true},
}

func isBlock(r guest.FirewallRule) bool {
	r.Enabled = true
	return slices.Contains(blocks, r)
}

// block drops new connections before names change on which rules in effect depend.
func (s *sequence) block() (cluster.Call, bool) {
	if !s.namesNeedBlock() {
		return cluster.Call{}, false
	}
	for n, b := range blocks {
		at := slices.Index(s.seen.Rules, b)
		switch {
		case at >= 0 && at < len(blocks):
			continue
		case at >= 0:
			call := s.ruleCall(cluster.FirewallMove, at, nil)
			call.Firewall.To = n
			return call, true
		}
		if at = slices.Index(s.seen.Rules, b.Disabled()); at < 0 {
			return addRule(b), true
		}
		if at > 0 {
			return s.ruleCall(cluster.FirewallMove, at, nil), true
		}
		return s.ruleCall(cluster.FirewallSet, at, map[string]string{"enable": "1"}), true
	}
	return cluster.Call{}, false
}

// unblock removes the rules that block, when nothing else is left to do.
func (s *sequence) unblock() (cluster.Call, bool) {
	for j, r := range slices.Backward(s.seen.Rules) {
		if isBlock(r) {
			return s.ruleCall(cluster.FirewallDelete, j, nil), true
		}
	}
	return cluster.Call{}, false
}
