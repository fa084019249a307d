package placement

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/kind/affinity"
)

// The HA manager moves a guest that a rule of affinity wants on another node, as soon as it manages the guest. So a guest is created where the rules let it
// stay: those of the manifests, which Proxmox gets only after the guest, and those that Proxmox has.

// rules are enabled rules of affinity. Their guests are named as those of a load are.
type rules []affinity.Rule

func (in Input) rules() rules {
	list := affinity.Rules(in.Objects, in.Rules.ByID)
	if len(list) == 0 {
		return nil
	}
	byVMID := make(map[string]string, len(in.Guests))
	for i := range in.Guests {
		byVMID[strconv.Itoa(in.Guests[i].VMID)] = in.Guests[i].Label()
	}
	for _, r := range list {
		for i, name := range r.Guests {
			_, vmid, isVMID := strings.Cut(name, ":")
			switch label := byVMID[vmid]; {
			case isVMID && label != "":
				r.Guests[i] = label
			case isVMID:
				r.Guests[i] = vmid
			}
		}
	}
	return list
}

// of returns the rules about a guest.
func (list rules) of(d *guest.Desired) rules {
	var own rules
	for _, r := range list {
		if slices.Contains(r.Guests, d.Label()) {
			own = append(own, r)
		}
	}
	return own
}

// unfit returns which rule keeps a guest from a node, "" if none does.
func (list rules) unfit(d *guest.Desired, node string, nodes map[string]*load) string {
	for _, r := range list {
		_, isNamed := r.Nodes[node]
		here := othersOn(nodes[node], r, d)
		switch {
		case r.Nodes != nil:
			if r.Strict && !isNamed {
				return "is no node of " + r.Label
			}
		case r.Apart && here != "":
			return "has " + here + ", from which " + r.Label + " keeps it apart"
		case !r.Apart && here == "":
			for _, name := range slices.Sorted(maps.Keys(nodes)) {
				if other := othersOn(nodes[name], r, d); other != "" {
					return "does not have " + other + ", with which " + r.Label + " keeps it together"
				}
			}
		}
	}
	return ""
}

// othersOn returns the first of the other guests of a rule that is on a node, "" if none is.
func othersOn(l *load, r affinity.Rule, d *guest.Desired) string {
	for _, name := range r.Guests {
		if name != d.Label() && l.guests[name] {
			return name
		}
	}
	return ""
}

// rank returns how much the rules about nodes prefer a node: their priorities, and one more for each rule that names it.
func (list rules) rank(node string) int {
	rank := 0
	for _, r := range list {
		if priority, isNamed := r.Nodes[node]; isNamed {
			rank += priority + 1
		}
	}
	return rank
}

// reason names the rules in the reason of a choice.
func (list rules) reason() string {
	if len(list) == 0 {
		return ""
	}
	var labels []string
	for _, r := range list {
		labels = append(labels, r.Label)
	}
	return "; with " + strings.Join(labels, ", ")
}
