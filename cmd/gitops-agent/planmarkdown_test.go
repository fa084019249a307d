package main

import (
	"strings"
	"testing"
)

func TestMarkdownCode(t *testing.T) {
	tests := map[string]struct{ text, want string }{
		"plain":     {"2048", "`2048`"},
		"nothing":   {"", ""},
		"pipe":      {"a|b", "`a\\|b`"},
		"backtick":  {"a`b", "`` a`b ``"},
		"backticks": {"a``b`", "``` a``b` ```"},
		"newline":   {"a\nb", "`a b`"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := markdownCode(test.text); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

// Messages hold names and values of others; in a comment they must neither link, mention nor begin markup.
func TestMarkdownText(t *testing.T) {
	got := markdownText("<img src=x> [a](b) @team | # *x* \n`y`")
	for _, bad := range []string{"<img", "[a]", "@team", "\n", " | ", " *x*"} {
		if strings.Contains(got, bad) {
			t.Errorf("got %q, want no %q in it", got, bad)
		}
	}
}
