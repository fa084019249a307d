package policy

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
)

// Problem is one mistake in a policy.
type Problem struct {
	Origin  guest.Origin
	Policy  string
	Field   string // below spec
	Message string // "got ..., want ..."
	Hint    string // may be ""
	New     bool   // earlier releases accepted it; a policy of the repository that is in force is used as it was
}

// String returns "web.yaml:6:9: Policy two-nics: when: got ..., want ... (hint)".
func (p Problem) String() string {
	text := fmt.Sprintf("Policy %s: %s: %s", p.Policy, p.Field, p.Message)
	if at := p.Origin.String(); at != "" {
		text = at + ": " + text
	}
	if p.Hint != "" {
		text += " (" + p.Hint + ")"
	}
	return text
}

// Set are compiled policies, sorted by name. A nil Set has none.
type Set struct {
	guests, steps []*compiled
	read          parts // of guests, by the policies about them
}

// compiled is one policy that can be evaluated.
type compiled struct {
	Rule

	source  string // Finding.Source
	when    program
	message program // without an expression if the message is constant

	// Of a policy about guests; nil remembers nothing:
	applies *memo[bool]     // whether the condition is not false; only if the message reads more than the condition
	memo    *memo[*Finding] // nil if the policy says nothing
}

// Compile checks policies. It returns every problem, and a Set if there is none.
func Compile(rules []Rule) (*Set, []Problem) {
	var problems []Problem
	if n := len(rules); n > MaxRules {
		last := rules[MaxRules]
		return nil, []Problem{{Origin: last.Origin, Policy: last.Name, Field: "metadata.name", Message: fmt.Sprintf("got %d policies, want at most %d", n, MaxRules), Hint: "join policies with || in one expression"}}
	}
	set, firsts := &Set{}, make(map[string]guest.Origin, len(rules))
	for i := range rules {
		r := rules[i]
		if first, twice := firsts[r.Name]; twice {
			problems = append(problems, Problem{Origin: r.Origin, Policy: r.Name, Field: "metadata.name", Message: "another Policy has this name", Hint: "first at " + first.String()})
		}
		firsts[r.Name] = r.Origin
		c, wrong := compile(r)
		problems = append(problems, wrong...)
		set.add(c)
	}
	if len(problems) > 0 {
		return nil, problems
	}
	set.sort()
	return set, nil
}

// CompileRepository compiles the policies of a repository, at most MaxRepository with different names and those that stay in force beside them. One with a mistake denies everything in its
// reach, so that it holds up no other guest.
func CompileRepository(rules []Rule) *Set {
	set := &Set{}
	for i := range rules {
		c, problems := compile(rules[i])
		problems = slices.DeleteFunc(problems, func(p Problem) bool { return p.New })
		if len(problems) > 0 && c.Mistake == "" {
			c.Mistake = "it has a mistake: " + problems[0].Field + ": " + problems[0].Message
		}
		set.add(c)
	}
	set.sort()
	return set
}

// With returns the policies of both sets.
func (s *Set) With(other *Set) *Set {
	switch {
	case s.Len() == 0:
		return other
	case other.Len() == 0:
		return s
	}
	return &Set{guests: slices.Concat(s.guests, other.guests), steps: slices.Concat(s.steps, other.steps), read: s.read.or(other.read)}
}

// Problems returns the mistakes in one policy of a repository, none if it can be used.
func (r Rule) Problems() []Problem {
	_, problems := compile(r)
	return problems
}

func (s *Set) add(c *compiled) {
	if c.On == OnStep {
		s.steps = append(s.steps, c)
	} else {
		s.guests = append(s.guests, c)
		s.read = s.read.or(c.parts())
	}
}

// sort sorts the policies by name.
func (s *Set) sort() {
	for _, list := range [][]*compiled{s.guests, s.steps} {
		slices.SortStableFunc(list, func(a, b *compiled) int { return strings.Compare(a.Name, b.Name) })
	}
}

// Len returns the number of policies.
func (s *Set) Len() int {
	if s == nil {
		return 0
	}
	return len(s.guests) + len(s.steps)
}

// compile checks one policy.
func compile(r Rule) (*compiled, []Problem) {
	c := &compiled{Rule: r.WithDefaults()}
	if c.Reach != nil {
		c.source = c.Origin.String()
	}
	if c.Mistake != "" {
		return c, nil
	}
	problems := c.checkFields()
	var when, message *cel.Ast
	var wrong []Problem
	if r.When != "" {
		c.when, when, wrong = c.program("when", r.When, types.BoolType, "a condition that is true or false")
		problems = append(problems, wrong...)
	}
	if r.Expression != "" {
		c.message, message, wrong = c.program("messageExpression", r.Expression, types.StringType, "a text")
		problems = append(problems, wrong...)
	}
	if c.On == OnGuest && len(problems) == 0 {
		c.memo = newMemo[*Finding](when, message)
		if applies := newMemo[bool](when); c.memo != nil && applies.reads.fields() < c.memo.reads.fields() {
			c.applies = applies
		}
	}
	return c, problems
}

