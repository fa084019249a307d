package manifest

import (
	"slices"
	"strings"

	"gitops-agent/reconcile/guest"
)

// checkSelected reports the fields of a guest that two classes of the same order give differently, and nothing after them decides:
// which one holds would hang on the names of the classes.
func (c classes) checkSelected(d decoder, selected []string, kind guest.Kind, merged *node) {
	for i, one := range selected {
		for _, other := range selected[i+1:] {
			if c.order(one) == c.order(other) {
				v := rivals{d, one, other}
				v.compare("", merged, c.give(one, kind), c.give(other, kind))
			}
		}
	}
}

// rivals are two classes that select the same guest.
type rivals struct {
	decoder
	one, other string
}

// compare finds the fields that both set, to different values, and that still hold in the merged guest.
func (v rivals) compare(path string, merged, one, other *node) {
	if merged == nil || one == nil || other == nil {
		return
	}
	if one.kind == mapNode && other.kind == mapNode && !removes(one) && !removes(other) {
		for _, e := range one.entries {
			v.compare(strings.TrimPrefix(path+"."+segment(e.name), "."), merged.get(e.name), e.value, other.get(e.name))
		}
		return
	}
	if holds := merged.at == one.at || merged.at == other.at; holds && !one.equal(other) {
		v.path = path
		v.problem(other.at, "got "+other.describe()+" from class "+v.other+", and "+one.describe()+" from class "+v.one+" ("+one.at.String()+
			"), both of which select this guest", "give one of them a higher select.order, or set the field in the guest")
	}
}

// equal compares what two values say, wherever they stand. The order of a mapping means nothing.
func (n *node) equal(other *node) bool {
	if n.kind != other.kind || n.tag != other.tag || n.text != other.text || len(n.entries) != len(other.entries) {
		return false
	}
	for _, e := range n.entries {
		if there := other.get(e.name); there == nil || !e.value.equal(there) {
			return false
		}
	}
	return slices.EqualFunc(n.items, other.items, (*node).equal)
}
