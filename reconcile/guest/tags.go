package guest

import (
	"slices"
	"strings"

	"gitops-agent/reconcile/guest/form"
)

// markerPrefix begins a tag that names the agent that owns a guest.
const markerPrefix = "gitops-"

// Tags returns the set of tags that Proxmox reads from a text: separated by commas, semicolons or white space, in lower case, sorted, without
// duplicates.
//
// Source: PVE::GuestHelpers, the default tag style of datacenter.cfg.
func Tags(text string) []string {
	return form.AppendTags(nil, text)
}

// Markers returns the tags of a text that have the form of an ownership marker, "gitops-" and eight hexadecimal digits, in lower case, sorted, without duplicates.
func Markers(text string) []string {
	var markers []string
	for word, rest := form.CutWord(text); word != ""; word, rest = form.CutWord(rest) {
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

func isMarker(tag string) bool {
	digits, ok := strings.CutPrefix(tag, markerPrefix)
	return ok && len(digits) == 8 && strings.Trim(digits, "0123456789abcdef") == ""
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
