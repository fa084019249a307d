package manifest

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/manifest/tree"
)

// codec reads a YAML value and prints it for Proxmox.
type codec[T any] interface {
	parse(n *tree.Node) (T, *rejection)
	format(value T) string // native text; "" if the key should be absent
	form() schema
}

// scalarValue is a row that holds one value.
type scalarValue[T any] struct {
	into  *opt[T]
	codec codec[T]
}

func (v scalarValue[T]) decode(d decoder, n *tree.Node) {
	parsed, wrong := v.codec.parse(n)
	if wrong != nil {
		if _, isChoice := any(v.codec).(choiceCodec); isChoice && wrong.hint == "" {
			wrong.hint = d.wordHint(n.Text)
		}
		d.problem(n.At, wrong.message, wrong.hint)
		return
	}
	if isNumeric(v.codec) && guest.HasZeroInFront(n.Text) {
		d.newProblem(n.At, "got "+n.Describe()+", a number with a zero in front, which some programs read as another number", "leave out the zero")
	}
	*v.into = opt[T]{place{n.At, d.path}, parsed, true}
}

// isNumeric reports whether a codec reads numbers, with a unit or in a list.
func isNumeric(codec any) bool {
	switch c := codec.(type) {
	case memoryCodec, diskSizeCodec, durationCodec, portCodec:
		return true
	case *textRule:
		return c.numbers
	}
	return false
}

func (v scalarValue[T]) lower(l *lowering, native string) {
	if v.into.set && native != "" {
		l.put(native, v.into.place, v.codec.format(v.into.value))
	}
}

func (v scalarValue[T]) schema() *schema { return new(v.codec.form()) }

func (v scalarValue[T]) walk(string, func(path string, row field)) {}

// integer is a whole number within limits; most is math.MaxInt if there is no upper limit.
func integer(into *opt[int], least, most int) value {
	return scalarValue[int]{into, intCodec{least, most}}
}

type intCodec struct{ least, most int }

func (w intCodec) parse(n *tree.Node) (int, *rejection) {
	number, err := strconv.Atoi(n.Text)
	plain := err == nil && strconv.Itoa(number) == n.Text
	if n.Kind == tree.Scalar && plain && number >= w.least && number <= w.most && n.Tag == "!!int" {
		return number, nil
	}
	wrong := wanted(n, "a whole number "+bounds(w.least, w.most))
	if plain && n.Tag == "!!str" {
		wrong.hint = "leave out the quotes"
	}
	return 0, wrong
}

func (w intCodec) format(number int) string { return strconv.Itoa(number) }

func (w intCodec) form() schema {
	out := schema{Type: nullable("integer"), Minimum: new(float64(w.least))}
	if w.most != math.MaxInt {
		out.Maximum = new(float64(w.most))
	}
	return out
}

// number is a decimal number from 0 to a limit.
func number(into *opt[float64], most int) value { return scalarValue[float64]{into, numberCodec{most}} }

type numberCodec struct{ most int }

func (c numberCodec) parse(n *tree.Node) (float64, *rejection) {
	f, err := strconv.ParseFloat(n.Text, 64)
	numeric := n.Kind == tree.Scalar && (n.Tag == "!!int" || n.Tag == "!!float")
	if numeric && err == nil && f >= 0 && f <= float64(c.most) { // never true for NaN
		return f, nil
	}
	return 0, wanted(n, "a number "+bounds(0, c.most))
}

func (c numberCodec) format(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

func (c numberCodec) form() schema {
	return schema{Type: nullable("number"), Minimum: new(0.0), Maximum: new(float64(c.most))}
}

func bounds(least, most int) string {
	if most == math.MaxInt {
		return fmt.Sprintf("of at least %d", least)
	}
	return fmt.Sprintf("from %d to %d", least, most)
}

// flag is true or false, "1" or "0" for Proxmox.
func flag(into *opt[bool]) value { return boolWords(into, "1", "0") }

// boolWords is true or false, with the native words of a key.
func boolWords(into *opt[bool], on, off string) value {
	return scalarValue[bool]{into, boolCodec{on, off}}
}

type boolCodec struct{ on, off string }

func (c boolCodec) parse(n *tree.Node) (bool, *rejection) {
	if n.Kind == tree.Scalar && n.Tag == "!!bool" {
		return strings.EqualFold(n.Text, "true"), nil
	}
	wrong := wanted(n, "true or false")
	switch n.Text {
	case "yes", "on", "true":
		wrong.hint = didYouMean("true")
	case "no", "off", "false":
		wrong.hint = didYouMean("false")
	}
	return false, wrong
}

func (c boolCodec) format(b bool) string {
	if b {
		return c.on
	}
	return c.off
}

func (c boolCodec) form() schema { return schema{Type: nullable("boolean")} }

// text is a text that follows a rule.
func text(into *opt[string], r *textRule) value { return scalarValue[string]{into, r} }

// choice is one of several words.
func choice(into *opt[string], options ...string) value {
	return scalarValue[string]{into, choiceCodec(options)}
}

// nativeChoice is one of the words that a native key of virtual machines accepts, or a sub-key of it where sub is not empty.
func nativeChoice(into *opt[string], key, sub string) value {
	return choice(into, guest.Words(guest.VirtualMachine, key, sub)...)
}

type choiceCodec []string

func (v choiceCodec) parse(n *tree.Node) (string, *rejection) {
	if n.Kind == tree.Scalar && slices.Contains(v, n.Text) {
		return n.Text, nil
	}
	wrong := wanted(n, "one of "+strings.Join(v, ", "))
	wrong.hint = didYouMean(cmp.Or(synonym(n.Text, v), closest(n.Text, v)))
	return "", wrong
}

func (v choiceCodec) format(word string) string { return word }

func (v choiceCodec) form() schema {
	out := schema{Type: nullable("string")}
	for _, word := range v {
		out.Enum = append(out.Enum, new(word))
	}
	out.Enum = append(out.Enum, nil)
	return out
}
