package securitygroup

import (
	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/kind"
)

// raise returns the fields of the manifest that describes a live group.
func raise(o cluster.Object) (fields []kind.Raised, left []string) {
	rules := [][]kind.Raised{}
	for _, r := range kind.RulesOf(o.Keys[keyRules]) {
		params := r.Params()
		var rule []kind.Raised
		for _, f := range ruleFields() {
			switch text := params[f.Key]; {
			case f.Name == fieldEnable && text == "1", text == "":
			case f.Name == fieldEnable:
				rule = append(rule, kind.Raised{Name: f.Name, Value: false})
			default:
				rule = append(rule, kind.Raised{Name: f.Name, Value: text})
			}
		}
		rules = append(rules, rule)
	}
	return []kind.Raised{{Name: keyRules, Value: rules}}, nil
}
