package firewall

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"gitops-agent/reconcile/guest"
)

// addresses are the addresses that a source or a destination of a rule names.
type addresses struct {
	all     bool
	match   []span
	noMatch []span   // of a set: a larger network of the set has them, and the set has not
	unknown []string // names whose addresses are not known, and what cannot be read: each means the same wherever it is written
	but     []string // of a set: the same for what it excludes
}

// span is an address, a network or a range.
type span struct{ first, last netip.Addr }

func (s span) contains(o span) bool {
	return s.first.BitLen() == o.first.BitLen() && s.first.Compare(o.first) <= 0 && o.last.Compare(s.last) <= 0
}

// contains reports whether all addresses of o certainly belong to a. What a excludes has to be excluded by o. In a set the smallest network decides about an
// address, so a network of o that an exclusion of a contains has to be in a itself.
func (a addresses) contains(o addresses) bool {
	switch {
	case a.all:
		return true
	case o.all:
		return false
	}
	if !hasAll(o.noMatch, a.noMatch) || !hasAll(o.but, a.but) || !hasAll(a.unknown, o.unknown) {
		return false
	}
	for _, s := range o.match {
		isExcluded := len(a.but) > 0 || slices.ContainsFunc(a.noMatch, func(n span) bool { return n.contains(s) })
		if !slices.ContainsFunc(a.match, func(w span) bool { return w == s || !isExcluded && w.contains(s) }) {
			return false
		}
	}
	return true
}

// hasAll reports whether a list has all elements of another one.
func hasAll[T comparable](list, elements []T) bool {
	return !slices.ContainsFunc(elements, func(e T) bool { return !slices.Contains(list, e) })
}

// spanOf reads an address or a network.
func spanOf(text string) (span, bool) {
	if p, err := netip.ParsePrefix(text); err == nil {
		return prefixSpan(p.Masked()), true
	}
	a, err := netip.ParseAddr(text)
	return span{a, a}, err == nil
}

// prefixSpan returns the first and the last address of a network.
func prefixSpan(p netip.Prefix) span {
	last := p.Addr().AsSlice()
	for bit := p.Bits(); bit < len(last)*8; bit++ {
		last[bit/8] |= 1 << (7 - bit%8)
	}
	end, _ := netip.AddrFromSlice(last)
	return span{p.Addr(), end}
}

// literal reads addresses that name nothing: a list, or a range.
func literal(text string) (addresses, bool) {
	if first, last, isRange := strings.Cut(text, "-"); isRange {
		a, errA := netip.ParseAddr(first)
		b, errB := netip.ParseAddr(last)
		return addresses{match: []span{{a, b}}}, errA == nil && errB == nil && a.BitLen() == b.BitLen()
	}
	var found addresses
	for part := range strings.SplitSeq(text, ",") {
		s, ok := spanOf(part)
		if !ok {
			return addresses{}, false
		}
		found.match = append(found.match, s)
	}
	return found, true
}

// Names are the objects of the cluster that rules of guests name, as far as they are known. An object that is missing in a map is unknown and does not change; a nil
// entry does not exist.
type Names struct {
	Aliases map[string]*guest.FirewallAlias // by name in lower case
	Sets    map[string]*guest.FirewallSet
	Groups  map[string][]guest.FirewallRule // rules of security groups

	// When something changes that sets or groups may name, those that are not known may change with it. These texts then differ before and after.
	UnknownSets, UnknownGroups string
}

// With returns the names with some of them replaced by others.
func (n Names) With(others Names) Names {
	n.Aliases, n.Sets, n.Groups = replaced(n.Aliases, others.Aliases), replaced(n.Sets, others.Sets), replaced(n.Groups, others.Groups)
	return n
}

func replaced[T any](list, by map[string]T) map[string]T {
	merged := make(map[string]T, len(list)+len(by))
	maps.Copy(merged, list)
	maps.Copy(merged, by)
	return merged
}

// scope is what the names in rules of one guest mean.
type scope struct {
	own     *guest.FirewallWanted
	cluster Names
}

// named returns the addresses that a text in a rule means. There are two if it is not certain whether an object of the guest or of the cluster is meant: Proxmox looks
// up a name in both, with any prefix.
func (s scope) named(text string) []addresses {
	if text == "" {
		return []addresses{{all: true}}
	}
	if found, ok := literal(text); ok {
		return []addresses{found}
	}
	bare := bareName(text)
	name, isCertain := strings.ToLower(bare), !strings.HasPrefix(strings.TrimPrefix(text, "+"), "dc/")
	own, ofCluster := s.alias, s.clusterAlias
	if strings.HasPrefix(text, "+") {
		own, ofCluster, isCertain = s.set, s.clusterSet, isCertain && name == bare
	}
	found, isOwn := own(name)
	switch {
	case !isOwn:
		return []addresses{ofCluster(name)}
	case !isCertain:
		return []addresses{found, ofCluster(name)}
	}
	return []addresses{found}
}

func (s scope) alias(name string) (addresses, bool) {
	a, found := findAlias(s.own.Aliases, name)
	return ofAlias(a), found
}

func (s scope) clusterAlias(name string) addresses {
	switch a, known := s.cluster.Aliases[name]; {
	case !known:
		return addresses{unknown: []string{"dc/" + name}}
	case a == nil:
		return addresses{unknown: []string{"no dc/" + name}}
	default:
		return ofAlias(*a)
	}
}

func ofAlias(a guest.FirewallAlias) addresses {
	if s, ok := spanOf(a.CIDR); ok {
		return addresses{match: []span{s}}
	}
	return addresses{unknown: []string{"alias of " + a.CIDR}}
}

func (s scope) set(name string) (addresses, bool) {
	set, found := findSet(s.own.Sets, name)
	return s.ofSet(set), found
}

func (s scope) clusterSet(name string) addresses {
	switch set, known := s.cluster.Sets[name]; {
	case !known:
		return addresses{unknown: []string{"+dc/" + name + s.cluster.UnknownSets}}
	case set == nil:
		return addresses{unknown: []string{"no +dc/" + name}}
	default:
		return scope{own: &guest.FirewallWanted{}, cluster: s.cluster}.ofSet(*set)
	}
}

// ofSet returns the addresses of a set. Which of two contradictory entries counts is not certain.
func (s scope) ofSet(set guest.FirewallSet) addresses {
	var found addresses
	for _, e := range set.Entries {
		meant := s.named(e.CIDR)
		a := meant[0]
		if len(meant) > 1 {
			a = addresses{unknown: []string{fmt.Sprint(meant)}}
		}
		if e.NoMatch {
			found.noMatch, found.but = append(found.noMatch, a.match...), append(found.but, a.unknown...)
		} else {
			found.match, found.unknown = append(found.match, a.match...), append(found.unknown, a.unknown...)
		}
	}
	if slices.ContainsFunc(found.match, func(m span) bool { return slices.Contains(found.noMatch, m) }) {
		return addresses{unknown: []string{fmt.Sprint(found)}}
	}
	return found
}
