package term

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"

	"gitops-agent/reconcile/manifest/tree"
)

// Printable returns text on one line without characters that control a terminal: names, messages and values come from repositories, signers
// and the cluster. Tabs and line breaks become spaces, control characters and marks of text direction become U+FFFD. Other invisible characters are escaped, except
// inside an emoji.
func Printable(text string) string {
	return escapeUnseen(strings.Map(func(r rune) rune {
		switch {
		case r == '\t', r == '\n', r == '\r':
			return ' '
		case unicode.IsControl(r), unicode.Is(unicode.Bidi_Control, r):
			return '\uFFFD'
		}
		return r
	}, text))
}

// escapeUnseen writes invisible characters as JSON does: \u200b. Inside a JSON document the meaning stays the same, since they are only in strings.
func escapeUnseen(text string) string {
	if !strings.ContainsFunc(text, tree.IsUnseen) {
		return text
	}
	var b strings.Builder
	before := rune(0)
	for _, r := range text {
		switch {
		case !tree.IsDeceptive(r, before):
			b.WriteRune(r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
		before = r
	}
	return b.String()
}

// Shorten returns text cut to a number of runes, with an ellipsis as the last one if something was cut.
func Shorten(text string, runes int) string {
	all := []rune(text)
	if len(all) <= runes {
		return text
	}
	return string(all[:runes-1]) + "…"
}

// Prefixed returns label followed by text, or "" if text is empty.
func Prefixed(label, text string) string {
	if text == "" {
		return ""
	}
	return label + text
}

// Count returns "1 guest" or "3 guests".
func Count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
