package policy

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/checker"
	"cel.dev/cel-go/common/decls"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/interpreter"
)

// costRow is one overload of a function: a call of it whose operands or result grow, or why its cost is the same for all operands.
type costRow struct{ call, same string }

const (
	sameOperand = "it returns an operand, or an element of one"
	sameLength  = "the length is known"
)

// costRows has a row for each overload that has an operand or a result of any size.
var costRows = map[string]costRow{
	"add_string": {call: `text + other`}, "add_bytes": {call: `raw + raw`}, "add_list": {call: `list + list`},
	"equals": {call: `[text] == [other]`}, "not_equals": {call: `list != list`},
	"less_string": {call: `text < other`}, "less_equals_string": {call: `text <= other`}, "greater_string": {call: `text > other`}, "greater_equals_string": {call: `text >= other`},
	"less_bytes": {call: `raw < raw`}, "less_equals_bytes": {call: `raw <= raw`}, "greater_bytes": {call: `raw > raw`}, "greater_equals_bytes": {call: `raw >= raw`},
	"in_list": {call: `text in list`}, "in_map": {same: "a key is found by its hash"},
	"index_list": {same: sameOperand}, "index_map": {same: sameOperand}, "optional_list_index_int": {same: sameOperand}, "optional_map_index_value": {same: sameOperand},
	"list_optindex_optional_int": {same: sameOperand}, "optional_list_optindex_optional_int": {same: sameOperand}, "map_optindex_optional_value": {same: sameOperand},
	"optional_map_optindex_optional_value": {same: sameOperand}, "select_optional_field": {same: sameOperand}, "conditional": {same: sameOperand},
	"list_first": {same: sameOperand}, "list_last": {same: sameOperand}, "to_dyn": {same: sameOperand}, "type": {same: "a type has a fixed size"},
	"string_to_string": {same: sameOperand}, "bytes_to_bytes": {same: sameOperand},
	"optional_none": {same: sameOperand}, "optional_of": {same: sameOperand}, "optional_ofNonZeroValue": {same: sameOperand}, "optional_hasValue": {same: sameOperand},
	"optional_value": {same: sameOperand}, "optional_or_optional": {same: sameOperand}, "optional_orValue_value": {same: sameOperand},
	"optional_unwrap": {call: `optional.unwrap(options)`}, "optional_unwrapOpt": {call: `options.unwrapOpt()`},
	"size_list": {same: sameLength}, "list_size": {same: sameLength}, "size_map": {same: sameLength}, "map_size": {same: sameLength}, "size_bytes": {call: `size(raw)`}, "bytes_size": {call: `raw.size()`},
	"size_string": {call: `size(text)`}, "string_size": {call: `text.size()`},
	"string_to_bool": {call: `bool(number)`}, "string_to_int64": {call: `int(number)`}, "string_to_uint64": {call: `uint(number)`}, "string_to_double": {call: `double(number)`},
	"string_to_duration": {call: `duration(number)`}, "string_to_timestamp": {call: `timestamp(number)`}, "string_to_bytes": {call: `bytes(text)`}, "bytes_to_string": {call: `string(raw)`},
	"contains_string": {call: `text.contains(other)`}, "starts_with_string": {call: `text.startsWith(other)`}, "ends_with_string": {call: `text.endsWith(other)`},
	"matches": {call: `matches(text, "b+" + number)`}, "matches_string": {call: `text.matches("b+" + number)`},
	"string_char_at_int": {call: `text.charAt(1)`}, "string_lower_ascii": {call: `text.lowerAscii()`}, "string_upper_ascii": {call: `text.upperAscii()`}, "string_trim": {call: `text.trim()`},
	"string_index_of_string": {call: `text.indexOf(other)`}, "string_index_of_string_int": {call: `text.indexOf(other, 1)`},
	"string_last_index_of_string": {call: `text.lastIndexOf(other)`}, "string_last_index_of_string_int": {call: `text.lastIndexOf(other, 3)`},
	"string_substring_int": {call: `text.substring(1)`}, "string_substring_int_int": {call: `text.substring(1, size(list))`},
	"string_replace_string_string": {call: `text.replace("x", "yy")`}, "string_replace_string_string_int": {call: `"x".replace("x", text, 1)`},
	"string_split_string": {call: `text.split("")`}, "string_split_string_int": {call: `text.split("", 2)`},
	"list_join": {call: `list.join()`}, "list_join_string": {call: `["a", "b"].join(text)`},
	"string_format": {call: `"%s and %s".format([text, list])`}, "strings_quote": {call: `strings.quote(text)`},
	"timestamp_to_day_of_month_1_based_with_tz": {call: `now.getDate(zone)`}, "timestamp_to_day_of_month_with_tz": {call: `now.getDayOfMonth(zone)`},
	"timestamp_to_day_of_week_with_tz": {call: `now.getDayOfWeek(zone)`}, "timestamp_to_day_of_year_with_tz": {call: `now.getDayOfYear(zone)`},
	"timestamp_to_year_with_tz": {call: `now.getFullYear(zone)`}, "timestamp_to_hours_with_tz": {call: `now.getHours(zone)`}, "timestamp_to_milliseconds_with_tz": {call: `now.getMilliseconds(zone)`},
	"timestamp_to_minutes_with_tz": {call: `now.getMinutes(zone)`}, "timestamp_to_month_with_tz": {call: `now.getMonth(zone)`}, "timestamp_to_seconds_tz": {call: `now.getSeconds(zone)`},
}

