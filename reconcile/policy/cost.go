package policy

import (
	"fmt"
	"regexp/syntax"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/checker"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/cost"
	"cel.dev/cel-go/common/functions"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
	"cel.dev/cel-go/interpreter"
)

// charge is what the calls of a function cost. CEL itself counts 1 for most functions for strings, and for each call whose function depends on the types of
// operands that are not known before. The same formulas give the estimate of an expression and the cost of a call.
//
// Source: cel-go 0.32.0, interpreter/runtimecost.go, checker/cost.go, ext/strings.go. The library for strings stays at version 2: from version 4 on, format
// writes other texts.
type charge struct {
	// work is the cost of a call with these operands, without that of its result.
	work func(o []operand) uint64
	// result is the size of the text or the list that a call makes at most; nil if its result has a fixed size or is an operand.
	result func(o []operand) uint64
	// exact returns the same from the values, if result may be far above it; nil otherwise.
	exact func(args []ref.Val) uint64
	// isList says that the result is a list.
	isList bool
	// deep says that the work is about all that the operands contain.
	deep bool
	// share returns how much of that a call reads at most, if it may end before it has read all; nil otherwise. What the operands contain is not counted much further.
	share func(o []operand) uint64
	// early says that the call may cost much more than its operands did, so that its cost is compared with the limit before the call.
	early bool
}

// operand is the size of an operand of a call.
type operand struct {
	chars    uint64 // bytes of its text, or of all texts in it if the function is deep
	values   uint64 // elements of a list or a map, or all values in it if the function is deep; 0 of a text, 1 of another value
	top      uint64 // elements of a list or a map itself; 0 of any other value
	patterns uint64 // of a format: digits after the point that it asks for
	isList   bool   // or a map
	isText   bool
}

func (o operand) content() uint64 { return cost.SafeAdd(o.chars, o.values) }

// unbounded is a size that is not known.
const unbounded = ^uint64(0)

// Sizes of what format makes of one value: digits of the largest number, with a point; bytes of one byte of a text that is quoted.
const (
	formattedValue = 330
	formattedByte  = 10
)

// charges are the functions whose cost does not follow from CEL's own rules, by their names.
var charges = map[string]charge{
	"lowerAscii":    transformed(1),
	"upperAscii":    transformed(1),
	"trim":          transformed(1),
	"substring":     transformed(1),
	"charAt":        {work: first, result: fixed(utf8Max)},
	"strings.quote": transformed(3), // an invalid byte becomes a character of three, and quotation marks are added
	"string":        {work: first, result: func(o []operand) uint64 { return cost.SafeAdd(o[0].chars, shortText) }},
	"bytes":         transformed(1),
	"size":          {work: first}, // a text is read to count its characters
	"int":           {work: first},
	"uint":          {work: first},
	"double":        {work: first},
	"bool":          {work: first},
	"duration":      {work: first},
	"timestamp":     {work: first},
	"startsWith":    {work: second},
	"endsWith":      {work: second},
	"contains":      {work: product, early: true},
	"indexOf":       {work: product, early: true},
	"lastIndexOf":   {work: product, early: true},
	"matches":       {work: pattern, early: true},
	"replace":       {work: operands, result: replaced, exact: exactReplaced, early: true},
	"split":         {work: operands, result: func(o []operand) uint64 { return cost.SafeAdd(o[0].chars, 1) }, exact: exactSplit, isList: true, early: true},
	"join":          {work: elements, result: joined, deep: true, early: true},
	"format":        {work: elements, result: formatted, deep: true, early: true},

	operators.Add:           {work: added},
	operators.Equals:        {work: compared, deep: true, share: smaller, early: true},
	operators.NotEquals:     {work: compared, deep: true, share: smaller, early: true},
	operators.In:            {work: contained, deep: true, share: searched, early: true},
	operators.Less:          {work: compared},
	operators.LessEquals:    {work: compared},
	operators.Greater:       {work: compared},
	operators.GreaterEquals: {work: compared},

	"optional.unwrap": unwrapped,
	"unwrapOpt":       unwrapped,

	"getDate": zoned, "getDayOfMonth": zoned, "getDayOfWeek": zoned, "getDayOfYear": zoned, "getFullYear": zoned, "getHours": zoned, "getMilliseconds": zoned,
	"getMinutes": zoned, "getMonth": zoned, "getSeconds": zoned,
}

