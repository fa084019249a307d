package bounds

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

func TestJSON(t *testing.T) {
	t.Parallel()
	limits := JSON{Bytes: 100, Values: 12, Elements: 5, Depth: 3, Text: 30}
	for name, test := range map[string]struct {
		text string
		want string // "" is no error
	}{
		"empty":              {"", ""},
		"scalar":             {"1", ""},
		"as_much_as_allowed": {`[[[1,2,3,4,5]],{"a":1,"b":2}]`, ""},
		"bytes":              {strings.Repeat(" ", 101), "101 bytes: larger than the limit of 100 bytes"},
		"elements_of_a_list": {`[1,2,3,4,5,6]`, "elements of one list: larger than the limit of 5"},
		"members":            {`{"a":1,"b":1,"c":1,"d":1,"e":1,"f":1}`, "elements of one list: larger than the limit of 5"},
		"several_lists":      {`[[1,2,3],[1,2,3],[1,2,3],[1,2,3]]`, "values: larger than the limit of 12"},
		"depth":              {`[[[[1]]]]`, "depth of lists and objects: larger than the limit of 3"},
		"text_is_no_list":    {`["{[{[,,,,,,,,,\",,,,\\",1]`, ""},
		"cut_in_text":        {`["a\`, ""},
		"longest_text":       {`["` + strings.Repeat("a", 30) + `"]`, ""},
		"longer_text":        {`["` + strings.Repeat("a", 31) + `"]`, "a string of 31 bytes: larger than the limit of 30"},
		"more_ends":          {`]]]}}}[1]`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := limits.Check(test.text)
			if got := message(err); got != test.want || err != nil && !errors.Is(err, ErrExceeded) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func message(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// FuzzJSON compares the counts with what encoding/json finds: a text whose values are within the limits passes, and every other one is refused.
func FuzzJSON(f *testing.F) {
	for _, seed := range []string{`[[[1,2,3,4,5]],{"a":1,"b":2}]`, `[1,2,3,4,5,6]`, `{"a":{"b":{"c":{"d":1}}}}`, `["{[",[]]`, `{"\u005b":"\\","a":[{},{}]}`} {
		f.Add(seed)
	}
	limits := JSON{Bytes: 1 << 10, Values: 12, Elements: 5, Depth: 3}
	f.Fuzz(func(t *testing.T, text string) {
		if !json.Valid([]byte(text)) || len(text) > limits.Bytes {
			return
		}
		d := json.NewDecoder(strings.NewReader(text))
		values, elements, depth := count(t, d, 0)
		within := values <= limits.Values && elements <= limits.Elements && depth <= limits.Depth
		// An empty list counts as one element, so Check may count one more for each.
		if err := limits.Check(text); within && err != nil && values+strings.Count(text, "[")+strings.Count(text, "{") <= limits.Values || !within && err == nil {
			t.Errorf("got %v for %d values, %d elements, depth %d", err, values, elements, depth)
		}
	})
}

// count reads one value, and returns how many values it has, the most elements of a list, and the depth.
func count(t *testing.T, d *json.Decoder, depth int) (values, elements, deepest int) {
	t.Helper()
	token, err := d.Token()
	if err != nil {
		t.Fatal(err)
	}
	if token != json.Delim('{') && token != json.Delim('[') {
		return 1, 0, depth
	}
	values, deepest = 1, depth+1
	own := 0
	for d.More() {
		if token == json.Delim('{') {
			if _, err := d.Token(); err != nil {
				t.Fatal(err)
			}
		}
		v, e, deep := count(t, d, depth+1)
		values, elements, deepest, own = values+v, max(elements, e), max(deepest, deep), own+1
	}
	if _, err := d.Token(); err != nil {
		t.Fatal(err)
	}
	return values, max(elements, own), deepest
}
