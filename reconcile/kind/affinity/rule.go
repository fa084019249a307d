package affinity

import (
	"slices"
	"strconv"
	"strings"

	"gitops-agent/reconcile/kind"
)

// Rule is what an enabled rule of a manifest means for the nodes of its guests.
type Rule struct {
	Label  string         // "AffinityRule/web-apart"
	Guests []string       // labels such as "VirtualMachine/web-1", and Proxmox's names such as "vm:201" of those that the manifest names so
	Nodes  map[string]int // of a rule about nodes: the priority of each; nil otherwise
	Strict bool           // of a rule about nodes: the guests run on no other one
	Apart  bool           // of a rule about guests: they run on different nodes; otherwise on the same one
}

// Rules returns the enabled rules among the objects of manifests.
func Rules(objects []kind.Desired) []Rule {
	var list []Rule
	for _, d := range objects {
		if d.Kind != Name {
			continue
		}
		text := func(key string) string { t, _ := d.Text(key); return t }
		if text(keyDisable) != "" {
			continue
		}
		r := Rule{Label: d.Label(), Guests: strings.FieldsFunc(text(keyResources), isSeparator)}
		for _, g := range d.Guests {
			r.Guests = append(r.Guests, g.Label)
		}
		slices.Sort(r.Guests)
		if text(keyType) == typeNode {
			r.Nodes, r.Strict = priorities(text(keyNodes)), text(keyStrict) != ""
		} else {
			r.Apart = text(keyAffinity) == wordApart
		}
		list = append(list, r)
	}
	return list
}

// priorities returns the priority of each node of a canonical text. A node without a number has 0.
func priorities(text string) map[string]int {
	nodes := map[string]int{}
	for _, item := range strings.FieldsFunc(text, isSeparator) {
		name, number, _ := strings.Cut(item, ":")
		nodes[name], _ = strconv.Atoi(number) // the manifest was checked, and no number is 0
	}
	return nodes
}
