package main

import (
	"strings"
	"unicode"
)

// printable returns text on one line in which nothing steers a terminal: names, messages and values come from repositories, signers and
// the cluster.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\t', r == '\n', r == '\r':
			return ' '
		case unicode.IsControl(r), unicode.Is(unicode.Bidi_Control, r):
			return '\uFFFD'
		}
		return r
	}, text)
}

// shortened returns text cut to a number of runes, with an ellipsis where something was cut.
func shortened(text string, runes int) string {
	all := []rune(text)
	if len(all) <= runes {
		return text
	}
	return string(all[:runes-1]) + "…"
}
