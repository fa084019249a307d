package guest

import (
	"slices"
	"strings"
)

// markerPrefix begins a tag that names the agent that owns a guest.
const markerPrefix = "gitops-"

// Tags returns the set of tags that Proxmox reads from a text: separated by commas, semicolons or white space, in lower case, sorted, without
// duplicates.
//
// Source: PVE::GuestHelpers, the default tag style of datacenter.cfg.
func Tags(text string) []string {
	return appendTags(nil, text)
}

// Markers returns the tags of a text that have the form of an ownership marker, "gitops-" and eight hexadecimal digits, in lower case, sorted, without duplicates.
func Markers(text string) []string {
	var markers []string
	for word, rest := cutWord(text); word != ""; word, rest = cutWord(rest) {
		if tag := strings.ToLower(word); isMarker(tag) {
			markers = append(markers, tag)
		}
	}
	slices.Sort(markers)
	return slices.Compact(markers)
}

// PlainTags returns the tags of a text that do not have the form of an ownership marker.
func PlainTags(text string) []string {
	return slices.DeleteFunc(Tags(text), isMarker)
}

// appendTags appends the tags of text to a slice of the caller, which must be empty.
func appendTags(tags []string, text string) []string {
	for word, rest := cutWord(text); word != ""; word, rest = cutWord(rest) {
		tags = append(tags, strings.ToLower(word))
	}
	slices.Sort(tags)
	return slices.Compact(tags)
}

func isMarker(tag string) bool {
	digits, ok := strings.CutPrefix(tag, markerPrefix)
	return ok && len(digits) == 8 && strings.Trim(digits, "0123456789abcdef") == ""
}

// cutWord returns the first word of a list separated by commas, semicolons or white space, and the rest. The word is empty at the end of the
// list.
func cutWord(list string) (word, rest string) {
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
	for word, rest := cutWord(text); word != ""; word, rest = cutWord(rest) {
		lower := strings.ToLower(word)
		if strings.Trim(lower, "abcdefghijklmnopqrstuvwxyz0123456789_-+.") != "" || strings.ContainsRune("-+.", rune(lower[0])) {
			return word
		}
	}
	return ""
}

// ownedTags returns the tags that a guest must have: the wanted tags, and of the markers only the owner's. Without an owner the markers in live
// stay, since the tag of another agent must not be removed.
func ownedTags(buffer, wanted, live []string, marker string) []string {
	tags := buffer[:0]
	for _, tag := range wanted {
		if !isMarker(tag) {
			tags = append(tags, tag)
		}
	}
	if marker != "" {
		tags = append(tags, marker)
	} else {
		for _, tag := range live {
			if isMarker(tag) {
				tags = append(tags, tag)
			}
		}
	}
	slices.Sort(tags)
	return slices.Compact(tags)
}
