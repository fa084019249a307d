package manifest

import (
	"fmt"
	"strings"

	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/manifest/tree"
)

// memberAddress is an address of an interface, as a row of a GuestSet contains it. The field that it stands for checks its text.
type memberAddress struct {
	slot string
	text string
	at   place
}

// path returns the field that the address stands for.
func (a memberAddress) path(kind guest.Kind) []string {
	family := "4"
	if strings.Contains(a.text, ":") {
		family = "6"
	}
	if kind == guest.Container {
		return []string{"networks", a.slot, "ip" + family}
	}
	return []string{"cloudInit", "ip", a.slot, "v" + family}
}

// node returns a spec that sets nothing but the address.
func (a memberAddress) node(path []string) *tree.Node {
	n := &tree.Node{Kind: tree.Scalar, At: a.at.at, Key: a.at.at, Tag: "!!str", Text: a.text}
	for i := len(path) - 1; i >= 0; i-- {
		n = &tree.Node{Kind: tree.Mapping, At: a.at.at, Key: a.at.at, Entries: []tree.Entry{{Name: path[i], Value: n}}}
	}
	return n
}

// addressesValue is a mapping of slots to one address, or to a list of two.
type addressesValue struct {
	into  *opt[[]memberAddress]
	slots families
	rule  *textRule
}

func (v addressesValue) decode(d decoder, n *tree.Node) {
	if n.Kind != tree.Mapping {
		d.problem(n.At, "got "+n.Describe()+", want a mapping of slots to addresses", "")
		return
	}
	*v.into = opt[[]memberAddress]{place: place{n.Key, d.path}, set: true}
	for _, e := range n.Entries {
		below := d.below(segment(e.Name))
		var list textList
		switch {
		case !v.slots.has(e.Name):
			below.problem(e.Value.Key, "unknown slot", v.slots.slotHint(e.Name))
		case e.Value.IsNull():
		case len(e.Value.Items) > 2:
			below.problem(e.Value.At, fmt.Sprintf("got %d addresses, want at most one of IPv4 and one of IPv6", len(e.Value.Items)), "")
		default:
			listValue{into: &list, rule: v.rule}.decode(below, e.Value)
		}
		for _, item := range list.value {
			v.into.value = append(v.into.value, memberAddress{e.Name, item.value, item.place})
		}
	}
}

func (v addressesValue) lower(*lowering, string) {}

func (v addressesValue) schema() *schema {
	address := &schema{Type: nullable("string", "array"), Items: &schema{Type: []string{"string"}, Pattern: v.rule.pattern()}, Pattern: v.rule.pattern()}
	return &schema{Type: nullable("object"), AdditionalProperties: new(bool), PatternProperties: map[string]*schema{v.slots.pattern(): address}}
}

func (v addressesValue) walk(path string, visit func(path string, row field)) {
	visit(path+".*", field{})
}
