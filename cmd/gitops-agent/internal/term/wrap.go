package term

import (
	"strings"
	"unicode/utf8"
)

// ContinuationIndent precedes each line after the first of a wrapped text.
const ContinuationIndent = "    "

// Wrap breaks text between words into lines of at most width runes. Lines after the first leave room for ContinuationIndent, which the caller
// prints. A longer word is not broken, because a user may copy it. Spaces between words are kept. The minimum width is 20.
func Wrap(text string, width int) []string {
	var lines []string
	for limit := max(width, 20); utf8.RuneCountInString(text) > limit; limit = max(width-len(ContinuationIndent), 20) {
		runes := []rune(text)
		at := lastSpace(runes[:limit+1])
		if at < 0 {
			if at = firstSpace(runes); at < 0 {
				break
			}
		}
		lines = append(lines, strings.TrimRight(string(runes[:at]), " "))
		text = strings.TrimLeft(string(runes[at:]), " ")
	}
	return append(lines, text)
}

func lastSpace(runes []rune) int {
	for i := len(runes) - 1; i > 0; i-- {
		if runes[i] == ' ' {
			return i
		}
	}
	return -1
}

func firstSpace(runes []rune) int {
	for i, r := range runes {
		if r == ' ' && i > 0 {
			return i
		}
	}
	return -1
}