const (
	utf8Max   = 4
	shortText = 40 // of a number, a time or a duration
)

var (
	unwrapped = charge{work: func([]operand) uint64 { return 1 }, result: func(o []operand) uint64 { return o[0].top }, isList: true}
	zoned     = charge{work: second} // the name of a time zone
)

// traversed returns the cost of reading or writing a text.
func traversed(chars uint64) uint64 { return cost.SafeMultiplyByFactor(chars, 0.1) }

func transformed(growth uint64) charge {
	return charge{work: first, result: func(o []operand) uint64 { return cost.SafeAdd(cost.SafeMultiply(o[0].chars, growth), 2) }}
}

func fixed(size uint64) func([]operand) uint64 { return func([]operand) uint64 { return size } }

func first(o []operand) uint64 { return cost.SafeAdd(1, traversed(o[0].chars)) }

func second(o []operand) uint64 {
	if len(o) < 2 {
		return 1
	}
	return cost.SafeAdd(1, traversed(o[1].chars))
}

func operands(o []operand) (sum uint64) {
	for _, each := range o {
		sum = cost.SafeAdd(sum, traversed(each.chars))
	}
	return cost.SafeAdd(1, sum)
}

// product is the work of a search, which compares a text at each position of another one.
func product(o []operand) uint64 {
	return cost.SafeAdd(1, cost.SafeMultiply(traversed(o[0].chars), traversed(o[1].chars)))
}

// pattern is the work of a regular expression, as CEL counts it.
func pattern(o []operand) uint64 {
	return cost.SafeMultiply(traversed(cost.SafeAdd(1, o[0].chars)), cost.SafeMultiplyByFactor(o[1].chars, 0.25))
}

// elements is the work of reading all that an operand contains.
func elements(o []operand) (sum uint64) {
	for _, each := range o {
		sum = cost.SafeAdd(sum, traversed(each.chars), each.values)
	}
	return cost.SafeAdd(1, sum)
}

// added is the work of +. Lists share their elements, and what is added to a list is usually short.
func added(o []operand) uint64 {
	if o[0].isList {
		return max(o[1].top, 1)
	}
	return max(traversed(cost.SafeAdd(o[0].chars, o[1].chars)), 1)
}

func compared(o []operand) uint64 { return traversed(smaller(o)) }

// smaller is what a comparison reads: it ends where the smaller operand ends.
func smaller(o []operand) uint64 { return min(o[0].content(), o[1].content()) }

// contained is the work of in: a list is compared element by element.
func contained(o []operand) uint64 {
	if !o[1].isList {
		return 1
	}
	return cost.SafeAdd(max(o[1].top, 1), traversed(searched(o)))
}

func searched(o []operand) uint64 {
	if !o[1].isList {
		return 0
	}
	return min(cost.SafeMultiply(o[1].top, o[0].content()), o[1].content())
}

func replaced(o []operand) uint64 {
	return cost.SafeAdd(o[0].chars, cost.SafeMultiply(cost.SafeAdd(o[0].chars, 1), o[2].chars))
}

func exactReplaced(args []ref.Val) uint64 {
	text, old, with := textOf(args[0]), textOf(args[1]), textOf(args[2])
	n := strings.Count(text, old)
	if len(args) == 4 {
		if limit, ok := args[3].(types.Int); ok && limit >= 0 {
			n = min(n, int(min(limit, types.Int(n))))
		}
	}
	return cost.SafeAdd(uint64(len(text)), cost.SafeMultiply(uint64(n), uint64(len(with)))) //nolint:gosec // not negative
}

func exactSplit(args []ref.Val) uint64 {
	return uint64(strings.Count(textOf(args[0]), textOf(args[1])) + 1) //nolint:gosec // not negative
}

func joined(o []operand) uint64 {
	if len(o) < 2 {
		return o[0].chars
	}
	return cost.SafeAdd(o[0].chars, cost.SafeMultiply(o[0].top, o[1].chars))
}

func formatted(o []operand) uint64 {
	return cost.SafeAdd(o[0].chars, o[0].patterns, cost.SafeMultiply(o[1].values, formattedValue), cost.SafeMultiply(o[1].chars, formattedByte))
}

