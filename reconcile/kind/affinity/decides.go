package affinity

import (
	"slices"
	"strings"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/kind"
)

// The HA manager keeps a guest where its rules want it: it moves the guest back within a round. Two managers that want a guest on different nodes would
// move it for ever. So a rule decides, and the field placement of a manifest does not.

// LiveRules returns the enabled rules that Proxmox has, by id. Their guests have Proxmox's names. A rule that a manifest describes has its label.
func LiveRules(objects []kind.Desired, live map[string]cluster.Object) []Rule {
	list := Rules(nil, live)
	for i := range list {
		for _, d := range objects {
			if d.Kind == Name && d.ID == list[i].ID {
				list[i].Label = d.Label()
			}
		}
	}
	return list
}

// Decides reports whether a live rule decides if the HA manager runs a guest on a node: a rule about nodes does, and so does a rule about guests, together with the others
// of them. NodeOf returns where a guest of the rule is, and "" for a guest that the HA manager does not move: with such a guest the rule means nothing.
//
// Source: pve-ha-manager 5.2.0, PVE/HA/Manager.pm, select_service_node.
func (r Rule) Decides(name, node string, nodeOf func(name string) string) bool {
	if !slices.Contains(r.Guests, name) {
		return false
	}
	if r.Nodes != nil {
		return true
	}
	return slices.ContainsFunc(r.Guests, func(other string) bool {
		at := nodeOf(other)
		return other != name && at != "" && (!r.Apart || at == node)
	})
}

// Conflict is a contradiction between the placement of a guest and a rule, both of manifests: no node satisfies both.
type Conflict struct {
	Guest  string       // label of the guest, "VirtualMachine/web-1"
	Rule   string       // label of the rule
	Origin guest.Origin // of what the rule says
	Says   string       // what that is, "lets the HA manager run it on pve2"
}

// Conflicts returns the contradictions between manifests, by guest and then by rule. A guest that the HA manager does not manage has none, and neither has a disabled
// rule.
func Conflicts(objects []kind.Desired, guests []guest.Desired) []Conflict {
	var rules []wantedRule
	for _, d := range objects {
		if off, _ := d.Text(keyDisable); d.Kind == Name && off == "" {
			rules = append(rules, newWantedRule(d, guests))
		}
	}
	var list []Conflict
	for i := range guests {
		d := &guests[i]
		for _, r := range rules {
			if !slices.Contains(r.guests, d) {
				continue
			}
			if says := r.against(d); says != "" {
				list = append(list, Conflict{Guest: d.Label(), Rule: r.Label, Origin: r.origin, Says: says})
			}
		}
	}
	return list
}

// wantedRule is an enabled rule of a manifest, with the guests that the HA manager manages as their manifests say.
type wantedRule struct {
	Rule

	origin guest.Origin
	guests []*guest.Desired
}

func newWantedRule(d kind.Desired, guests []guest.Desired) wantedRule {
	r := wantedRule{Rule: newRule(d.ID, d.Label(), func(key string) string { t, _ := d.Text(key); return t }), origin: d.Origin}
	for _, in := range d.Keys {
		if in.Key == keyNodes || in.Key == keyAffinity {
			r.origin = in.Origin
		}
	}
	for i := range guests {
		g := &guests[i]
		named := slices.ContainsFunc(d.Guests, func(named kind.GuestLabel) bool { return named.Label == g.Label() })
		if g.HA.Manages() && (named || g.VMID != 0 && slices.Contains(r.Guests, g.HAName())) {
			r.guests = append(r.guests, g)
		}
	}
	return r
}

// against returns what the rule says against the placement of one of its guests, "" if some node satisfies both.
func (r wantedRule) against(d *guest.Desired) string {
	if r.Nodes != nil {
		best := r.bestNodes()
		if slices.ContainsFunc(best, func(node string) bool { return !guest.LeavesNode(*d, node) }) {
			return ""
		}
		return "lets the HA manager run it on " + strings.Join(best, " or ")
	}
	for _, other := range r.guests {
		if other == d {
			continue
		}
		switch mine, theirs := placedOn(d), placedOn(other); {
		case len(mine) == 0 || len(theirs) == 0:
		case r.Apart && len(mine) == 1 && slices.Equal(mine, theirs):
			return "keeps it apart from " + other.Label() + ", which is placed on " + theirs[0] + " as well"
		case !r.Apart && !slices.ContainsFunc(mine, func(node string) bool { return slices.Contains(theirs, node) }):
			return "keeps it together with " + other.Label() + ", which is placed on " + strings.Join(theirs, " or ")
		}
	}
	return ""
}

// bestNodes returns the nodes with the highest priority of a rule about nodes, sorted.
func (r Rule) bestNodes() []string {
	var best []string
	for node, priority := range r.Nodes {
		switch {
		case len(best) == 0 || priority > r.Nodes[best[0]]:
			best = []string{node}
		case priority == r.Nodes[best[0]]:
			best = append(best, node)
		}
	}
	slices.Sort(best)
	return best
}

// placedOn returns the nodes on which a manifest leaves its guest, sorted. It is empty if the agent does not move the guest.
func placedOn(d *guest.Desired) []string {
	nodes := slices.Clone(d.Nodes)
	if d.Node != "" {
		nodes = append(nodes, d.Node)
	}
	slices.Sort(nodes)
	nodes = slices.Compact(nodes)
	if !guest.LeavesNode(*d, elsewhere) {
		return nil
	}
	return nodes
}

// elsewhere is no name of a node.
const elsewhere = "?"
