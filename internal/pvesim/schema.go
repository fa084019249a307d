package pvesim

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// valueType is the JSON-schema type of a parameter.
type valueType string

const (
	typeString  valueType = "string"
	typeInteger valueType = "integer"
	typeNumber  valueType = "number"
	typeBoolean valueType = "boolean"
)

// rule describes the valid texts of a parameter. The checks run in this order: type, format, pattern, length, bounds, enumeration. A zero
// rule accepts any text.
//
// Source: PVE::JSONSchema check_prop.
type rule struct {
	typ              valueType
	min, max         *float64
	enum             []string
	pattern          *pattern
	minLen, maxLen   int
	check            func(text string) error // its error becomes "invalid format - ..."
	required         bool
	defaultKey       bool
	array            bool   // an array of such texts
	requires         string // another parameter that must be given with this one
	alias, modelFrom string // in property strings: the key that this name stands for, and the key whose value is this name
}

func text() rule                 { return rule{typ: typeString} }
func boolean() rule              { return rule{typ: typeBoolean} }
func number() rule               { return rule{typ: typeNumber} }
func integer() rule              { return rule{typ: typeInteger} }
func enum(values ...string) rule { return rule{typ: typeString, enum: values} }
func checked(f func(string) error) rule {
	return rule{typ: typeString, check: f}
}

func matching(expr string) rule {
	return rule{typ: typeString, pattern: newPattern("^(?:" + expr + ")$")}
}

func (r rule) atLeast(f float64) rule { r.min = &f; return r }
func (r rule) atMost(f float64) rule  { r.max = &f; return r }
func (r rule) length(lo, hi int) rule { r.minLen, r.maxLen = lo, hi; return r }
func (r rule) needed() rule           { r.required = true; return r }
func (r rule) with(other string) rule { r.requires = other; return r }
func (r rule) asDefaultKey() rule     { r.defaultKey = true; return r }
func (r rule) asArray() rule          { r.array = true; return r }

// verify returns the text that Proxmox shows for an invalid value, or "" for a valid value.
func (r rule) verify(value string) string {
	if msg := r.verifyType(value); msg != "" {
		return msg
	}
	if r.check != nil {
		if err := r.check(value); err != nil {
			return "invalid format - " + err.Error() + "\n"
		}
	}
	n := utf8.RuneCountInString(value)
	switch {
	case r.pattern != nil && !r.pattern.MatchString(value):
		return "value does not match the regex pattern"
	case r.maxLen > 0 && n > r.maxLen:
		return fmt.Sprintf("value may only be %d characters long", r.maxLen)
	case n < r.minLen:
		return fmt.Sprintf("value must be at least %d characters long", r.minLen)
	}
	if msg := r.verifyBounds(value); msg != "" {
		return msg
	}
	if len(r.enum) > 0 && !slices.Contains(r.enum, value) {
		return fmt.Sprintf("value '%s' does not have a value in the enumeration '%s'", value, strings.Join(r.enum, ", "))
	}
	return ""
}

var (
	integerText = newPattern(`^[+-]?\d+$`)
	numberText  = newPattern(`^[+-]?\d*\.?\d+$`)
	booleanText = newPattern(`^[01]$`)
)

func (r rule) verifyType(value string) string {
	var ok bool
	switch r.typ {
	case typeInteger:
		ok = integerText.MatchString(value)
	case typeNumber:
		ok = numberText.MatchString(value)
	case typeBoolean:
		ok = booleanText.MatchString(value)
	case typeString:
		ok = true
	}
	if ok || r.typ == "" {
		return ""
	}
	return fmt.Sprintf("type check ('%s') failed - got '%s'", r.typ, value)
}

func (r rule) verifyBounds(value string) string {
	if r.min == nil && r.max == nil {
		return ""
	}
	f, err := strconv.ParseFloat(value, 64)
	if err != nil {
		return ""
	}
	switch {
	case r.max != nil && f > *r.max:
		return fmt.Sprintf("value must have a maximum value of %s", strconv.FormatFloat(*r.max, 'f', -1, 64))
	case r.min != nil && f < *r.min:
		return fmt.Sprintf("value must have a minimum value of %v", *r.min)
	}
	return ""
}

const unknownProperty = "property is not defined in schema and the schema does not allow additional properties"

// schema lists the parameters of a call, except families such as net0 to net31, which verifyQEMU and verifyLXC check.
type schema struct{ rules map[string]rule }

// splitIndex splits "net10" into "net" and 10. ok is false without an index. A number with a leading zero is not an index.
func splitIndex(key string) (stem string, index int, ok bool) {
	i := len(key)
	for i > 0 && key[i-1] >= '0' && key[i-1] <= '9' {
		i--
	}
	digits := key[i:]
	if digits == "" || len(digits) > 4 || len(digits) > 1 && digits[0] == '0' {
		return "", 0, false
	}
	n, err := strconv.Atoi(digits)
	return key[:i], n, err == nil
}

// verify checks all parameters and returns all errors at once.
func (s *schema) verify(params values) error {
	bad := map[string]string{}
	for k, v := range params {
		r, ok := s.rules[k]
		if !ok {
			bad[k] = unknownProperty
			continue
		}
		if msg := r.verify(v); msg != "" {
			bad[k] = msg
		}
	}
	for _, k := range slices.Sorted(maps.Keys(s.rules)) {
		r := s.rules[k]
		if _, given := params[k]; r.required && !given {
			bad[k] = "property is missing and it is not optional"
		}
		if _, given := params[k]; given && r.requires != "" {
			if _, also := params[r.requires]; !also {
				bad[r.requires] = joinedErrors(bad[r.requires], "missing property required by '"+k+"'")
			}
		}
	}
	if len(bad) > 0 {
		return paramErrors(bad)
	}
	return nil
}

// joinedErrors adds an error to those of the same parameter. What stands between them is a backslash and an n, and no line break.
//
// Source: PVE::JSONSchema add_error.
func joinedErrors(known, text string) string {
	if known == "" {
		return text
	}
	return known + `\n` + text
}

// with returns a copy of the schema with additional parameters.
func (s *schema) with(more map[string]rule) *schema {
	n := &schema{rules: make(map[string]rule, len(s.rules)+len(more))}
	maps.Copy(n.rules, s.rules)
	maps.Copy(n.rules, more)
	return n
}

func params(rules map[string]rule) *schema { return &schema{rules: rules} }

// mergeParamErrors joins the parameter errors of two passes.
func mergeParamErrors(err error, bad map[string]string) error {
	var e *apiError
	if asAPIError(err, &e) {
		maps.Copy(bad, e.params)
	}
	if len(bad) > 0 {
		return paramErrors(bad)
	}
	return nil
}