// precisions returns the sum of the digits after the point that the clauses of a format ask for, such as 3 of "%.3f".
func precisions(format string) (sum uint64) {
	for i := 0; i < len(format); i++ {
		if format[i] != '.' {
			continue
		}
		digits := uint64(0)
		for ; i+1 < len(format) && '0' <= format[i+1] && format[i+1] <= '9'; i++ {
			digits = cost.SafeAdd(cost.SafeMultiply(digits, 10), uint64(format[i+1]-'0'))
		}
		sum = cost.SafeAdd(sum, digits)
	}
	return sum
}

// of returns the cost of a call. The result is nil before the call.
func (c charge) of(args []ref.Val, result ref.Val) uint64 {
	o := c.operandsOf(args)
	if c.deep && len(o) == 2 && o[0].isText {
		o[0].patterns = precisions(textOf(args[0]))
	}
	return cost.SafeAdd(c.work(o), c.made(o, args, result))
}

// operandsOf returns the sizes of the operands of a call. The time that counting takes follows from the cost: if the call reads a share of the operands, they
// are counted until the share is known.
func (c charge) operandsOf(args []ref.Val) []operand {
	o, most := make([]operand, len(args)), uint64(enough)
	if c.share != nil {
		most = fewValues
	}
	for ; ; most = min(4*most, enough) {
		for i, v := range args {
			o[i] = operandOf(v, c.deep, most)
		}
		if most == enough || c.share(o) <= most {
			return o
		}
	}
}

// fewValues is a size that is counted in less time than a call takes.
const fewValues = 64

// made returns the cost of the result.
func (c charge) made(o []operand, args []ref.Val, result ref.Val) uint64 {
	size := uint64(0)
	switch {
	case c.result == nil:
		return 0
	case result != nil:
		made := operandOf(result, false, enough)
		size = made.chars + made.top
	case c.exact != nil:
		size = c.exact(args)
	default:
		size = c.result(o)
	}
	if c.isList {
		return size
	}
	return traversed(size)
}

func textOf(v ref.Val) string {
	text, _ := v.(types.String)
	return string(text)
}

// operandOf returns the size of a value. It counts little more than most: lists may share their elements, and contain far more values than were made.
func operandOf(v ref.Val, deep bool, most uint64) operand {
	o := operand{}
	switch v := v.(type) {
	case types.String:
		return operand{chars: uint64(len(v)), isText: true}
	case types.Bytes:
		return operand{chars: uint64(len(v)), isText: true}
	case traits.Lister, traits.Mapper:
		o.isList = true
		if size, ok := v.(traits.Sizer).Size().(types.Int); ok { //nolint:forcetypeassert // all lists and maps have a size
			o.top = uint64(size) //nolint:gosec // not negative
		}
		o.values = o.top
	default:
		o.values = 1
	}
	if deep {
		top := o.top
		o.values = 0
		o.addAll(v, most)
		o.top = top
	}
	return o
}

// addAll adds what a value contains, until that is more than most.
func (o *operand) addAll(v ref.Val, most uint64) {
	if o.exceeds(most) {
		return
	}
	switch v := v.(type) {
	case types.String:
		o.chars += uint64(len(v))
		o.values++
	case types.Bytes:
		o.chars += uint64(len(v))
		o.values++
	case *types.Optional:
		o.values++
		if v.HasValue() {
			o.addAll(v.GetValue(), most)
		}
	case traits.Mapper:
		for all := v.Iterator(); all.HasNext() == types.True && !o.exceeds(most); {
			key := all.Next()
			o.addAll(key, most)
			if value, found := v.Find(key); found {
				o.addAll(value, most)
			}
		}
	case traits.Lister:
		o.values++
		for all := v.Iterator(); all.HasNext() == types.True && !o.exceeds(most); {
			o.addAll(all.Next(), most)
		}
	default:
		o.values++
	}
}

func (o *operand) exceeds(most uint64) bool { return o.values > most || o.chars > most }

// enough is a size whose traversal costs more than the limit.
const enough = 11 * maxCost

// CallCost implements interpreter.ActualCostEstimator.
func (sizes) CallCost(function, _ string, args []ref.Val, result ref.Val) *uint64 {
	c, known := charges[function]
	if !known {
		return nil
	}
	total := c.of(args, result)
	return &total
}

