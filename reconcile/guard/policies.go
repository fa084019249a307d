package guard

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/policy"
)

// removed is the new value of a policy whose file is gone.
const removed = "removed"

// policyField names a policy of the repository among the guards: "Policy/two-nics".
func policyField(name string) guest.GuardField {
	return guest.GuardField(string(policy.Kind) + "/" + name)
}

// PolicyOf returns the policy of the repository that a guard is.
func PolicyOf(field guest.GuardField) (name string, is bool) {
	return strings.CutPrefix(string(field), string(policy.Kind)+"/")
}

// policies compares the policies of the repository with those in force. A policy that is new, or that is stronger than the one in force, is in effect at once. One with a
// mistake is in effect beside the one in force: it denies everything in its reach.
func (r *resolution) policies() {
	wanted := make(map[string]bool, len(r.Input.Policies))
	for _, rule := range r.Input.Policies {
		rule = withSigners(rule, r.State)
		wanted[rule.Name] = true
		now, known := r.State.Policies[rule.Name]
		switch next := recordOf(rule); {
		case rule.Mistake != "" && known:
			r.Resolved.Policies = append(r.Resolved.Policies, ruleOf(now), rule)
		case !known || rule.Mistake != "" || !isLooser(next, now):
			r.Resolved.Policies = append(r.Resolved.Policies, rule)
		default:
			r.Resolved.Policies = append(r.Resolved.Policies, ruleOf(now))
			r.loosens(now, next, rule.Origin)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.State.Policies)) {
		if now := r.State.Policies[name]; !wanted[name] {
			r.Resolved.Policies = append(r.Resolved.Policies, ruleOf(now))
			r.loosens(now, journal.PolicyInForce{Name: name}, guest.Origin{})
		}
	}
	for _, rule := range r.Resolved.Policies {
		r.Resolved.Policies = append(r.Resolved.Policies, unclear(rule)...)
	}
	slices.SortStableFunc(r.Resolved.Policies, func(a, b policy.Rule) int { return strings.Compare(a.Name, b.Name) })
}

// unclear returns the rules that hold what a policy would judge if only one of its signers had introduced it. Several people changed the file of such a policy while the manifests did not
// parse, so the policy itself applies only where each of them may change something.
func unclear(rule policy.Rule) []policy.Rule {
	wider := rule.Reach.Wider()
	if len(wider) == 0 || rule.Mistake != "" {
		return nil
	}
	var names []string
	for _, s := range rule.Reach.Signers {
		if !slices.Contains(names, s.Name) {
			names = append(names, s.Name)
		}
	}
	rule.Mistake = "it is not known who wrote it: " + strings.Join(names, " and ") + " changed its file while the manifests did not parse. Let one of them change it again, for example its description"
	rules := make([]policy.Rule, 0, len(wider))
	for _, reach := range wider {
		rule.Reach = reach
		rules = append(rules, rule)
	}
	return rules
}

// PolicyWarnings describes the policies in force that hold more than they judge, because it is not known which of several signers wrote them, in the order of their names.
func PolicyWarnings(state journal.State) []string {
	var warnings []string
	for _, name := range slices.Sorted(maps.Keys(state.Policies)) {
		rule := ruleOf(state.Policies[name])
		if rules := unclear(rule); len(rules) > 0 {
			warnings = append(warnings, rule.Origin.String()+": Policy "+name+": "+rules[0].Mistake)
		}
	}
	return warnings
}

// loosens adds the weakening that makes a policy looser. Next has no condition if the policy is removed.
func (r *resolution) loosens(now, next journal.PolicyInForce, at guest.Origin) {
	w := Weakening{Field: policyField(now.Name), Origin: at, Exact: exactly(now) + exactly(next)}
	if w.Old, w.New = differences(now, next); next.When == "" {
		w.Old, w.New = resultText(now)+" in "+path.Dir(now.File), removed
	}
	r.Weakenings = append(r.Weakenings, w)
}

