package lastseen

import (
	"maps"
	"slices"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
)

// Effect is what a step may change.
type Effect struct {
	Op      cluster.Op
	Changes []guest.Change
	Calls   []cluster.Call
	Ordered bool // a signed order asks for the step
}

// Repairs reports whether the step takes back what others changed, which are the keys of ByOthers.
func (e Effect) Repairs(others []string) bool {
	switch {
	case e.Ordered || len(others) == 0:
		return false
	case e.Op.IsRunState():
		return slices.Contains(others, keyState)
	}
	return slices.ContainsFunc(e.keys(), func(key string) bool { return slices.Contains(others, key) })
}

// Begin returns the values of the record with which the step begins, and whether they differ from those before. A step that is not limited to the keys that it
// names leaves none.
func (e Effect) Begin(seen Values) (Values, bool) {
	if e.Ordered || !e.Op.IsLimited() {
		return nil, len(seen) > 0
	}
	left := maps.Clone(seen)
	for _, key := range append(e.keys(), alongside...) {
		delete(left, key)
	}
	return left, len(left) != len(seen)
}

// TakesBack returns the values of the record of those keys that others changed and that the step may change: after a step that is not known to have its effect they
// differ because of the change of others still.
func (e Effect) TakesBack(seen Values, others []string) Values {
	left, _ := e.Begin(seen)
	var values Values
	for _, key := range others {
		was, known := seen[key]
		if _, stays := left[key]; !known || stays {
			continue
		}
		if values == nil {
			values = make(Values)
		}
		values[key] = was
	}
	return values
}

// alongside are keys that Proxmox changes with others: a device that is removed leaves the boot order.
var alongside = []string{"boot"}

// keys returns the keys that the step names.
func (e Effect) keys() []string {
	keys := make([]string, 0, len(e.Changes))
	for _, c := range e.Changes {
		keys = append(keys, keyOf(c))
	}
	for _, call := range e.Calls {
		if !call.Op.WritesConfig() {
			continue
		}
		keys = append(keys, call.Delete...)
		for key := range call.Params {
			keys = append(keys, key)
		}
	}
	return keys
}
