package verify

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Keys of the trailers that have a meaning here. They are compared letter by letter.
const (
	trailerTarget  = "Gitops-Target"
	trailerApprove = "Gitops-Approve"
	trailerRun     = "Gitops-Run"
	trailerSeal    = "Gitops-Seal"
)

// trailerPrefix begins every key that has, or may get, a meaning here.
const trailerPrefix = "Gitops-"

// Bounds of a trailer paragraph; a longer one is prose.
const (
	maxTrailers    = 64
	maxTrailerLine = 1024 // bytes
)

// A trailer is one "Key: value" line of a message's last paragraph.
type trailer struct {
	key, value string
}

// parseTrailers returns the trailers of a commit message: the lines of its last paragraph, if every one of them reads
// "Key: value", and if a paragraph stands before them, as git asks too. Otherwise there are none. What is accepted here
// renders back to the same bytes, so nothing hides in it: no continuation, no carriage return, no other space. Trailers with
// a meaning here hold nothing that a reader cannot see.
func parseTrailers(message []byte) []trailer {
	text := bytes.TrimSuffix(message, []byte("\n"))
	gap := bytes.LastIndex(text, []byte("\n\n"))
	if gap < 0 || len(bytes.TrimSpace(text[:gap])) == 0 || bytes.IndexByte(message, 0) >= 0 {
		return nil
	}
	lines := strings.Split(string(text[gap+2:]), "\n")
	if len(lines) > maxTrailers {
		return nil
	}
	trailers := make([]trailer, 0, len(lines))
	for _, line := range lines {
		key, value, found := strings.Cut(line, ": ")
		if !found || len(line) > maxTrailerLine || !isTrailerKey(key) || !isTrailerValue(value) || hides(key, value) {
			return nil
		}
		trailers = append(trailers, trailer{key, value})
	}
	return trailers
}

func (t trailer) String() string { return t.key + ": " + t.value }

func isTrailerKey(key string) bool {
	for i := range len(key) {
		c := key[i]
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-' {
			return false
		}
	}
	return key != ""
}

// isTrailerValue accepts text without control characters that neither begins nor ends with a space.
func isTrailerValue(value string) bool {
	return value != "" && strings.TrimSpace(value) == value &&
		!strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r == 0x7f })
}

// hides says whether a trailer of ours holds what does not show as it stands: characters without a shape, or that change
// the order in which others are shown.
func hides(key, value string) bool {
	invisible := func(r rune) bool { return !unicode.IsPrint(r) }
	return strings.HasPrefix(key, trailerPrefix) && (!utf8.ValidString(value) || strings.ContainsFunc(value, invisible))
}

// values returns the values of the trailers with the given key, in order.
func values(trailers []trailer, key string) []string {
	var found []string
	for _, t := range trailers {
		if t.key == key {
			found = append(found, t.value)
		}
	}
	return found
}
