package term

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
)

// Printable returns text on one line without characters that control a terminal: names, messages and values come from repositories, signers
// and the cluster. Tabs and line breaks become spaces, control characters and marks of text direction become U+FFFD. Other characters that nobody sees are escaped, so that
// two different texts look different.
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

// escapeUnseen returns text with characters that nobody sees in the notation of JSON: \u200b. JSON has them only in strings, where this is the same text.
func escapeUnseen(text string) string {
	if !strings.ContainsFunc(text, isUnseen) {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		switch {
		case !isUnseen(r):
			b.WriteRune(r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// isUnseen reports whether nobody sees a character, and no space in its place.
//
// Source: Unicode Standard Annex 44, Default_Ignorable_Code_Point.
func isUnseen(r rune) bool {
	return unicode.In(r, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
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
