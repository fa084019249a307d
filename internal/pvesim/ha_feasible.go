package pvesim

import (
	"slices"
	"strings"
)

// haFinder finds contradictions between the enabled rules of the HA manager.
type haFinder struct {
	nodeRules, positive, negative []*haRule // by name
	problems                      map[string][]string
}

// haProblems returns why rules contradict themselves or each other, by name, in the order of Proxmox's checks. Nodes is the number of the cluster's nodes.
//
// Source: PVE::HA::Rules check_feasibility, with the checks of NodeAffinity and ResourceAffinity before those between both.
func haProblems(rules []*haRule, nodes int) map[string][]string {
	f := haFinder{problems: map[string][]string{}}
	for _, r := range slices.SortedFunc(slices.Values(rules), func(a, b *haRule) int { return strings.Compare(a.name, b.name) }) {
		switch {
		case r.values["disable"] == "1":
		case r.values["type"] == nodeAffinity:
			f.nodeRules = append(f.nodeRules, r)
		case r.values["affinity"] == "negative":
			f.negative = append(f.negative, r)
		default:
			f.positive = append(f.positive, r)
		}
	}
	f.oneNodeRuleEach()
	for _, r := range slices.Concat(f.positive, f.negative) {
		if len(r.resources()) < 2 {
			f.add(r, "rule is ineffective as there are less than two resources")
		}
	}
	for _, r := range f.negative {
		if len(r.resources()) > nodes {
			f.add(r, "rule defines more resources than available nodes")
		}
	}
	groups := f.positiveGroups()
	f.togetherAndApart(groups)
	f.severalPriorities()
	f.severalNodeRules(groups)
	f.tooFewNodes()
	return f.problems
}

func (f *haFinder) add(r *haRule, problem string) {
	f.problems[r.name] = append(f.problems[r.name], problem)
}

func (r *haRule) resources() []string { return listOf(r.values["resources"]) }

// shared returns how many resources of the rule are among others.
func (r *haRule) shared(others []string) int {
	n := 0
	for _, id := range r.resources() {
		if slices.Contains(others, id) {
			n++
		}
	}
	return n
}

func (f *haFinder) oneNodeRuleEach() {
	uses := map[string]int{}
	for _, r := range f.nodeRules {
		for _, id := range r.resources() {
			uses[id]++
		}
	}
	for _, r := range f.nodeRules {
		for _, id := range slices.Sorted(slices.Values(r.resources())) {
			if uses[id] > 1 {
				f.add(r, "resource '"+id+"' is already used in another node affinity rule")
			}
		}
	}
}

// togetherRules are rules that keep resources together and share some of them.
type togetherRules struct {
	rules     []*haRule
	resources []string
}

// positiveGroups joins a rule to the first group with which it shares a resource.
//
// Source: PVE::HA::Rules::Helpers find_disjoint_rules_resource_sets.
func (f *haFinder) positiveGroups() []*togetherRules {
	var groups []*togetherRules
	byLowest := slices.SortedStableFunc(slices.Values(f.positive), func(a, b *haRule) int {
		return strings.Compare(slices.Min(append(a.resources(), "~")), slices.Min(append(b.resources(), "~")))
	})
	for _, r := range byLowest {
		i := slices.IndexFunc(groups, func(g *togetherRules) bool { return r.shared(g.resources) > 0 })
		if i < 0 {
			groups, i = append(groups, &togetherRules{}), len(groups)
		}
		groups[i].rules, groups[i].resources = append(groups[i].rules, r), append(groups[i].resources, r.resources()...)
	}
	return groups
}

func (f *haFinder) togetherAndApart(groups []*togetherRules) {
	for _, r := range f.negative {
		for _, g := range groups {
			if r.shared(g.resources) < 2 {
				continue
			}
			f.add(r, "rule shares two or more resources with a positive resource affinity rule")
			for _, together := range g.rules {
				f.add(together, "rule shares two or more resources with a negative resource affinity rule")
			}
		}
	}
}

// nodeRulesOf returns the node affinity rules with one of the resources.
func (f *haFinder) nodeRulesOf(resources []string) []*haRule {
	return slices.DeleteFunc(slices.Clone(f.nodeRules), func(r *haRule) bool { return r.shared(resources) == 0 })
}

func (r *haRule) hasSeveralPriorities() bool {
	priorities := map[int]bool{}
	for _, n := range listOf(r.values["nodes"]) {
		_, priority, _ := strings.Cut(n, ":")
		priorities[atoi(priority)] = true
	}
	return len(priorities) > 1
}

func (f *haFinder) severalPriorities() {
	for _, r := range slices.Concat(f.positive, f.negative) {
		placed := f.nodeRulesOf(r.resources())
		if !slices.ContainsFunc(placed, (*haRule).hasSeveralPriorities) {
			continue
		}
		f.add(r, "resources are in node affinity rules with multiple priorities")
		for _, n := range placed {
			f.add(n, "resources are in a resource affinity rule and cannot be in a node affinity rule with multiple priorities")
		}
	}
}

func (f *haFinder) severalNodeRules(groups []*togetherRules) {
	for _, g := range groups {
		placed := f.nodeRulesOf(g.resources)
		if len(placed) < 2 {
			continue
		}
		for _, r := range placed {
			f.add(r, "at least one resource is in a positive resource affinity rule and there are other resources in at least one other node affinity rule already")
		}
		for _, r := range g.rules {
			f.add(r, "resources are in multiple node affinity rules")
		}
	}
}

func (f *haFinder) tooFewNodes() {
	for _, r := range f.negative {
		placed := f.nodeRulesOf(r.resources())
		allowed, located := map[string]bool{}, map[string]bool{}
		for _, n := range placed {
			for _, node := range listOf(n.values["nodes"]) {
				name, _, _ := strings.Cut(node, ":")
				allowed[name] = true
			}
			for _, id := range n.resources() {
				if slices.Contains(r.resources(), id) {
					located[id] = true
				}
			}
		}
		if len(allowed) >= len(located) {
			continue
		}
		f.add(r, "two or more resources are restricted to less nodes than available to the resources")
		for _, n := range placed {
			f.add(n, "at least one resource is in a negative resource affinity rule and this rule would restrict these to less nodes than available to the resources")
		}
	}
}
