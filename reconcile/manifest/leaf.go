package manifest

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// complaint is why a value was refused.
type complaint struct{ message, hint string }

func (c *complaint) Error() string { return c.message }

func wanted(n *node, want string) *complaint {
	return &complaint{message: "got " + n.describe() + ", want " + want}
}

// leaf is a row that holds one value.
type leaf[T any] struct {
	into   *opt[T]
	parse  func(n *node) (T, *complaint)
	format func(T) string // native text; "" where the value wants the key absent
	form   schema
}

func (v leaf[T]) decode(d decoder, n *node) {
	parsed, wrong := v.parse(n)
	if wrong != nil {
		d.problem(n.at, wrong.message, wrong.hint)
		return
	}
	*v.into = opt[T]{place{n.at, d.path}, parsed, true}
}

func (v leaf[T]) lower(l *lowering, native string) {
	if v.into.set && native != "" {
		l.put(native, v.into.place, v.format(v.into.value))
	}
}

func (v leaf[T]) schema() *schema { return new(v.form) }

func (v leaf[T]) walk(string, string, func(path, native string)) {}

// integer is a whole number within bounds; most is math.MaxInt where there is none.
func integer(into *opt[int], least, most int) value {
	want := "a whole number " + bounds(least, most)
	parse := func(n *node) (int, *complaint) {
		number, err := strconv.Atoi(n.text)
		wrong := wanted(n, want)
		switch plain := err == nil && strconv.Itoa(number) == n.text; {
		case n.kind != scalarNode || !plain || number < least || number > most:
			return 0, wrong
		case n.tag != "!!int":
			wrong.hint = "leave out the quotes"
			return 0, wrong
		default:
			return number, nil
		}
	}
	form := schema{Type: nullable("integer"), Minimum: new(float64(least))}
	if most != math.MaxInt {
		form.Maximum = new(float64(most))
	}
	return leaf[int]{into, parse, strconv.Itoa, form}
}

// number is a decimal number from 0 to a bound.
func number(into *opt[float64], most int) value {
	want := "a number " + bounds(0, most)
	parse := func(n *node) (float64, *complaint) {
		if n.kind != scalarNode || n.tag != "!!int" && n.tag != "!!float" {
			return 0, wanted(n, want)
		}
		f, err := strconv.ParseFloat(n.text, 64)
		if err != nil || !(f >= 0 && f <= float64(most)) { // refuses .nan too
			return 0, wanted(n, want)
		}
		return f, nil
	}
	format := func(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }
	form := schema{Type: nullable("number"), Minimum: new(0.0), Maximum: new(float64(most))}
	return leaf[float64]{into, parse, format, form}
}

func bounds(least, most int) string {
	if most == math.MaxInt {
		return fmt.Sprintf("of at least %d", least)
	}
	return fmt.Sprintf("from %d to %d", least, most)
}

// flag is true or false, "1" or "0" to Proxmox.
func flag(into *opt[bool]) value { return toggle(into, "1", "0") }

// toggle is true or false, which a key spells in its own words.
func toggle(into *opt[bool], on, off string) value {
	parse := func(n *node) (bool, *complaint) {
		if n.kind != scalarNode || n.tag != "!!bool" {
			wrong := wanted(n, "true or false")
			wrong.hint = didYouMean(map[string]string{"yes": "true", "on": "true", "true": "true", "no": "false", "off": "false", "false": "false"}[n.text])
			return false, wrong
		}
		return strings.EqualFold(n.text, "true"), nil
	}
	format := func(b bool) string {
		if b {
			return on
		}
		return off
	}
	return leaf[bool]{into, parse, format, schema{Type: nullable("boolean")}}
}

// text is a text that follows a rule.
func text(into *opt[string], r rule) value {
	format := func(s string) string { return s }
	return leaf[string]{into, r.parse, format, schema{Type: nullable("string"), Pattern: r.pattern()}}
}

// choice is one of some words.
func choice(into *opt[string], options ...string) value {
	parse := func(n *node) (string, *complaint) {
		if n.kind == scalarNode && slices.Contains(options, n.text) {
			return n.text, nil
		}
		wrong := wanted(n, "one of "+strings.Join(options, ", "))
		if n.kind == scalarNode {
			wrong.hint = didYouMean(closest(n.text, options))
		}
		return "", wrong
	}
	format := func(s string) string { return s }
	form := schema{Type: nullable("string")}
	for _, option := range options {
		form.Enum = append(form.Enum, new(option))
	}
	form.Enum = append(form.Enum, nil)
	return leaf[string]{into, parse, format, form}
}