// exactly identifies a policy with its reach. Names of signers and lines do not matter for what it does.
func exactly(p journal.PolicyInForce) string {
	p.File, p.Line, p.Column = path.Dir(p.File), 0, 0
	p.By = slices.Clone(p.By)
	for i := range p.By {
		p.By[i].Signer = ""
	}
	text, _ := json.Marshal(p) // marshalling texts and numbers cannot fail
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// maxPolicyText bounds one value of a policy in a text for people. The digest of a weakening covers the whole value.
const maxPolicyText = 80

// differences returns what differs between two policies, for people.
func differences(now, next journal.PolicyInForce) (old, changed string) {
	var before, after []string
	for _, f := range []struct{ name, old, new string }{
		{"result", resultText(now), resultText(next)},
		{"folder", path.Dir(now.File), path.Dir(next.File)},
		{"on", now.On, next.On},
		{"operations", strings.Join(now.Operations, " "), strings.Join(next.Operations, " ")},
		{"classes", strings.Join(now.Classes, " "), strings.Join(next.Classes, " ")},
		{"kinds", strings.Join(now.Kinds, " "), strings.Join(next.Kinds, " ")},
		{"when", now.When, next.When},
		{"message", now.Message, next.Message},
		{"messageExpression", now.MessageExpression, next.MessageExpression},
		{"scope", scopeText(now), scopeText(next)},
	} {
		if f.old != f.new {
			before, after = append(before, f.name+" "+shortened(f.old)), append(after, f.name+" "+shortened(f.new))
		}
	}
	return strings.Join(before, ", "), strings.Join(after, ", ")
}

func shortened(text string) string {
	if text == "" {
		return "none"
	}
	if runes := []rune(text); len(runes) > maxPolicyText {
		text = string(runes[:maxPolicyText]) + "…"
	}
	return text
}

func resultText(p journal.PolicyInForce) string {
	if p.Approvals > 0 {
		return fmt.Sprintf("%s by %d", p.Result, p.Approvals)
	}
	return p.Result
}

// scopeText returns "web VirtualMachine/web-*", what those who introduced a policy may change.
func scopeText(p journal.PolicyInForce) string {
	var list []string
	for _, s := range p.By {
		if len(s.Paths)+len(s.Guests) > 0 {
			list = append(list, strings.Join(slices.Concat(s.Paths, s.Guests), " "))
		}
	}
	return cmp.Or(strings.Join(list, " and "), "everything")
}

// isLooser reports whether the next policy holds less than the one in force, as far as can be decided: each change counts, except for a stronger result, more approvals, and a reach that
// contains the present one.
func isLooser(next, now journal.PolicyInForce) bool {
	same := next.On == now.On && next.When == now.When && next.Message == now.Message && next.MessageExpression == now.MessageExpression &&
		slices.Equal(next.Operations, now.Operations) && slices.Equal(next.Classes, now.Classes) && slices.Equal(next.Kinds, now.Kinds)
	strength := func(p journal.PolicyInForce) int { return -slices.Index(policy.Results(), policy.Result(p.Result)) }
	switch {
	case !same, strength(next) < strength(now):
		return true
	case next.Result == now.Result && next.Approvals < now.Approvals:
		return true
	}
	return !ruleOf(next).Reach.Includes(ruleOf(now).Reach)
}

// withSigners returns a policy with who introduced it, as the journal records that. If the journal does not know it, as after a rewrite of the history, those of the policy in force count.
func withSigners(rule policy.Rule, state journal.State) policy.Rule {
	reach := policy.Reach{Folder: path.Dir(rule.Origin.File)}
	record := state.Introduced[policyLabel(rule.Name)]
	for _, by := range record.By {
		reach.Signers = append(reach.Signers, policy.Signer{Name: by.Signer, Paths: by.Paths, Guests: by.Guests})
	}
	if now, isInForce := state.Policies[rule.Name]; isInForce && len(record.By) == 0 {
		reach.Signers = ruleOf(now).Reach.Signers
	}
	rule.Reach = &reach
	return rule
}

func policyLabel(name string) journal.Label {
	return journal.Label{Kind: string(policy.Kind), Name: name}
}

// recordOf returns a policy as the journal records it: without what does not matter for what it does.
func recordOf(rule policy.Rule) journal.PolicyInForce {
	rule = rule.WithDefaults()
	p := journal.PolicyInForce{
		Name: rule.Name, File: rule.Origin.File, Line: rule.Origin.Line, Column: rule.Origin.Column, On: string(rule.On), Operations: slices.Sorted(slices.Values(rule.Operations)), When: rule.When,
		Result: string(rule.Result), Approvals: rule.Approvals, Message: rule.Message, MessageExpression: rule.Expression,
	}
	for _, class := range slices.Sorted(slices.Values(rule.Classes)) {
		p.Classes = append(p.Classes, string(class))
	}
	for _, kind := range slices.Sorted(slices.Values(rule.Kinds)) {
		p.Kinds = append(p.Kinds, string(kind))
	}
	for _, s := range rule.Reach.Signers {
		p.By = append(p.By, journal.PolicySigner{Signer: s.Name, Paths: s.Paths, Guests: s.Guests})
	}
	return p
}

// ruleOf returns a policy in force.
func ruleOf(p journal.PolicyInForce) policy.Rule {
	rule := policy.Rule{
		Name: p.Name, On: policy.On(p.On), Operations: p.Operations, When: p.When, Result: policy.Result(p.Result), Approvals: p.Approvals, Message: p.Message, Expression: p.MessageExpression,
		Origin: guest.Origin{File: p.File, Line: p.Line, Column: p.Column}, Reach: &policy.Reach{Folder: path.Dir(p.File)},
	}
	for _, class := range p.Classes {
		rule.Classes = append(rule.Classes, guest.Class(class))
	}
	for _, kind := range p.Kinds {
		rule.Kinds = append(rule.Kinds, guest.Kind(kind))
	}
	for _, s := range p.By {
		rule.Reach.Signers = append(rule.Reach.Signers, policy.Signer{Name: s.Signer, Paths: s.Paths, Guests: s.Guests})
	}
	return rule
}

// AcceptPolicies returns the policies of the repository that the journal records with the acceptance of a revision: those that are new, or stronger than
// the one in force. The state contains who introduced them.
func AcceptPolicies(wanted []policy.Rule, state journal.State) []journal.Body {
	var records []journal.Body
	for _, rule := range wanted {
		if rule.Mistake != "" {
			continue
		}
		next := recordOf(withSigners(rule, state))
		now, known := state.Policies[rule.Name]
		if known && (isLooser(next, now) || samePolicy(next, now)) {
			continue
		}
		records = append(records, next)
	}
	return records
}

func samePolicy(a, b journal.PolicyInForce) bool {
	bySame := slices.EqualFunc(a.By, b.By, func(a, b journal.PolicySigner) bool { return a.Signer == b.Signer })
	return a.File == b.File && a.Line == b.Line && a.Column == b.Column && bySame && exactly(a) == exactly(b)
}

// releasePolicy returns the records that put a looser policy into force, or end it.
func releasePolicy(in Input, name string) []journal.Body {
	for _, rule := range in.Policies {
		if rule.Name == name && rule.Mistake == "" {
			return []journal.Body{recordOf(withSigners(rule, in.State))}
		}
	}
	return []journal.Body{journal.PolicyInForce{Name: name}, journal.Introduced{Kind: string(policy.Kind), Name: name}} // who removed it no longer matters
}

// MaxPolicies bounds the policies of the repository in force, with those whose removal is not approved.
const MaxPolicies = 2 * policy.MaxRepository

// CountPolicies returns how many policies would be in force with those of a revision.
func CountPolicies(wanted []policy.Rule, state journal.State) int {
	names := make(map[string]bool, len(wanted)+len(state.Policies))
	for _, rule := range wanted {
		names[rule.Name] = true
	}
	for name := range state.Policies {
		names[name] = true
	}
	return len(names)
}