// counting returns options of a program that counts the cost of each call.
func counting(env *cel.Env, checked *cel.Ast) []cel.ProgramOption {
	return []cel.ProgramOption{cel.CostTracking(sizes{}), cel.CustomDecoratorV2(bounded(env, checked))}
}

// bounded returns a decorator of the calls whose cost is compared with the limit before they are made: their result could take all memory, or they could run
// for hours. An expression that exceeds the limit ends as if its cost had been counted afterwards.
func bounded(env *cel.Env, checked *cel.Ast) interpreter.InterpretableDecoratorV2 {
	typeOf := checked.NativeRep().GetType
	return func(i interpreter.InterpretableV2) (interpreter.InterpretableV2, error) {
		call, isCall := i.(interpreter.InterpretableCall)
		if !isCall {
			return i, nil
		}
		c, known := charges[call.Function()]
		if !known || !c.early {
			return i, nil
		}
		args := call.Args()
		if c.isSmall(typeOf, args) {
			return i, nil
		}
		impl, err := implementation(env, call)
		if err != nil {
			return nil, err
		}
		isPattern := call.Function() == "matches"
		return interpreter.NewCall(call.ID(), call.Function(), call.OverloadID(), args, func(args ...ref.Val) ref.Val {
			if c.of(args, nil) > maxCost {
				panic(interpreter.EvalCancelledError{Cause: interpreter.CostLimitExceeded, Message: "operation cancelled: actual cost limit exceeded"})
			}
			if isPattern && programSize(textOf(args[1])) > maxRegex {
				return types.NewErr("the regular expression has more than %d instructions", maxRegex)
			}
			return impl(args...)
		}), nil
	}
}

// isSmall reports whether the operands contain no lists, so that a comparison of them costs no more than they did.
func (c charge) isSmall(typeOf func(int64) *types.Type, args []interpreter.InterpretableV2) bool {
	if !c.deep || c.result != nil {
		return false
	}
	for _, arg := range args {
		switch typeOf(arg.ID()).Kind() { //nolint:exhaustive // values of all other types may have any size
		case types.BoolKind, types.IntKind, types.UintKind, types.DoubleKind, types.StringKind, types.BytesKind, types.DurationKind, types.TimestampKind, types.StructKind:
		default:
			return false
		}
	}
	return true
}

// implementation returns what a call runs.
func implementation(env *cel.Env, call interpreter.InterpretableCall) (functions.FunctionOp, error) {
	switch call.Function() {
	case operators.Equals:
		return func(args ...ref.Val) ref.Val { return types.Equal(args[0], args[1]) }, nil
	case operators.NotEquals:
		return func(args ...ref.Val) ref.Val { return types.Bool(types.Equal(args[0], args[1]) != types.True) }, nil
	}
	all, err := env.Functions()[call.Function()].Bindings()
	if err != nil {
		return nil, err
	}
	var found *functions.Overload
	for _, o := range all {
		if o.Operator == call.OverloadID() || found == nil && o.Operator == call.Function() {
			found = o
		}
	}
	if found == nil {
		return nil, fmt.Errorf("the function %s has no implementation", call.Function())
	}
	return func(args ...ref.Val) ref.Val {
		switch {
		case found.Unary != nil && len(args) == 1:
			return found.Unary(args[0])
		case found.Binary != nil && len(args) == 2:
			return found.Binary(args[0], args[1])
		case found.Function != nil:
			return found.Function(args...)
		}
		return types.MaybeNoSuchOverloadErr(args[0])
	}, nil
}

// programSize returns about how many instructions a regular expression has, without making them. A wrong expression has none.
func programSize(text string) int {
	parsed, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return 0
	}
	return instructions(parsed)
}

func instructions(e *syntax.Regexp) int {
	n := 1
	for _, sub := range e.Sub {
		n += instructions(sub)
	}
	switch e.Op { //nolint:exhaustive // the others have about one
	case syntax.OpLiteral:
		n += len(e.Rune)
	case syntax.OpRepeat:
		n *= max(e.Max, e.Min, 1)
	}
	return min(n, 1<<20)
}

