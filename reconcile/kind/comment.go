package kind

import (
	"regexp"
	"strings"
	"sync"
)

// markerAtEnd matches the marker of an owned object at the end of its comment.
var markerAtEnd = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?:^|\s)(gitops-[0-9a-f]{8})\s*$`) })

// MarkerBytes is how many bytes a marker takes in a comment.
const MarkerBytes = len(" gitops-01234567")

// WithMarker returns a comment that ends in a marker. Text has none.
func WithMarker(text, marker string) string { return strings.TrimSpace(text + " " + marker) }

// SplitComment returns the text of a comment without the marker, and the marker, "" if there is none.
func SplitComment(comment string) (text, marker string) {
	at := markerAtEnd().FindStringSubmatchIndex(comment)
	if at == nil {
		return strings.TrimSpace(comment), ""
	}
	return strings.TrimSpace(comment[:at[0]]), comment[at[2]:at[3]]
}
