package term

import (
	"strings"
	"testing"
)

// A document that is written element by element is the same as one that is written as a whole.
func TestJSONListOf(t *testing.T) {
	t.Parallel()
	type element struct {
		Name string `json:"name"`
		List []int  `json:"list"`
	}
	type document struct {
		SchemaVersion int       `json:"schemaVersion"`
		Text          string    `json:"text"`
		Elements      []element `json:"elements"`
	}
	for _, elements := range [][]element{{}, {{"<a>", []int{}}}, {{"a", []int{1, 2}}, {"b", nil}}} {
		var want, got strings.Builder
		if err := WriteJSON(&want, document{SchemaVersion, "x]}", elements}); err != nil {
			t.Fatal(err)
		}
		list, err := NewJSONListOf(&got, document{SchemaVersion, "x]}", []element{}})
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range elements {
			if err := list.Add(e); err != nil {
				t.Fatal(err)
			}
		}
		if err := list.Close(); err != nil || got.String() != want.String() {
			t.Errorf("got %q and %v, want %q", got.String(), err, want.String())
		}
	}
	for name, d := range map[string]any{"nil": document{}, "filled": document{Elements: []element{{}}}, "none": struct{}{}} {
		if _, err := NewJSONListOf(&strings.Builder{}, d); err == nil {
			t.Errorf("%s: got no error for a document that does not end with an empty list", name)
		}
	}
}