// EstimateCallCost implements checker.CostEstimator. Nil leaves a call to CEL, which also knows the sizes of the elements of lists that expressions make.
func (s sizes) EstimateCallCost(function, _ string, target *checker.AstNode, args []checker.AstNode) *checker.CallEstimate {
	c, known := charges[function]
	if !known {
		return nil
	}
	nodes := args
	if target != nil {
		nodes = append([]checker.AstNode{*target}, args...)
	}
	o := make([]operand, len(nodes))
	hasList := false
	for i, node := range nodes {
		o[i] = s.operandOf(node, c.deep)
		hasList = hasList || o[i].isList
	}
	switch function {
	case "matches":
		if nodes[1].Expr().Kind() != ast.LiteralKind {
			return &checker.CallEstimate{CostEstimate: checker.CostEstimate{Max: unbounded}} // a call refuses large patterns only if costs are counted
		}
	case operators.Add:
		if !o[0].isList || nodes[1].Expr().Kind() == ast.ListKind {
			return nil
		}
	case operators.Equals, operators.NotEquals:
		if !hasList {
			return nil
		}
	}
	estimate := &checker.CallEstimate{CostEstimate: checker.CostEstimate{Max: c.work(o)}}
	if function == operators.Add {
		estimate.ResultSize = &checker.SizeEstimate{Max: cost.SafeAdd(o[0].top, o[1].top)}
	}
	if c.result == nil {
		return estimate
	}
	size := c.result(o)
	made := size
	if !c.isList {
		made = traversed(size)
	}
	estimate.Max, estimate.ResultSize = cost.SafeAdd(estimate.Max, made), &checker.SizeEstimate{Max: size}
	return estimate
}

// operandOf estimates the size of an operand.
func (s sizes) operandOf(node checker.AstNode, deep bool) operand {
	size := unbounded
	if known := node.ComputedSize(); known != nil {
		size = known.Max
	}
	switch node.Type().Kind() { //nolint:exhaustive // default takes all others
	case types.StringKind, types.BytesKind:
		o := operand{chars: size, isText: true, patterns: unbounded}
		if e := node.Expr(); e.Kind() == ast.LiteralKind {
			text := textOf(e.AsLiteral())
			o.chars, o.patterns = max(size, uint64(len(text))), precisions(text)
		}
		return o
	case types.BoolKind, types.IntKind, types.UintKind, types.DoubleKind, types.DurationKind, types.TimestampKind, types.StructKind, types.TypeKind, types.NullTypeKind:
		return operand{values: 1}
	case types.ListKind, types.MapKind:
		o := operand{top: size, values: size, isList: true}
		if deep {
			o.chars, o.values = s.content(node, size)
		}
		return o
	default: // it may be anything
		return operand{chars: unbounded, values: unbounded, top: unbounded, isList: true}
	}
}

// content estimates what a list or a map contains. All that an expression reads of a guest has a known size together.
func (s sizes) content(node checker.AstNode, size uint64) (chars, values uint64) {
	if path := node.Path(); len(path) > 0 && !strings.HasPrefix(path[0], "@") { // the path of a variable, not of an element of a list that the expression makes
		return size, size
	}
	e := node.Expr()
	if e.Kind() != ast.ListKind {
		return unbounded, unbounded
	}
	for _, element := range e.AsList().Elements() {
		values++
		switch {
		case element.Kind() == ast.LiteralKind:
			chars = cost.SafeAdd(chars, uint64(len(textOf(element.AsLiteral()))))
		case s.most > 0 && isOfGuest(element):
			chars, values = cost.SafeAdd(chars, s.most), cost.SafeAdd(values, s.most)
		default:
			return unbounded, unbounded
		}
	}
	return chars, values
}

// hides reports whether an expression gives an element of a list the name of the guest. What has this name is then not always of the guest.
func hides(checked *cel.Ast) bool {
	found := false
	ast.PreOrderVisit(checked.NativeRep().Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() == ast.ComprehensionKind {
			c := e.AsComprehension()
			found = found || c.IterVar() == varNew || c.IterVar2() == varNew
		}
	}))
	return found
}

// isOfGuest reports whether an expression is a field of the guest, such as new.cpu.cores.
func isOfGuest(e ast.Expr) bool {
	for e.Kind() == ast.SelectKind {
		e = e.AsSelect().Operand()
	}
	return e.Kind() == ast.IdentKind && e.AsIdent() == varNew
}
