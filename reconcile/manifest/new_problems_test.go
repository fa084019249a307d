package manifest

import (
	"testing"

	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/kind"
	"gitops-agent/reconcile/policy"
)

// TestNewProblemsOfKindsAndPolicies parses an object whose kind refuses more than an earlier release did, and a policy for which the compiler does. A new revision is
// refused, and does not get a policy that denies in its place. In a revision in force both have their meaning, and a warning.
func TestNewProblemsOfKindsAndPolicies(t *testing.T) {
	t.Parallel()
	k := &kind.Kind{Name: "Shelf", Noun: "shelf", Plural: "shelves", Lower: func(kind.Spec, *kind.Desired) []kind.Problem {
		return []kind.Problem{{Message: "got a shelf, want none", Hint: "remove it", New: true}}
	}}
	at := guest.Origin{File: "all.yaml", Line: 7, Column: 3}
	rule := policy.Rule{Name: "two", Origin: guest.Origin{File: "all.yaml", Line: 5, Column: 1}}
	problems := []policy.Problem{{Origin: at, Policy: "two", Field: "when", Message: "got this, want that", New: true}}
	for name, accepted := range map[string]bool{"new": false, "accepted": true} {
		p := newParser()
		if accepted {
			p = newAcceptedParser()
		}
		documents := (File{Path: "all.yaml", Data: []byte("apiVersion: proxmox.gitops/v1alpha1\nkind: Pool\nmetadata: {name: one}\n")}).documents(p.report)
		p.object(newDocument(documents[0], p.report), k)
		r := &report{}
		r.addPolicy(problems)
		p.addPolicy(rule, r)
		if len(p.set.Policies) != 1 || p.set.Policies[0].Mistake != "" || len(p.mistakes.list) > 0 {
			t.Errorf("%s: got policies %+v, want one without a mistake", name, p.set.Policies)
		}
		err := p.report.err()
		if (err == nil) != accepted || err != nil && err.Error() != "all.yaml:1:1: Pool one: got a shelf, want none (remove it)\nall.yaml:7:3: Policy two: when: got this, want that" {
			t.Errorf("%s: got error %v, want both problems in a new revision", name, err)
		}
		if objects, warnings := len(p.set.Objects) == 1, len(p.report.warnings) == 2; objects != accepted || warnings != accepted {
			t.Errorf("%s: got objects %+v and warnings %v, want both of a revision in force", name, p.set.Objects, p.report.warnings)
		}
	}
}
