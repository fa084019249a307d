// Package shell writes text for a POSIX shell.
package shell

import "strings"

// Word returns text as one word of a shell: as it is if no shell changes it, or else in single quotes. Paths and names may contain any character.
func Word(text string) string {
	special := func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && !strings.ContainsRune("/._-+@", r)
	}
	if text != "" && !strings.ContainsFunc(text, special) {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// Commit returns the git command that makes a signed commit without changes. All trailers are in the last paragraph of the message; elsewhere they have no effect.
func Commit(subject string, trailers ...string) string {
	return "git commit --allow-empty -S -m " + Word(subject) + " -m " + Word(strings.Join(trailers, "\n"))
}
