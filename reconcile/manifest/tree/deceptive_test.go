package tree_test

import (
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"gitops-agent/reconcile/manifest/tree"
)

// TestWhatIsShownIsRead reads files in which people see another value, another name or another order than the agent reads.
func TestWhatIsShownIsRead(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ text, refused, warned string }{
		"plain":                {text: "a: b # c\n"},
		"override_in_a_value":  {text: "a: b\u202ec\n", refused: "a.yaml:1:4: got the character U+202E in a value"},
		"isolate_in_quotes":    {text: "a: \"b\u2066c\"\n", refused: "U+2066 in a value"},
		"mark_in_a_block":      {text: "a: |\n  b\n  # \u200fc\n", refused: "U+200F in a value"},
		"hash_in_folded_text":  {text: "a: >\n  # \u202e b\n", refused: "U+202E in a value"},
		"override_in_a_name":   {text: "a\u202eb: 1\n", refused: "U+202E in a name"},
		"escaped_in_a_name":    {text: "\"a\\u202eb\": 1\n", refused: "U+202E in a name"},
		"escaped_in_a_value":   {text: "a: \"b\\u202ec\"\n"},
		"in_a_list":            {text: "a: [b, \"c\u202ed\"]\n", refused: "U+202E in a value"},
		"override_in_comment":  {text: "a: 1 # b\u202ec\n", warned: "a.yaml:1:9: got the directional character U+202E in a comment"},
		"in_a_comment_line":    {text: "# \u2067b\na: 1\n", warned: "a.yaml:1:3: got the directional character U+2067"},
		"comment_before_value": {text: "# \u202eb\na: \"c\u202ed\"\n", refused: "U+202E in a value"},
		"zero_width_space":     {text: "a: b\u200bc\n", refused: "U+200B in a value"},
		"soft_hyphen":          {text: "a: b\u00adc\n", refused: "U+00AD in a value"},
		"filler":               {text: "a: b\u3164c\n", refused: "U+3164 in a value"},
		"tag_letters":          {text: "a: b\U000e0061\n", refused: "U+E0061 in a value"},
		"grapheme_joiner":      {text: "a: b\u034fc\n", refused: "U+034F in a value"},
		"selector_in_a_word":   {text: "a: b\ufe0fc\n", refused: "U+FE0F in a value"},
		"selector_in_a_name":   {text: "a\ufe0f: 1\n", refused: "U+FE0F in a name"},
		"selector_of_an_emoji": {text: "a: \u2764\ufe0f and 1\ufe0f\u20e3\n"},
		"selector_supplement":  {text: "a: b\U000e0100\n", refused: "U+E0100 in a value"},
		"vowel_without_shape":  {text: "a: b\u17b4\n", refused: "U+17B4 in a value"},
		"joiner_in_a_word":     {text: "a: b\u200dc\n", refused: "U+200D in a value"},
		"joiner_in_an_emoji":   {text: "a: \U0001f468\u200d\U0001f469\n"},
		"joiner_in_a_script":   {text: "a: \u0645\u06cc\u200c\u062e\u0648\n"},
		"joiner_in_a_name":     {text: "a\u200db: 1\n", refused: "U+200D in a name"},
		"no_break_before_hash": {text: "a: b\u00a0# c\n", refused: "U+00A0 in a value"},
		"wide_before_hash":     {text: "a: b\n  \u3000# c\n", refused: "U+3000 in a value"},
		"blank_before_hash":    {text: "a: b\u2800# c\n", refused: "U+2800 in a value"},
		"escaped_before_hash":  {text: "a: \"b\\u00a0# c\"\n"},
		"no_break_in_a_text":   {text: "a: b\u00a0c #d\u00a0# e\n"},
		"zero_width_comment":   {text: "a: 1 # b\u200bc\n"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			documents, problems := tree.Read("a.yaml", []byte(test.text))
			var refused, warned string
			for _, p := range problems {
				if text := p.At.String() + ": " + p.Message; p.Warns {
					warned += text
				} else {
					refused += text
				}
				if !p.New || p.Hint == "" {
					t.Errorf("got %+v, want it read as before, with a hint", p)
				}
			}
			if len(documents) != 1 || !strings.Contains(refused, test.refused) || test.refused == "" && refused != "" {
				t.Errorf("got %q, want %q", refused, test.refused)
			}
			if !strings.Contains(warned, test.warned) || test.warned == "" && warned != "" {
				t.Errorf("got the warning %q, want %q", warned, test.warned)
			}
		})
	}
}

// What Encode writes is read back without a problem, with any characters in the value.
func TestEncodeShowsWhatPeopleDoNotSee(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"b\u202ec", "b\u200dc", "\u3164", "b\U000e0061\nc", "\U0001f468\u200d\U0001f469", "\u00ad"} {
		n := &yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{{Kind: yaml.ScalarNode, Value: "a"}, {Kind: yaml.ScalarNode, Value: text, LineComment: "# " + text[:1] + "\u202e"}}}
		data, err := tree.Encode(n)
		if err != nil {
			t.Fatal(err)
		}
		documents, problems := tree.Read("a.yaml", data)
		if len(problems) > 0 || len(documents) != 1 || documents[0].Get("a").Text != text {
			t.Errorf("got %s and the problems %v, want %q", data, problems, text)
		}
	}
}
