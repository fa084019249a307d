package affinity

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/kind"
)

// Rule is what an enabled rule means for the nodes of its guests.
type Rule struct {
	ID     string         // in Proxmox
	Label  string         // "AffinityRule/web-apart", or "the rule web-apart" of one without a manifest
	Guests []string       // labels such as "VirtualMachine/web-1", and Proxmox's names such as "vm:201", sorted
	Nodes  map[string]int // of a rule about nodes: the priority of each; nil otherwise
	Strict bool           // of a rule about nodes: the guests run on no other one
	Apart  bool           // of a rule about guests: they run on different nodes; otherwise on the same one
}

// Rules returns the enabled rules among the objects of manifests, and those that only Proxmox has, by id.
func Rules(objects []kind.Desired, live map[string]cluster.Object) []Rule {
	var list []Rule
	wanted := map[string]bool{}
	for _, d := range objects {
		if d.Kind != Name {
			continue
		}
		wanted[d.ID] = true
		text := func(key string) string { t, _ := d.Text(key); return t }
		r := newRule(d.ID, d.Label(), text)
		for _, g := range d.Guests {
			r.Guests = append(r.Guests, g.Label)
		}
		slices.Sort(r.Guests)
		if text(keyDisable) == "" {
			list = append(list, r)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(live)) {
		keys := live[id].Keys
		if !wanted[id] && keys[keyDisable] == "" {
			list = append(list, newRule(id, "the "+nouns[keys[keyType]]+" "+id, func(key string) string { return keys[key] }))
		}
	}
	return list
}

// nouns name what an object of a native type is.
var nouns = map[string]string{typeNode: "rule", typeResource: "rule", typeGroup: "group"}

// newRule returns the rule with the given native keys. The guests that have labels are missing.
func newRule(id, label string, text func(key string) string) Rule {
	r := Rule{ID: id, Label: label, Guests: split(text(keyResources))}
	switch text(keyType) {
	case typeNode:
		r.Nodes, r.Strict = priorities(text(keyNodes)), text(keyStrict) != ""
	case typeGroup:
		r.Guests = split(text(keyMembers))
		r.Nodes, r.Strict = priorities(text(keyNodes)), text(keyRestricted) != ""
	default:
		r.Apart = text(keyAffinity) == wordApart
	}
	return r
}

// priorities returns the priority of each node of a canonical text. A node without a number has 0.
func priorities(text string) map[string]int {
	nodes := map[string]int{}
	for _, item := range split(text) {
		name, number, _ := strings.Cut(item, ":")
		nodes[name], _ = strconv.Atoi(number) // manifest and Proxmox were checked, and no number is 0
	}
	return nodes
}
