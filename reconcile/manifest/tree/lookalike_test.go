package tree_test

import (
	"testing"

	"gitops-agent/reconcile/manifest/tree"
)

// TestLookalike asks of texts whether they look like other ones. The letters are written as escapes, since people cannot tell them apart.
func TestLookalike(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		text string
		want rune // 0 if it looks like no other
	}{
		"latin":             {"prod-1, M\u00fcnchen na\u00efve 10k", 0},
		"cyrillic":          {"\u043f\u0440\u043e\u0434 2", 0},
		"greek":             {"\u03b4\u03bf\u03ba\u03b9\u03bc\u03ae", 0},
		"japanese_and_more": {"web\u30b5\u30fc\u30d0\u30fc\u672c\u756a", 0},
		"two_words":         {"web-\u043f\u0440\u043e\u0434", 0},
		"emoji":             {"a \U0001f600", 0},
		"cyrillic_in_latin": {"pr\u043ed", '\u043e'},
		"latin_in_cyrillic": {"\u043fp\u043e\u0434", 'p'},
		"greek_in_latin":    {"w\u03bdb", '\u03bd'},
		"all_look_latin":    {"a-\u0441\u043e\u0440\u0435", '\u0441'},
		"capitals":          {"\u0392\u0391", '\u0392'},
		"full_width":        {"\uff50rod", '\uff50'},
		"full_width_digit":  {"web\uff11", '\uff11'},
		"mathematical":      {"\U0001d429rod", '\U0001d429'},
		"combined":          {"Mu\u0308nchen", '\u0308'},
		"combined_mark":     {"prod\u0332", '\u0332'},
		"without_shape":     {"prod\u034f", '\u034f'},
		"zero_width":        {"pr\u200bod", '\u200b'},
		"direction":         {"\u202eprod", '\u202e'},
		"blank":             {"prod\u2800", '\u2800'},
	}
	for name, test := range tests {
		if got, is := tree.Lookalike(test.text); got != test.want || is != (test.want != 0) {
			t.Errorf("%s: got %U, %t, want %U", name, got, is, test.want)
		}
	}
}
