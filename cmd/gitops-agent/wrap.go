package main

import (
	"strings"
	"unicode/utf8"
)

// continued stands before a line that continues another.
const continued = "    "

// wrapped breaks text between words into lines of at most width runes, of which the ones after the first leave room for continued. A word
// that is longer stays whole: it may be something to copy. Spaces between words stay as they are.
func wrapped(text string, width int) []string {
	var lines []string
	for limit := max(width, 20); utf8.RuneCountInString(text) > limit; limit = max(width-len(continued), 20) {
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
