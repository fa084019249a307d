package policy

import (
	"fmt"
	"sync"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/checker"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/ext"
)

// Bounds of expressions.
const (
	maxCost    = 200_000 // units of CEL, of one evaluation; a simple comparison costs about five
	maxNesting = 32      // of an expression
	maxLoops   = 3       // loops within loops
	maxRegex   = 512     // instructions of a regular expression
)

// Names of the variables of expressions.
const (
	varNew  = "new"
	varOld  = "old"
	varStep = "step"
	varNow  = "now"
)

// smallInput is the number of bytes of most of what policies read of a guest.
const smallInput = 512

// sizes estimates how much an expression reads. With 0 it knows no size: an expression whose cost depends on a list or a text has no bound then.
type sizes struct{ most uint64 }

// EstimateSize implements checker.CostEstimator. Each list and text of a guest has at most as many elements as the whole has bytes. What an expression
// makes of them is not known.
func (s sizes) EstimateSize(node checker.AstNode) *checker.SizeEstimate {
	if path := node.Path(); s.most == 0 || len(path) == 0 || path[0] != varNew {
		return nil
	}
	return &checker.SizeEstimate{Min: 0, Max: s.most}
}

// environments are what the checker knows: what a policy is about decides which variables exist.
var environments = sync.OnceValues(func() (map[On]*cel.Env, error) {
	p, err := newProvider()
	if err != nil {
		return nil, fmt.Errorf("make types of policies: %w", err)
	}
	base, err := cel.NewEnv(
		cel.CustomTypeProvider(p), cel.CustomTypeAdapter(p.Registry), cel.OptionalTypes(), cel.DefaultUTCTimeZone(true),
		cel.ParserRecursionLimit(maxNesting), cel.ParserExpressionSizeLimit(MaxExpression), ext.Strings(ext.StringsVersion(2)),
		cel.ASTValidators(cel.ValidateRegexLiterals(), cel.ValidateTimestampLiterals(), cel.ValidateDurationLiterals(),
			cel.ValidateComprehensionNestingLimit(maxLoops), cel.ValidateRegexProgramSizeLimit(maxRegex)),
		cel.Variable(varNew, guestType.kind),
	)
	if err != nil {
		return nil, fmt.Errorf("make the environment of policies: %w", err)
	}
	steps, err := base.Extend(cel.Variable(varOld, guestType.kind), cel.Variable(varStep, stepType.kind), cel.Variable(varNow, types.TimestampType))
	if err != nil {
		return nil, fmt.Errorf("make the environment of policies: %w", err)
	}
	return map[On]*cel.Env{OnGuest: base, OnStep: steps}, nil
})
