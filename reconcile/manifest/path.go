package manifest

import (
	"fmt"
	"strings"
)

func lastSegment(path string) string { return path[strings.LastIndexByte(path, '.')+1:] }

// compared checks that a path names a field whose live value is compared at all. Paths that name slots are known by their
// pattern, networks.*.mac.
func compared(s spec, l *lowering, path string) *complaint {
	var known, native bool
	var candidates []string
	walkObject(s, "", func(pattern string, row field) {
		candidates = append(candidates, pattern)
		matched := matches(pattern, path)
		known = known || matched
		native = native || row.native != "" && (matched || matches(firstSegments(pattern, strings.Count(path, ".")+1), path))
	})
	switch {
	case !known:
		return &complaint{"got " + quote(path) + ", want the path of a field", didYouMean(closest(path, candidates))}
	case !native && len(l.nativesOf(path)) == 0:
		return &complaint{message: fmt.Sprintf("field %s is never compared with the live guest", path)}
	default:
		return nil
	}
}

// matches compares segment by segment; a star in the pattern stands for any one.
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
