package manifest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"gitops-agent/reconcile/manifest/tree"
)

// textList is a list of texts with their positions.
type textList = opt[[]opt[string]]

// texts returns the texts of a list.
func texts(w textList) []string {
	var out []string
	for _, item := range w.value {
		out = append(out, item.value)
	}
	return out
}

// list is a list of texts that follow a rule, joined for Proxmox. A single text is a list with one item. Duplicates are refused.
func list(into *textList, r *textRule, join string) value {
	return listValue{into, r, join}
}

type listValue struct {
	into *textList
	rule *textRule
	join string
}

const maxItems = 256 // of one list or map

func (v listValue) decode(d decoder, n *tree.Node) {
	items := n.Items
	if n.Kind == tree.Scalar {
		items = []*tree.Node{n}
	}
	if n.Kind == tree.Mapping || len(items) > maxItems {
		d.problem(n.At, fmt.Sprintf("got %s, want a list of at most %d", n.Describe(), maxItems), "")
		return
	}
	out := textList{place: place{n.Key, d.path}, set: true}
	seen := map[string]bool{}
	for i, item := range items {
		below := d
		if n.Kind == tree.List {
			below.path = fmt.Sprintf("%s[%d]", d.path, i)
		}
		s, wrong := v.rule.parse(item)
		switch {
		case wrong != nil && n.Kind == tree.Scalar && wrong.hint == "":
			below.problem(item.At, wrong.message, v.splitHint(item.Text))
		case wrong != nil:
			below.problem(item.At, wrong.message, wrong.hint)
		case seen[s]:
			below.problem(item.At, "got "+tree.Quote(s)+" twice", "")
		default:
			out.value = append(out.value, opt[string]{place{item.At, below.path}, s, true})
		}
		seen[s] = true
	}
	*v.into = out
}

// splitHint returns a hint for a text that contains several items in Proxmox's form: [web, prod] for web;prod.
func (v listValue) splitHint(text string) string {
	words := strings.FieldsFunc(text, func(c rune) bool { return strings.ContainsRune(" ,;", c) })
	if len(words) < 2 || slices.ContainsFunc(words, func(word string) bool { return !v.rule.ok(word) }) {
		return ""
	}
	return didYouMean("[" + tree.Shorten(strings.Join(words, ", ")) + "]")
}

func (v listValue) lower(l *lowering, native string) {
	if v.into.set && len(v.into.value) == 0 && strings.Contains(native, ".") {
		l.missing(v.into.place, "got an empty list, want at least one", "null leaves the field alone")
	}
	if v.into.set && native != "" {
		l.put(native, v.into.place, strings.Join(texts(*v.into), v.join))
	}
}

func (v listValue) schema() *schema {
	out := &schema{Type: nullable(append([]string{"array"}, v.rule.types()...)...), Items: &schema{Type: v.rule.types(), Pattern: v.rule.pattern()}}
	if len(v.rule.examples) > 0 {
		out.Examples = []json.RawMessage{encoded(v.rule.examples)}
	}
	return out
}

func (v listValue) walk(string, func(path string, row field)) {}

// textMap maps names that the user chooses to texts. If numbers and booleans are accepted, they become native text.
type textMap map[string]opt[string]

// dictionary is a mapping of names that follow a rule to texts.
func dictionary(into *textMap, names *textRule) value {
	return dictionaryValue{into: into, names: names}
}

// labels is a mapping of names to values that are compared with those of other labels. So a value does not look like another one.
func labels(into *textMap) value {
	return dictionaryValue{into: into, names: labelName, compared: true}
}

// nativeMap is a mapping of native keys to native values.
func nativeMap(into *textMap) value {
	return dictionaryValue{into: into, names: nativeKey, native: true}
}

type dictionaryValue struct {
	into     *textMap
	names    *textRule
	native   bool
	compared bool
}

func (v dictionaryValue) decode(d decoder, n *tree.Node) {
	if n.Kind != tree.Mapping || len(n.Entries) > maxItems {
		d.problem(n.At, fmt.Sprintf("got %s, want a mapping of at most %d names to values", n.Describe(), maxItems), "")
		return
	}
	*v.into = textMap{}
	for _, e := range n.Entries {
		below := d.below(segment(e.Name))
		if !v.names.ok(e.Name) {
			below.problem(e.Value.Key, "got the name "+tree.Quote(e.Name)+", want "+v.names.wanted(), "")
			continue
		}
		if e.Value.IsNull() {
			continue
		}
		s, wrong := v.parse(e.Value)
		if wrong != nil {
			below.problem(e.Value.At, wrong.message, wrong.hint)
			continue
		}
		if v.compared {
			below.checkCompared(e.Value.At, s)
		}
		(*v.into)[e.Name] = opt[string]{place{e.Value.Key, below.path}, s, true}
	}
}

// checkCompared reports a text that is compared with others and looks like another one.
func (d decoder) checkCompared(at tree.Position, text string) {
	c, is := tree.Lookalike(text)
	other := strings.IndexFunc(text, func(r rune) bool { return unicode.IsSpace(r) && r != ' ' })
	switch {
	case is:
	case other >= 0:
		c, _ = utf8.DecodeRuneInString(text[other:])
	case strings.TrimSpace(text) != text:
		c = ' '
	default:
		return
	}
	d.newProblem(at, tree.SeemsOther(c), hintCompared)
}

const hintCompared = "use the letters of one script, and of another script a word that is not read as a Latin one; no spaces at the ends, and only common ones within"

func (v dictionaryValue) parse(n *tree.Node) (string, *rejection) {
	switch {
	case !v.native:
		return anyText.parse(n)
	case n.Kind != tree.Scalar || !anyText.ok(n.Text):
		return "", wanted(n, "a text, a number or a truth value")
	case n.Tag == "!!bool" && strings.EqualFold(n.Text, "true"):
		return "1", nil
	case n.Tag == "!!bool":
		return "0", nil
	default:
		return n.Text, nil
	}
}

// lower does nothing: common.finish lowers native keys after all other fields.
func (v dictionaryValue) lower(*lowering, string) {}

func (v dictionaryValue) schema() *schema {
	kinds := nullable("string")
	if v.native {
		kinds = nullable("string", "number", "boolean")
	}
	return &schema{
		Type: nullable("object"), PropertyNames: &schema{Pattern: v.names.pattern()},
		PatternProperties: map[string]*schema{"": {Type: kinds}},
	}
}

func (v dictionaryValue) walk(path string, visit func(path string, row field)) {
	visit(path+".*", field{})
}
