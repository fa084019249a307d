package verify

import (
	"bytes"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The keys of the trailers that this package reads. They are compared exactly, including case.
const (
	trailerTarget  = "Gitops-Target"
	trailerApprove = "Gitops-Approve"
	trailerRun     = "Gitops-Run"
	trailerSeal    = "Gitops-Seal"

	trailerPromoted = "Gitops-Promoted"
)

// trailerPrefix begins every key that this package reads now or may read in a later version.
const trailerPrefix = "Gitops-"

// trailerKeys returns the keys that this package reads.
func trailerKeys() []string {
	return []string{trailerTarget, trailerApprove, trailerRun, trailerSeal, trailerPromoted}
}

// unknownTrailer returns the first trailer whose key begins with trailerPrefix, in letters of any case, and is none that this package reads. It has no effect, and may be meant for
// one that has: git itself does not compare the case of keys.
func unknownTrailer(trailers []trailer) (trailer, bool) {
	for _, t := range trailers {
		if len(t.key) >= len(trailerPrefix) && strings.EqualFold(t.key[:len(trailerPrefix)], trailerPrefix) && !slices.Contains(trailerKeys(), t.key) {
			return t, true
		}
	}
	return trailer{}, false
}

// The limits of a trailer paragraph. A longer paragraph is ordinary text.
const (
	maxTrailers    = 64   // lines
	maxTrailerLine = 1024 // bytes
)

// A trailer is one "Key: value" line of a message's last paragraph.
type trailer struct {
	key, value string
}

// parseTrailers returns the trailers of a commit message: the lines of its last paragraph, if every line has the form
// "Key: value" and a paragraph comes before them, as git requires too. Otherwise it returns nil. The result renders to the
// same bytes: continuation lines, carriage returns and other white space are not accepted. Trailers whose key begins
// with trailerPrefix may not contain invisible characters.
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
		if !found || len(line) > maxTrailerLine || !isTrailerKey(key) || !isTrailerValue(value) || hasInvisible(key, value) {
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

// isTrailerValue accepts text that has no control characters and neither begins nor ends with white space.
func isTrailerValue(value string) bool {
	return value != "" && strings.TrimSpace(value) == value &&
		!strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r == 0x7f })
}

// hasInvisible reports whether a trailer with trailerPrefix contains invisible characters, characters that change the order
// in which others are displayed, or invalid UTF-8.
func hasInvisible(key, value string) bool {
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
