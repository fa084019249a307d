package placement

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/image"
	"gitops-agent/reconcile/kind"
)

// Input is what nodes are chosen from. Guests whose node was chosen before have it in Node.
type Input struct {
	Inventory cluster.Inventory
	Guests    []guest.Desired // all that manifests want
	Images    []image.Desired
	Objects   []kind.Desired                             // the rules of affinity among them count
	Rules     cluster.Objects                            // the live rules of affinity; those that were not read do not count
	New       func(d *guest.Desired) bool                // reports that a guest certainly does not exist
	Stays     func(d *guest.Desired, node string) string // why a clone could not get from the node of its template to a node, "" if it could; nil if that is not known
}

// Choice is the node of a new guest.
type Choice struct {
	Guest  guest.Ref
	Node   string
	Reason string // for people: "most free memory of 3 nodes, 12.0 GiB of 64.0 GiB are taken"
}

// Choose returns the nodes of the guests that need one, and why the others wait, by label. Each choice counts for those that follow: guests are placed in
// the order of their waves, then of their labels. Of the nodes where a guest fits, the one is chosen that rules of affinity prefer, then the one with the fewest
// guests which it should avoid, then the one that its manifest prefers, then the first by name.
func Choose(in Input) (choices []Choice, waiting map[string]string) {
	var open []*guest.Desired
	for i := range in.Guests {
		d := &in.Guests[i]
		if d.Placement != nil && d.Node == "" && d.Invalid == nil && in.New(d) {
			open = append(open, d)
		}
	}
	if len(open) == 0 {
		return nil, nil
	}
	slices.SortFunc(open, func(a, b *guest.Desired) int {
		return cmp.Or(cmp.Compare(a.Wave, b.Wave), cmp.Compare(a.Label(), b.Label()))
	})
	nodes, waiting := loads(in), map[string]string{}
	byLabel := make(map[string]*guest.Desired, len(in.Guests))
	for i := range in.Guests {
		byLabel[in.Guests[i].Label()] = &in.Guests[i]
	}
	rules := in.rules()
	for _, d := range open {
		template := in.template(d)
		n := needOf(d, template)
		node, reason := in.choose(d, n, template, nodes, byLabel, rules.of(d))
		if node == "" {
			waiting[d.Label()] = reason
			continue
		}
		choices = append(choices, Choice{d.Ref, node, reason})
		nodes[node].take(d, n)
		takeStorages(nodes, node, n)
	}
	return choices, waiting
}

// candidate is a node where a guest fits.
type candidate struct {
	name    string
	rank    int     // what rules of affinity say: more is better
	avoided int     // guests there that the guest should avoid
	taken   float64 // what is preferred is less of it
}

// choose returns the node for one guest and the reason, or "" and why no node fits.
func (in Input) choose(d *guest.Desired, n need, template cluster.Row, nodes map[string]*load, byLabel map[string]*guest.Desired, rules rules) (node, reason string) {
	var fit []candidate
	var unfit []string
	images := imageNodes(d, in.Images)
	for _, name := range slices.Sorted(maps.Keys(nodes)) {
		if !d.Placement.Allows(name) {
			continue
		}
		if why := cmp.Or(in.unfit(d, n, template, nodes[name], images), rules.unfit(d, name, nodes)); why != "" {
			unfit = append(unfit, name+" "+why)
			continue
		}
		fit = append(fit, candidate{name, rules.rank(name), avoided(d, nodes[name], byLabel), nodes[name].taken(d.Placement.Prefer)})
	}
	for _, name := range d.Placement.Nodes {
		if nodes[name] == nil {
			unfit = append(unfit, name+" is not a node of the cluster")
		}
	}
	if len(fit) == 0 {
		if len(unfit) == 0 {
			return "", "the capacity of the nodes is not known yet"
		}
		return "", "it fits on no node: " + strings.Join(unfit, "; ")
	}
	best := slices.MinFunc(fit, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(b.rank, a.rank), cmp.Compare(a.avoided, b.avoided), cmp.Compare(a.taken, b.taken), cmp.Compare(a.name, b.name))
	})
	return best.name, nodes[best.name].reason(d.Placement, best.avoided, len(fit)) + rules.reason()
}

