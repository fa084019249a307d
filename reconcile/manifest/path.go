package manifest

import (
	"strconv"
	"strings"

	"gitops-agent/reconcile/manifest/tree"
)

func lastSegment(path string) string { return path[strings.LastIndexByte(path, '.')+1:] }

// withSegmentsOf returns a pattern with its stars replaced by the segments of a path.
func withSegmentsOf(pattern, path string) string {
	want, got := strings.Split(pattern, "."), strings.Split(path, ".")
	for i := range min(len(want), len(got)) {
		if want[i] == "*" {
			want[i] = got[i]
		}
	}
	return strings.Join(want, ".")
}

// matches compares segment by segment. A star in the pattern matches any segment.
func matches(pattern, path string) bool {
	want, got := strings.Split(pattern, "."), strings.Split(path, ".")
	if len(want) != len(got) {
		return false
	}
	for i := range want {
		if want[i] != got[i] && want[i] != "*" {
			return false
		}
	}
	return true
}

func firstSegments(path string, n int) string {
	parts := strings.SplitN(path, ".", n+1)
	return strings.Join(parts[:min(n, len(parts))], ".")
}

// segment returns a key as part of a field path in a message.
func segment(name string) string {
	if needsQuotes(name) {
		return tree.Quote(name)
	}
	return tree.Shorten(name)
}

// wholeSegment returns a key as part of a field path, without shortening it.
func wholeSegment(name string) string {
	if needsQuotes(name) {
		return strconv.Quote(name)
	}
	return name
}

// needsQuotes reports whether a key could be misread as part of a path.
func needsQuotes(name string) bool {
	return name == "" || strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune(`".:`, r) })
}
