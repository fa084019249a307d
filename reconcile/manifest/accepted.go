package manifest

import (
	"slices"
	"strings"

	"gitops-agent/reconcile/guest"
)

// ParseAccepted reads the files of a revision that was accepted before, perhaps by an older release. What earlier releases accepted is read as they did,
// with a warning at its place, in documents of every kind: see Problem.New. Any other value of a guest that this release refuses does not make the
// revision unreadable either: each guest that has it is in the Set with the problem in guest.Desired.Invalid, and all other guests are as Parse returns
// them. All other problems are errors as in Parse.
func ParseAccepted(files []File) (Set, error) {
	p := newAcceptedParser()
	p.parse(files)
	if p.report.count > 0 && !p.report.concernsOnlyGuests() {
		return p.set, p.report.err()
	}
	p.set.Warnings = p.warnings()
	for i := range p.set.Guests {
		g := &p.set.Guests[i]
		if first, invalid := p.report.firsts[g.Label()]; invalid {
			g.desired = p.partial[g.Label()]
			g.desired.Invalid = &guest.Invalid{Origin: first.Origin, Field: first.Field, Message: first.Message, Hint: first.Hint}
		}
	}
	return p.set, nil
}

// ParseEarlier reads the files of a tree with which the next one is compared, and which does not come into force itself. What earlier releases accepted is
// read as they did. All other problems are errors as in Parse.
func ParseEarlier(files []File) (Set, error) {
	p := newAcceptedParser()
	p.parse(files)
	return p.set, p.report.err()
}

// newAcceptedParser returns a parser that reads what earlier releases accepted as they did.
func newAcceptedParser() *parser {
	p := newParser()
	p.report.ofAccepted, p.set.accepted = true, true
	return p
}

// concernsOnlyGuests reports whether every problem is one of the values of a guest, whose vmid and name are known nevertheless.
func (r *report) concernsOnlyGuests() bool {
	for _, p := range r.list {
		if !isOfGuest(p) && !isInherited(p) { // a guest that inherits a problem has it too
			return false
		}
	}
	return !r.unidentified
}

// isOfGuest reports whether a problem is in the document of a guest.
func isOfGuest(p Problem) bool {
	kind, _, _ := strings.Cut(p.Guest, "/")
	return guest.Kind(kind).IsGuest()
}

// identifies reports whether a field says which guest a manifest means, or what it inherits.
func identifies(field string) bool {
	first, _, _ := strings.Cut(field, ".")
	first, _, _ = strings.Cut(first, "[")
	return slices.Contains([]string{"", "vmid", "adopt", "class", "metadata", "labels"}, first)
}

// isInherited reports whether a problem is in a value of a class, of a set, or of the Cluster's defaults, that guests inherit.
func isInherited(p Problem) bool {
	kind, _, _ := strings.Cut(p.Guest, "/")
	field := p.Field
	if kind == kindCluster {
		field = strings.TrimPrefix(field, "defaults.")
	}
	if kind != kindClass && kind != kindSet && kind != kindCluster || kind == kindCluster && field == p.Field {
		return false
	}
	of, inner, _ := strings.Cut(field, ".")
	return (of == "virtualMachine" || of == "container") && inner != "" && !identifies(inner)
}
