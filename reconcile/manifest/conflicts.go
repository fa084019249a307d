package manifest

import (
	"strings"

	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/manifest/tree"
)

// checkSelected reports fields that two selecting classes of the same order set to different values, unless a later layer sets the field. The
// result would depend on the names of the classes.
func (c classes) checkSelected(d decoder, selected []string, kind guest.Kind, merged *tree.Node) {
	for i, one := range selected {
		for _, other := range selected[i+1:] {
			if c.order(one) == c.order(other) {
				v := classConflict{d, one, other}
				v.compare("", merged, c.inherited(one, kind), c.inherited(other, kind))
			}
		}
	}
}

// classConflict compares two classes that select the same guest.
type classConflict struct {
	decoder
	one, other string
}

// compare finds the fields that both classes set to different values, if the merged guest has one of these values.
func (v classConflict) compare(path string, merged, one, other *tree.Node) {
	if merged == nil || one == nil || other == nil {
		return
	}
	if one.Kind == tree.Mapping && other.Kind == tree.Mapping && !removes(one) && !removes(other) {
		for _, e := range one.Entries {
			v.compare(strings.TrimPrefix(path+"."+segment(e.Name), "."), merged.Get(e.Name), e.Value, other.Get(e.Name))
		}
		return
	}
	if holds := merged.At == one.At || merged.At == other.At; holds && !one.Equal(other) {
		v.path = path
		v.problem(other.At, "got "+other.Describe()+" from class "+v.other+", and "+one.Describe()+" from class "+v.one+" ("+one.At.String()+
			"), both of which select this guest", "give one of them a higher select.order, or set the field in the guest")
	}
}
