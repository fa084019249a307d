package manifest

import (
	"fmt"
	"strings"

	"gitops-agent/reconcile/manifest/tree"
)

// checkIgnoredPath checks that a path names a field that is compared with the live guest. Paths with slots match their pattern, networks.*.mac.
func checkIgnoredPath(s spec, l *lowering, path string) *rejection {
	var known, native bool
	var candidates []string
	walkObject(s, "", func(pattern string, row field) {
		candidates = append(candidates, withSegmentsOf(pattern, path))
		matched := matches(pattern, path)
		known = known || matched
		native = native || row.native != "" && (matched || matches(firstSegments(pattern, strings.Count(path, ".")+1), path))
	})
	field, named := l.setBy[path]
	switch {
	case !known && named && field.path != path:
		return &rejection{"got " + tree.Quote(path) + ", want the path of a field", didYouMean(field.path)}
	case !known:
		return &rejection{"got " + tree.Quote(path) + ", want the path of a field", didYouMean(closest(path, candidates))}
	case !native && len(l.nativesOf(path)) == 0 && !l.partial:
		return &rejection{fmt.Sprintf("field %s is never compared with the live guest", path), leaveAloneHints[path]}
	default:
		return nil
	}
}

// leaveAloneHints are the alternatives for fields that are not part of the guest's configuration.
var leaveAloneHints = map[string]string{"state": "set state: ignored", "placement.migrate": "set migrate: deny"}