// unfit returns why a guest does not fit on a node, "" if it fits.
func (in Input) unfit(d *guest.Desired, n need, template cluster.Row, l *load, images []string) string {
	switch free := l.MaxMem - l.memory(); {
	case slices.Contains(in.Inventory.Offline, l.Node):
		return "is offline"
	case slices.Contains(in.Inventory.Maintenance, l.Node):
		return "is in maintenance"
	case l.MaxMem == 0:
		return "does not show its capacity: the token needs Sys.Audit on /nodes/" + l.Node
	case len(images) > 0 && !slices.Contains(images, l.Node):
		return "does not keep Image/" + d.Source.Object()
	case d.Source.Clone != nil && !d.Source.Clone.Full && template.Node != "" && template.Node != l.Node:
		return "does not have the template of the linked clone, which is on " + template.Node
	case l.CPUs > 0 && n.vcpus > l.CPUs:
		return fmt.Sprintf("has %g processors, and %g are needed", l.CPUs, n.vcpus)
	case n.memory > free:
		return fmt.Sprintf("has %s of memory left, and %s are needed", cluster.InGiB(max(free, 0)), cluster.InGiB(n.memory))
	}
	for _, storage := range slices.Sorted(maps.Keys(n.storages)) {
		s, has := l.storages[storage]
		switch left := s.Size - s.Used; {
		case !has:
			return "does not have the storage " + storage + ", or the token may not see it"
		case !s.Available:
			return "cannot use the storage " + storage + " now"
		case n.storages[storage] > left:
			return fmt.Sprintf("has %s left in %s, and %s are needed", cluster.InGiB(max(left, 0)), storage, cluster.InGiB(n.storages[storage]))
		}
	}
	if in.Stays == nil {
		return ""
	}
	if why := in.Stays(d, l.Node); why != "" {
		return "is out of reach: " + why
	}
	return ""
}

// avoided counts the guests on a node that have a label in common with a guest, among the labels that the guest keeps apart.
func avoided(d *guest.Desired, l *load, byLabel map[string]*guest.Desired) int {
	count := 0
	for name := range l.guests {
		other := byLabel[name]
		if other == nil || name == d.Label() {
			continue
		}
		if slices.ContainsFunc(d.Placement.AntiAffinity, func(label string) bool {
			value, has := d.Labels[label]
			theirs, have := other.Labels[label]
			return has && have && value == theirs
		}) {
			count++
		}
	}
	return count
}

// taken returns of what a node should have little: the part of its memory or of its processors that is taken, or its number of guests.
func (l *load) taken(prefer guest.Preference) float64 {
	switch prefer {
	case guest.LeastCPU:
		return l.cpus / max(l.CPUs, 1)
	case guest.Spread:
		return float64(len(l.guests))
	case guest.LeastMemory:
	}
	return float64(l.memory()) / float64(l.MaxMem)
}

// reason says why a node was chosen, before the guest counts there.
func (l *load) reason(p *guest.Placement, avoided, fit int) string {
	text := fmt.Sprintf("least memory of %d that fit: %s of %s are taken", fit, cluster.InGiB(l.memory()), cluster.InGiB(l.MaxMem))
	switch p.Prefer {
	case guest.LeastCPU:
		text = fmt.Sprintf("least processors of %d that fit: %g of %g are taken", fit, l.cpus, l.CPUs)
	case guest.Spread:
		text = fmt.Sprintf("fewest guests of %d that fit: %d", fit, len(l.guests))
	case guest.LeastMemory:
	}
	if len(p.AntiAffinity) > 0 {
		text += fmt.Sprintf("; guests there with the same %s: %d", strings.Join(p.AntiAffinity, " or "), avoided)
	}
	return text
}
