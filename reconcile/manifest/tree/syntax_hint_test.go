package tree

import (
	"strings"
	"testing"
)

// TestSyntaxHint breaks a manifest as people do. Each hint is an edit that makes it readable.
func TestSyntaxHint(t *testing.T) {
	t.Parallel()
	const head = "kind: VirtualMachine\nspec:\n  vmid: 220\n"
	for _, test := range []struct{ name, lines, at, hint string }{
		{"colon", "  description: web: the server\n", "4:3", "put the value in single quotes"},
		{"address", "  description: see http://x: y\n", "4:3", "put the value in single quotes"},
		{"quotes_and_colon", "  description: it's: mine\n", "4:3", "put the value in double quotes"},
		{"both_quotes_and_colon", "  description: it's: \"mine\"\n", "4:3", "put the value in single quotes, and write '' for each ' in it"},
		{"apostrophe_in_quotes", "  description: 'don't'\n", "4:3", "put the value in double quotes"},
		{"behind_the_quotes", "  description: \"a\" b\n", "4:3", "put the value in single quotes"},
		{"alias", "  description: *abc\n", "4:3", "put the value in single quotes"},
		{"at", "  description: @abc\n  node: a\n", "4:3", "put the value in single quotes"},
		{"item", "  tags:\n  - a: b: c\n", "5:3", "put the value in single quotes"},
		{"open_quote", "  description: \"abc\n", "4:3", "close the \" with \""},
		{"open_list", "  tags: [a, b\n  node: a\n", "4:3", "close the [ with ]"},
		{"surplus_brace", "  memory: {size: 1Gi}}\n", "4:3", "remove the last }"},
		{"list_on_the_line", "  tags: - a\n", "4:3", "put each item of a list on its own line, or write [a, b]"},
		{"text_behind_the_bar", "  description: | abc\n    def\n", "4:3", "begin the text on the line below the |"},
		{"deeper", "   node: pve1\n", "4:4", "line 3 has a value, so nothing can be below it: indent this line by 2 spaces as that one, or remove the value"},
		{"less_deep", " node: pve1\n", "4:2", "indent it by 2 spaces, as line 3: it has 1"},
		{"between", "  memory:\n    size: 1Gi\n   min: 512Mi\n", "6:4", "indent it by 4 spaces, as line 5: it has 3"},
		{"unclear", "  ]]]\n", "4:3", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, problems := Read("a.yaml", []byte(head+test.lines))
			if len(problems) != 1 {
				t.Fatalf("got %v, want one problem", problems)
			}
			p := problems[0]
			if at := strings.TrimPrefix(p.At.String(), "a.yaml:"); at != test.at || p.Hint != test.hint {
				t.Errorf("got %s at %s with the hint %q, want %q at %s", p.Message, at, p.Hint, test.hint, test.at)
			}
		})
	}
}