// isFixed reports whether all values of an overload have a fixed size.
func isFixed(o *decls.OverloadDecl) bool {
	for _, t := range o.ArgTypes() {
		switch t.Kind() { //nolint:exhaustive // all other types have values of any size
		case types.BoolKind, types.IntKind, types.UintKind, types.DoubleKind, types.DurationKind, types.TimestampKind:
		default:
			return false
		}
	}
	return len(o.ArgTypes()) > 0
}

// costVariables are operands of a size, whose use costs the same for every size.
func costVariables(n int) map[string]any {
	list, options := make([]string, n), make([]*types.Optional, n)
	for i := range list {
		list[i], options[i] = "element", types.OptionalOf(types.String("x"))
	}
	text := strings.Repeat("x", n)
	return map[string]any{
		"text": text, "other": strings.Clone(text), "raw": []byte(text), "list": list, "options": options, "number": strings.Repeat("1", n), "zone": strings.Repeat("UTC", n/4), "now": friday,
	}
}

// sizedVariables estimates that all variables have a size: no more elements, and no more bytes in them together.
type sizedVariables struct {
	sizes

	n int
}

// EstimateSize implements checker.CostEstimator.
func (s sizedVariables) EstimateSize(node checker.AstNode) *checker.SizeEstimate {
	if len(node.Path()) == 0 {
		return nil
	}
	return &checker.SizeEstimate{Max: uint64(s.n)}
}

// TestCostsOfAllFunctions calls each function of the environment with small and with large operands: with large ones a limit that the small ones keep is exceeded,
// also if the types of the operands are only known when it is called, and the estimate is larger. No call gives another result because its cost is counted.
func TestCostsOfAllFunctions(t *testing.T) {
	t.Parallel()
	known, err := environments()
	if err != nil {
		t.Fatal(err)
	}
	env, err := known[OnStep].Extend(
		cel.Variable("text", cel.StringType), cel.Variable("other", cel.StringType), cel.Variable("number", cel.StringType), cel.Variable("zone", cel.StringType),
		cel.Variable("raw", cel.BytesType), cel.Variable("list", cel.ListType(cel.StringType)), cel.Variable("options", cel.ListType(cel.OptionalType(cel.StringType))),
	)
	if err != nil {
		t.Fatal(err)
	}
	seen := make(map[string]bool)
	for name, function := range env.Functions() {
		for _, o := range function.OverloadDecls() {
			row, exists := costRows[o.ID()]
			if seen[o.ID()] {
				continue // a function with several names
			}
			seen[o.ID()] = true
			switch {
			case exists == isFixed(o):
				t.Errorf("function %s, overload %s: got a row %t, want one exactly if an operand or the result may have any size", name, o.ID(), exists)
			case row.call != "":
				t.Run(o.ID(), func(t *testing.T) { t.Parallel(); row.test(t, env) })
			}
		}
	}
	for name, call := range map[string]string{ // values in values, of which some are shared
		"equal_nested":  `[[text, other], [text]] == [[other, text], [other]]`,
		"format_nested": `"%s".format([[[text], [text, list]]])`,
		"in_nested":     `[text] in [[other]]`,
		"chain":         `[text].map(a, a + a).map(a, a.replace("x", "yy"))[0].size() > 1`,
	} {
		t.Run(name, func(t *testing.T) { t.Parallel(); costRow{call: call}.test(t, env) })
	}
	for id := range costRows {
		if !seen[id] {
			t.Errorf("got a row for %s, which is no overload of the environment", id)
		}
	}
}

var costNames = regexp.MustCompile(`\b(text|other|number|zone|raw|list|options)\b`)

