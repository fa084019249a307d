package reason

import (
	"maps"
	"slices"
)

// Former returns the names that no condition and no held step has any more, sorted.
func Former() []string { return slices.Sorted(maps.Keys(former)) }

// Successor returns the name that took the place of a former one.
func Successor(name string) (now Name, isFormer bool) {
	now, isFormer = former[name]
	return now, isFormer
}

// former names the reason that took the place of each former one: reasons with the same act and the same cause were merged.
var former = map[string]Name{
	"cannot-create":        Impossible,
	"check-refused":        NotAllowed,
	"destroy-denied":       ManifestForbids,
	"empty-desired":        DestroyLimit,
	"file-in-use":          InUse,
	"file-on-one-node":     OtherNode,
	"foreign-file":         NotManaged,
	"foreign-marker":       NotManaged,
	"guard-minimum":        NotAllowed,
	"hidden":               Denied,
	"invalid":              Impossible,
	"kind":                 DifferentGuest,
	"leaving":              Locked,
	"may-exist":            NotManaged,
	"no-node":              Impossible,
	"no-revision":          WritesStopped,
	"no-secret":            Secret,
	"no-source":            Impossible,
	"no-vmid":              Impossible,
	"node-maintenance":     Window,
	"not-in-ha":            Awaits,
	"not-ready":            WaitsFor,
	"observe-mode":         ManifestForbids,
	"partly-created":       Locked,
	"recreate-denied":      ManifestForbids,
	"removed":              LeftOver,
	"root-only":            NeedsRoot,
	"selects-none":         Awaits,
	"server-denied":        NotAllowed,
	"snapshot-failed":      Error,
	"snapshots-left":       LeftOver,
	"unused-volumes":       LeftOver,
	"volume-in-use":        InUse,
	"volume-users-unknown": NotObserved,
}