// checkFields checks what is no expression.
func (c *compiled) checkFields() []Problem {
	var problems []Problem
	refuse := func(wrong bool, field, message, hint string) {
		if wrong {
			problems = append(problems, Problem{Origin: c.at(field), Policy: c.Name, Field: field, Message: message, Hint: hint})
		}
	}
	refuse(c.When == "", "when", "got no condition, want an expression", `when: "true" applies always`)
	refuse(c.Message == "" && c.Expression == "", "message", "got no message, want one that says what to do", "or messageExpression, with an expression that gives a text")
	refuse(c.Message != "" && c.Expression != "", "messageExpression", "got messageExpression beside message, want one of them", "")
	refuse(len(c.Message) > MaxMessage, "message", fmt.Sprintf("got %d bytes, want at most %d", len(c.Message), MaxMessage), "")
	refuse(c.Approvals != 0 && c.Result != RequireApproval, "approvals", "got approvals with result: "+string(c.Result)+", want result: requireApproval", "")
	refuse(c.Approvals < 0 || c.Approvals > MaxApprovals, "approvals", fmt.Sprintf("got %d, want 1 to %d", c.Approvals, MaxApprovals), "")
	refuse(len(c.Operations) > len(cluster.Ops()), "operations", fmt.Sprintf("got %d operations, want each at most once", len(c.Operations)), "")
	refuse(len(c.Classes) > len(guest.Classes()), "classes", fmt.Sprintf("got %d classes, want each at most once", len(c.Classes)), "")
	refuse(len(c.Kinds) > maxKinds, "kinds", fmt.Sprintf("got %d kinds, want each at most once", len(c.Kinds)), "")
	for _, op := range c.Operations {
		refuse(!slices.Contains(cluster.Ops(), cluster.Op(op)), "operations", "got "+op+", want operations of steps, such as create, config, reboot or destroy", "docs/policies.md lists them")
	}
	refuse(c.On == OnGuest && len(c.Operations) > 0, "operations", "got operations of steps in a policy about guests", "set on: step")
	refuse(c.On == OnGuest && len(c.Classes) > 0, "classes", "got classes of steps in a policy about guests", "set on: step")
	return problems
}

// program compiles an expression. It returns the checked expression, too.
func (c *compiled) program(field, text string, want *types.Type, means string) (program, *cel.Ast, []Problem) {
	problem := func(message, hint string) []Problem {
		return []Problem{{Origin: c.at(field), Policy: c.Name, Field: field, Message: message, Hint: hint}}
	}
	if len(text) > MaxExpression {
		return program{}, nil, problem(fmt.Sprintf("got an expression of %d bytes, want at most %d", len(text), MaxExpression), "")
	}
	known, err := environments()
	if err != nil {
		return program{}, nil, problem(err.Error(), "")
	}
	ast, issues := known[c.On].Compile(text)
	if issues.Err() != nil {
		var problems []Problem
		for _, e := range issues.Errors() {
			message := oneLine(e.Message)
			if e.Location.Line() > 0 { // an expression that exceeds a bound has no position
				message = fmt.Sprintf("%s, at %d:%d of the expression", message, e.Location.Line(), e.Location.Column()+1)
			}
			problems = append(problems, problem(message, c.hintFor(e.Message))...)
		}
		return program{}, nil, problems
	}
	if !ast.OutputType().IsExactType(want) {
		return program{}, nil, problem(fmt.Sprintf("got an expression of type %s, want %s", ast.OutputType(), means), "")
	}
	p, err := newProgram(known[c.On], ast)
	if err != nil {
		return program{}, nil, problem(oneLine(err.Error()), "")
	}
	return p, ast, nil
}

func newProgram(env *cel.Env, checked *cel.Ast) (program, error) {
	costs := func(sizes sizes) bool {
		cost, err := env.EstimateCost(checked, sizes)
		return err != nil || cost.Max > maxCost
	}
	free, err := env.Program(checked, cel.EvalOptions(cel.OptOptimize))
	if err != nil || !costs(sizes{}) {
		return program{counted: free, free: free}, err
	}
	counted, err := env.Program(checked, append(counting(env, checked), cel.EvalOptions(cel.OptOptimize), cel.CostLimit(maxCost))...)
	if hides(checked) || costs(sizes{most: smallInput}) {
		free = nil
	}
	return program{counted, free}, err
}

// hintFor returns the remedy for an error of the checker, "" if none is known.
func (c *compiled) hintFor(message string) string {
	if unitOfSize.MatchString(message) {
		return "memory and sizes are numbers of bytes: 8Gi is 8 * 1024 * 1024 * 1024"
	}
	for _, name := range []string{varOld, varStep, varNow} {
		if c.On == OnGuest && strings.Contains(message, "undeclared reference to '"+name+"'") {
			return name + " exists with on: step"
		}
	}
	_, field, isField := strings.Cut(message, "undefined field '")
	if !isField {
		return ""
	}
	field, _, _ = strings.Cut(field, "'")
	for _, t := range structTypes() {
		for _, f := range t.fields {
			if strings.EqualFold(f.name, field) || strings.EqualFold(f.name, field+"s") || strings.EqualFold(f.name+"s", field) {
				return "a " + t.name + " has the field " + f.name
			}
		}
	}
	return "docs/policy-fields.md lists the fields"
}

// unitOfSize finds a unit after a number, which the syntax does not have, in the message about it.
var unitOfSize = regexp.MustCompile(`input '[kKMGT]i?B?'`)

// oneLine returns a text without line breaks.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
