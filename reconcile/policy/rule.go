package policy

import (
	"cmp"

	"gitops-agent/reconcile/guest"
)

// Kind is the kind of a policy in files.
const Kind guest.Kind = "Policy"

// On is what a policy is about.
type On string

// What a policy is about. OnGuest is the default: the policy is about what a guest will be, and is evaluated once for a guest with steps. OnStep is about
// single steps, also those of orders and of guests that no manifest names.
const (
	OnGuest On = "guest"
	OnStep  On = "step"
)

// Result is what follows if the condition of a policy is true.
type Result string

// The results, the strongest first.
const (
	Deny            Result = "deny"            // the step is held while the condition is true
	RequireApproval Result = "requireApproval" // the step is held until enough people have approved it
	Warn            Result = "warn"            // people are told
)

// Results lists every result, the strongest first.
func Results() []Result { return []Result{Deny, RequireApproval, Warn} }

// Bounds of policies. They bound the time that a plan takes.
const (
	MaxRules      = 100  // of a host
	MaxRepository = 200  // of a repository
	MaxExpression = 4096 // bytes of an expression
	MaxMessage    = 500  // bytes of a message; a longer one is cut
	MaxApprovals  = 10
	maxKinds      = 2 // of guests
)

// Rule is one policy as its file states it.
type Rule struct {
	Name        string
	Description string
	On          On       // "" is OnGuest
	Operations  []string // of OnStep: the operations of the steps that it is about; none for all
	Classes     []guest.Class
	Kinds       []guest.Kind // of the guests that it is about; none for all
	When        string       // expression of type bool
	Result      Result
	Approvals   int    // of RequireApproval; 0 is 1
	Message     string // constant; "" if Expression is set
	Expression  string // of type string: the message

	Origin    guest.Origin            // of the document
	Positions map[string]guest.Origin // of the fields below spec, by name

	Reach   *Reach // of a policy of the repository; nil for one of the host
	Mistake string // why a policy of the repository cannot be used, as a sentence; it then denies everything in its reach
}

// WithDefaults returns the rule with the values of what its file leaves out.
func (r Rule) WithDefaults() Rule {
	r.On, r.Result = cmp.Or(r.On, OnGuest), cmp.Or(r.Result, Deny)
	if r.Result == RequireApproval {
		r.Approvals = cmp.Or(r.Approvals, 1)
	}
	return r
}

// at returns the position of a field, that of the document if the field is not set.
func (r *Rule) at(field string) guest.Origin {
	if at, known := r.Positions[field]; known {
		return at
	}
	return r.Origin
}

// Finding is what one policy says of a step or of a guest.
type Finding struct {
	Policy    string `json:"policy"`
	Result    Result `json:"result"`
	Approvals int    `json:"approvals,omitempty"` // people who must approve the step, of RequireApproval
	Message   string `json:"message"`
	Failed    bool   `json:"failed,omitempty"` // the policy could not be evaluated, and denies for this reason
	Source    string `json:"source,omitempty"` // of a policy of the repository: "web/policies.yaml:1:1"
}

// String returns "two-nics denies it: production guests have two NICs", with the source of a policy of the repository: "two-nics (web/policies.yaml:1:1) denies it: ...".
func (f Finding) String() string {
	name := f.Policy
	if f.Source != "" {
		name += " (" + f.Source + ")"
	}
	verb := map[Result]string{Deny: " denies it: ", RequireApproval: " requires an approval: ", Warn: " warns: "}[f.Result]
	return name + verb + f.Message
}

// Count returns the findings with a result.
func Count(findings []Finding, result Result) int {
	n := 0
	for _, f := range findings {
		if f.Result == result {
			n++
		}
	}
	return n
}

// Approvals returns how many people must approve, according to the findings.
func Approvals(findings []Finding) int {
	n := 0
	for _, f := range findings {
		n = max(n, f.Approvals)
	}
	return n
}

// First returns the first finding with a result.
func First(findings []Finding, result Result) (Finding, bool) {
	for _, f := range findings {
		if f.Result == result {
			return f, true
		}
	}
	return Finding{}, false
}
