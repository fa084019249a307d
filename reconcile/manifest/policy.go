package manifest

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/manifest/tree"
	"gitops-agent/reconcile/policy"
)

// policySpec is the spec of a Policy, of the host or of the repository: a rule that holds steps.
type policySpec struct {
	description                opt[string]
	on, result                 opt[string]
	operations, classes, kinds textList
	when, message, expression  opt[string]
	approvals                  opt[int]
}

// Rules of texts in policies.
var (
	operationName = &textRule{want: "an operation", examples: []string{"destroy"}, shape: exactly(`[a-z]+(-[a-z]+)*`)}
	expression    = &textRule{want: "an expression in CEL of at most 4096 bytes", examples: []string{`size(new.networks) < 2`}, accept: printable, maxBytes: policy.MaxExpression}
)

func (s *policySpec) fields() []field {
	return []field{
		{"description", "", "What the policy is for.", text(&s.description, anyText)},
		{"on", "", "guest: what a guest will be, judged once for a guest with steps. step: single steps, also those of orders and of guests that no manifest names. Default: guest.", choice(&s.on, string(policy.OnGuest), string(policy.OnStep))},
		{"operations", "", "With on: step, the operations of the steps that the policy is about. Default: all.", withExamples(list(&s.operations, operationName, ""), `["destroy"]`)},
		{"classes", "", "With on: step, the change classes of the steps that the policy is about. Default: all.", withExamples(list(&s.classes, wordOf(guest.Classes()), ""), `["disruptive", "destructive"]`)},
		{"kinds", "", "The kinds of guests that the policy is about. Default: all.", withExamples(list(&s.kinds, wordOf([]guest.Kind{guest.VirtualMachine, guest.Container}), ""), `["Container"]`)},
		{"when", "", "Expression in CEL that is true if the policy applies. Required.", text(&s.when, expression)},
		{"result", "", "What follows if it is true: deny holds the step, requireApproval holds it until it is approved, warn tells people. Default: deny.", choice(&s.result, words(policy.Results())...)},
		{"approvals", "", "With result: requireApproval, the number of people who must approve. Default: 1.", integer(&s.approvals, 1, policy.MaxApprovals)},
		{"message", "", "What people are told. Either this or messageExpression is required.", withExamples(text(&s.message, anyText), `"production guests have two network interfaces"`)},
		{"messageExpression", "", "Expression in CEL that gives the message.", text(&s.expression, expression)},
	}
}

// words returns named words as texts.
func words[T ~string](list []T) []string {
	var out []string
	for _, word := range list {
		out = append(out, string(word))
	}
	return out
}

// wordOf accepts one of some words.
func wordOf[T ~string](list []T) *textRule {
	all := words(list)
	return &textRule{want: "one of " + strings.Join(all, ", "), accept: func(s string) bool { return slices.Contains(all, s) }}
}

// ParsePolicies reads files that contain documents of kind Policy, and nothing else. The error is a *Problems. It is pure.
func ParsePolicies(files []File) ([]policy.Rule, error) {
	r := &report{}
	var rules []policy.Rule
	for _, f := range files {
		for _, n := range f.documents(r) {
			doc := newDocumentOf(n, r, []string{string(policy.Kind)})
			if doc != nil {
				rules = append(rules, decodePolicy(doc, r))
			}
		}
	}
	if r.count == 0 {
		_, problems := policy.Compile(rules)
		r.addPolicy(problems)
	}
	return rules, r.err()
}

// addPolicy adds the problems of policies.
func (r *report) addPolicy(problems []policy.Problem) {
	for _, p := range problems {
		r.add(Problem{Origin: p.Origin, Guest: string(policy.Kind) + "/" + p.Policy, Field: p.Field, Message: p.Message, Hint: p.Hint, New: p.New})
	}
}

// policy adds a policy of the repository. A mistake in its spec refuses nothing: the policy denies everything in its reach instead. What earlier releases accepted is
// no mistake: a new revision with it is refused, so that a policy that is read as it was accepted never denied more.
func (p *parser) policy(doc *document) {
	if len(p.set.Policies) == policy.MaxRepository {
		p.report.add(Problem{Origin: guest.Origin(doc.at), Guest: doc.label(), Message: fmt.Sprintf("got more than %d policies in the source", policy.MaxRepository), Hint: "join policies with || in one expression"})
		return
	}
	r := &report{}
	rule := decodePolicy(doc, r)
	rule.Reach = &policy.Reach{Folder: path.Dir(rule.Origin.File)}
	if !slices.ContainsFunc(r.list, func(problem Problem) bool { return !problem.New }) {
		r.addPolicy(rule.Problems())
	}
	p.addPolicy(rule, r)
}

// addPolicy adds a policy of the repository with its problems.
func (p *parser) addPolicy(rule policy.Rule, r *report) {
	for _, problem := range r.sorted() {
		if problem.New {
			p.report.add(problem)
			continue
		}
		p.mistakes.add(problem)
		if rule.Mistake == "" {
			problem.Guest = ""
			rule.Mistake = "it has a mistake: " + problem.String()
		}
	}
	p.set.Policies = append(p.set.Policies, rule)
}

// decodePolicy decodes a Policy. Compile checks its expressions.
func decodePolicy(doc *document, r *report) policy.Rule {
	var s policySpec
	d := newDecoder(r, doc.label(), &s)
	if doc.spec != nil {
		decodeObject(d, doc.spec, &s)
	} else {
		r.add(Problem{Origin: guest.Origin(doc.at), Guest: doc.label(), Field: "spec", Message: "got no spec, want one with when and message"})
	}
	if c, is := tree.Lookalike(s.when.value); is {
		d.below("when").newProblem(s.when.at, tree.SeemsOther(c), hintCompared)
	}
	rule := policy.Rule{
		Name: doc.meta.name.value, Description: s.description.value, On: policy.On(s.on.value), Operations: texts(s.operations), When: s.when.value,
		Result: policy.Result(s.result.value), Approvals: s.approvals.value, Message: s.message.value, Expression: s.expression.value, Origin: guest.Origin(doc.at),
		Positions: map[string]guest.Origin{},
	}
	for _, class := range s.classes.value {
		rule.Classes = append(rule.Classes, guest.Class(class.value))
	}
	for _, kind := range s.kinds.value {
		rule.Kinds = append(rule.Kinds, guest.Kind(kind.value))
	}
	for name, at := range map[string]tree.Position{
		"operations": s.operations.at, "classes": s.classes.at, "when": s.when.at, "approvals": s.approvals.at, "message": s.message.at, "messageExpression": s.expression.at,
	} {
		if at != (tree.Position{}) {
			rule.Positions[name] = guest.Origin(at)
		}
	}
	return rule
}
