package plan

import (
	"cmp"
	"slices"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
)

// Touches returns the volumes on which calls act in a way that matters to other guests, sorted. Live is the guest of the calls; the zero value if it
// does not exist.
func Touches(calls []cluster.Call, live guest.Observed) []cluster.Touch {
	var list []cluster.Touch
	for _, call := range calls {
		list = append(list, cluster.Touches(call, live)...)
	}
	slices.SortFunc(list, func(a, b cluster.Touch) int {
		return cmp.Or(cmp.Compare(a.Volume, b.Volume), cmp.Compare(a.Effect, b.Effect))
	})
	return slices.Compact(list)
}

// withTouches sets the touched volumes of every step of a guest.
func withTouches(p Guest, live guest.Observed) Guest {
	for i := range p.Steps {
		p.Steps[i].Touches = Touches(p.Steps[i].Calls, live)
	}
	return p
}
