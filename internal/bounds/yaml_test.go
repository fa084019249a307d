package bounds

import (
	"errors"
	"testing"

	"gopkg.in/yaml.v3"
)

func TestYAML(t *testing.T) {
	t.Parallel()
	limits := YAML{Bytes: 40, Marks: 4}
	for text, want := range map[string]bool{
		"":                     true,
		"a: 1\nb: 2\nc:\n- 3":  true,
		"a: [1, 2, 3]":         true,
		"a: [1, 2, 3, 4]":      false,
		"- 1\n- 2\n- 3\n- 4":   true,
		"- - - - -":            false,
		"[[[[[":                false,
		"? a\n? b\n? c\n?\n?":  false,
		"a-b:c?d-e:f?g-h:i":    true,
		"{a: {b: 1}}":          true,
		"{a: {b: {c: 1}}}":     false,
		"---\n---\n---\n---\n": true,
		"a: 'this text is longer than 40 bytes are'": false,
	} {
		if err := limits.Check([]byte(text)); (err == nil) != want || err != nil && !errors.Is(err, ErrExceeded) {
			t.Errorf("%q: got %v, want it within the limits: %t", text, err, want)
		}
	}
}

// FuzzYAML: a text has at most two nodes for each mark, one more for each document, and one for the text.
func FuzzYAML(f *testing.F) {
	for _, seed := range []string{"a: 1\nb: [1, {c: 2}]\n- x", "? a\n: b", "- - -", "{a, b, c}", "a:\n  - b: c\n    d:\n"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var y yaml.Node
		if len(text) > 1000 || yaml.Unmarshal([]byte(text), &y) != nil {
			return
		}
		nodes := countNodes(&y)
		if err := (YAML{Bytes: 1000, Marks: (nodes - 3) / 3}).Check([]byte(text)); nodes > 6 && err == nil {
			t.Errorf("got %q with %d nodes within %d marks", text, nodes, (nodes-3)/3)
		}
	})
}

func countNodes(y *yaml.Node) int {
	n := 1
	for _, c := range y.Content {
		n += countNodes(c)
	}
	return n
}
