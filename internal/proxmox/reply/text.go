package reply

import "strings"

// OneLine replaces control characters with spaces, so that a server cannot write lines into logs.
func OneLine(text string) string {
	folded := strings.Map(func(r rune) rune {
		if IsControl(r) {
			return ' '
		}
		return r
	}, text)
	return strings.TrimSpace(folded)
}

// IsControl reports whether a character is an ASCII control character.
func IsControl(r rune) bool { return r < ' ' || r == 0x7f }
