package form

import (
	"slices"
	"strings"
)

// CutWord returns the first word of a list separated by commas, semicolons or white space, and the rest. The word is empty at the end of the
// list.
func CutWord(list string) (word, rest string) {
	start := 0
	for start < len(list) && isSeparator(list[start]) {
		start++
	}
	end := start
	for end < len(list) && !isSeparator(list[end]) {
		end++
	}
	return list[start:end], list[end:]
}

func isSeparator(c byte) bool {
	switch c {
	case ',', ';', ' ', '\t', '\n', '\r', 0:
		return true
	default:
		return false
	}
}

// badTag returns the first tag of text that Proxmox refuses, or the empty string.
func badTag(text string) string {
	for word, rest := CutWord(text); word != ""; word, rest = CutWord(rest) {
		lower := strings.ToLower(word)
		if strings.Trim(lower, "abcdefghijklmnopqrstuvwxyz0123456789_-+.") != "" || strings.ContainsRune("-+.", rune(lower[0])) {
			return word
		}
	}
	return ""
}

// AppendTags appends the tags of text to a slice of the caller, which must be empty.
func AppendTags(tags []string, text string) []string {
	for word, rest := CutWord(text); word != ""; word, rest = CutWord(rest) {
		tags = append(tags, strings.ToLower(word))
	}
	slices.Sort(tags)
	return slices.Compact(tags)
}