func (row costRow) test(t *testing.T, env *cel.Env) {
	const small, large, extra, maxUnbounded = 4, 4000, 20, 1 << 40
	for _, call := range []string{row.call, costNames.ReplaceAllString(row.call, "dyn($1)")} {
		checked, issues := env.Compile(call)
		if issues.Err() != nil {
			t.Fatal(issues.Err())
		}
		counts := func(limit uint64) cel.Program {
			p, err := env.Program(checked, append(counting(env, checked), cel.CostLimit(limit))...)
			if err != nil {
				t.Fatal(err)
			}
			return p
		}
		plain, err := env.Program(checked)
		if err != nil {
			t.Fatal(err)
		}
		want, _, wantErr := plain.Eval(costVariables(small))
		got, details, err := counts(maxCost).Eval(costVariables(small))
		if fmt.Sprint(want, wantErr) != fmt.Sprint(got, err) {
			t.Errorf("%s: got %v, %v, want %v, %v as without a limit", call, got, err, want, wantErr)
		}
		var cancelled interpreter.EvalCancelledError
		if _, _, err := counts(*details.ActualCost() + extra).Eval(costVariables(large)); !errors.As(err, &cancelled) {
			t.Errorf("%s: got error %v, want that the limit %d is exceeded", call, err, *details.ActualCost()+extra)
		}
		low, err := env.EstimateCost(checked, sizedVariables{n: len("element") * small})
		if err != nil {
			t.Fatal(err)
		}
		high, err := env.EstimateCost(checked, sizedVariables{n: len("element") * large})
		if err != nil || high.Max < maxUnbounded && high.Max < low.Max+extra {
			t.Errorf("%s: got estimates %d and %d, error %v, want that they differ", call, low.Max, high.Max, err)
		}
		if call == row.call && low.Max < *details.ActualCost() {
			t.Errorf("%s: got an estimate of %d, want at least the cost %d", call, low.Max, *details.ActualCost())
		}
	}
}

// TestPatternsThatGrow are regular expressions that are only known when they are used: the same bound holds as for those that are written in the policy.
func TestPatternsThatGrow(t *testing.T) {
	t.Parallel()
	for pattern, want := range map[string]string{
		`"^web-[0-9]" + "+$"`:                        "",
		`"(a{1000}b{1000}c{1000}){1" + "}"`:          "it cannot be evaluated: the regular expression has more than 512 instructions",
		`["(((a{10}){10}){10})"].map(p, p)[0]`:       "it cannot be evaluated: the regular expression has more than 512 instructions",
		`["(((a{1000}){1000}){1000})"].map(p, p)[0]`: "it cannot be evaluated: error parsing regexp: invalid repeat count: `{1000}`",
	} {
		set := compiledSet(t, rule(func(r *Rule) { r.When = `!new.name.matches(` + pattern + `)` }))
		got := set.Guest(webServer(), Place{})
		if want == "" && len(got) != 0 || want != "" && (len(got) != 1 || !strings.HasPrefix(got[0].Message, want)) {
			t.Errorf("%s: got %v, want %q", pattern, got, want)
		}
	}
}

// TestCountingTakesNoLongerThanTheCall compares a value that contains a million texts, all of them shared, with a small one. The cost is small, and to count it
// does not read the large value: a policy could do that often.
func TestCountingTakesNoLongerThanTheCall(t *testing.T) {
	t.Parallel()
	var large ref.Val = types.NewStringList(types.DefaultTypeAdapter, []string{"x"})
	for range 20 {
		large = types.NewRefValList(types.DefaultTypeAdapter, []ref.Val{large, large})
	}
	small := types.NewRefValList(types.DefaultTypeAdapter, []ref.Val{types.Int(1)})
	for name, call := range map[string]struct {
		function string
		args     []ref.Val
	}{
		"equal": {operators.Equals, []ref.Val{large, types.Int(1)}}, "not_equal": {operators.NotEquals, []ref.Val{small, large}},
		"in_small": {operators.In, []ref.Val{large, small}}, "in_large": {operators.In, []ref.Val{types.Int(1), large}},
	} {
		c, most := charges[call.function], uint64(4*fewValues)
		for i, o := range c.operandsOf(call.args) {
			if o.content() > most {
				t.Errorf("%s: got %d values and bytes of operand %d counted, want at most %d", name, o.content(), i, most)
			}
		}
		if got := c.of(call.args, nil); got > 10 {
			t.Errorf("%s: got a cost of %d, want a small one", name, got)
		}
	}
}
