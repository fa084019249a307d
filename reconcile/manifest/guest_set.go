package manifest

import (
	"fmt"

	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/manifest/tree"
)

// Limits of the guests that sets describe. A few lines can describe many guests, so the size of the files does not bound their number.
const (
	maxMembers    = 1000   // of one GuestSet
	maxAllMembers = 20000  // of all GuestSets of a source
	maxRepeated   = 500000 // values that the members of one GuestSet share, each counted for every member
)

// setSpec is the spec of a GuestSet: guests that differ in a few fields. Each member becomes a document of its own, so all that follows treats it like a
// guest with a file.
type setSpec struct {
	members opt[[]*tree.Node]
	numbers opt[numberRange]
	each    opt[each]
	defaults
}

func (s *setSpec) fields() []field {
	return []field{
		{"members", "", "One row for each guest: its name, and any fields of its kind, which override those that the members share. At most 1000.", withExamples(rowsValue{&s.members}, `[{"name": "web-1", "vmid": 201, "node": "pve1", "addresses": {"net0": "10.0.20.11/24"}}]`)},
		{"range", "", "Numbers, for guests that differ only in a number. Replaces members.", withExamples(child(&s.numbers), `{"from": 1, "to": 12}`)},
		{"each", "", "What each number n of the range is put into, as ${n}, ${n+10} or ${n-1}, or ${n:02} with at least two digits. No other field contains numbers.", withExamples(child(&s.each), `{"name": "web-${n:02}", "vmid": "${n+200}", "addresses": {"net0": "10.0.20.${n+10}/24"}}`)},
		{"virtualMachine", "", "What the members share, if they are virtual machines: a spec as in VirtualMachine.", withExamples(subtree(&s.machine, string(guest.VirtualMachine)), `{"class": "web", "memory": {"size": "4Gi"}}`)},
		{"container", "", "What the members share, if they are containers: a spec as in Container.", withExamples(subtree(&s.container, string(guest.Container)), `{"class": "dns"}`)},
	}
}

// numberRange is the numbers of a set, from the first to the last.
type numberRange struct{ from, to opt[int] }

const maxNumber = 999999999

func (r *numberRange) fields() []field {
	return []field{
		{"from", "", "First number. Required.", integer(&r.from, 0, maxNumber)},
		{"to", "", "Last number; at most 1000 numbers. Required.", integer(&r.to, 0, maxNumber)},
	}
}

// each is the row of a number.
type each struct {
	name, vmid opt[string]
	addresses  opt[[]memberAddress]
}

func (e *each) fields() []field {
	return []field{
		{"name", "", "Name of the guest, such as web-${n:02}. Required.", text(&e.name, numbered)},
		{"vmid", "", "Vmid of the guest, such as ${n+200}. Default: the next free one of the Cluster's vmids.", text(&e.vmid, numbered)},
		{"addresses", "", "Addresses by slot, such as 10.0.20.${n+10}/24; two for IPv4 and IPv6.", addressesValue{&e.addresses, networkSlots, numbered}},
	}
}

// kind returns the kind of the members, or "" if the set does not state one kind.
func (s *setSpec) kind() guest.Kind {
	switch {
	case s.machine != nil && s.container == nil:
		return guest.VirtualMachine
	case s.container != nil && s.machine == nil:
		return guest.Container
	default:
		return ""
	}
}

// guestSet adds the members of a GuestSet to the guests.
func (p *parser) guestSet(doc *document) {
	var s setSpec
	d := newDecoder(p.report, doc.label(), &s)
	before := p.report.count
	if doc.spec != nil {
		decodeObject(d, doc.spec, &s)
	}
	if p.report.count > before && (s.kind() == "" || !s.members.set) {
		return // what is missing may be what was not understood
	}
	// A mistake in what members share is one of each member. The members stay: without them, ParseAccepted would take their guests for removed ones.
	checkInherited(d, &s.defaults, "set it in the row of each member", "vmid", "name", "hostname")
	s.checkUnnumbered(d)
	rows, ok := s.rows(d, doc)
	if !ok || !p.membersFit(d, &s, len(rows)) {
		return
	}
	m := newMember(s.kind())
	for i, row := range rows {
		below := d
		below.path = fmt.Sprintf("members[%d]", i)
		if s.each.set {
			below.path = s.each.path
		}
		if member := m.document(below, doc, s.of(s.kind()), row); member != nil && !p.isDuplicate(member) {
			member.from = documentKey{doc.from.node, i + 1}
			p.guests = append(p.guests, member)
			p.setOf[member.label()] = doc.meta.name.value
		}
	}
}

// rows returns the rows of the members. It reports a set that does not state them.
func (s *setSpec) rows(d decoder, doc *document) ([]*tree.Node, bool) {
	problem := func(path string, at tree.Position, message, hint string) ([]*tree.Node, bool) {
		d.path = path
		d.problem(at, message, hint)
		return nil, false
	}
	from, to := s.numbers.value.from, s.numbers.value.to
	switch {
	case s.machine != nil && s.container != nil:
		return problem("container", s.container.Key, "got members of both kinds, want one kind in a GuestSet", "make two sets")
	case s.kind() == "":
		return problem("", doc.at, "got no kind of members, want virtualMachine or container with what they share", "virtualMachine: {} shares nothing")
	case s.members.set && s.numbers.set:
		return problem(s.numbers.path, s.numbers.at, "got range beside members, want one of them", "")
	case s.members.set && s.each.set:
		return problem(s.each.path, s.each.at, "got each beside members, want each with range", "")
	case s.members.set:
		return s.members.value, true
	case !s.numbers.set:
		return problem("", doc.at, "got no members and no range, want one of them", "members: [] is a set without guests")
	case !s.each.set:
		return problem(s.numbers.path, s.numbers.at, "got a range without each, want the name of each guest", `add each: {name: "`+doc.meta.name.value+`-${n}"}`)
	case !from.set || !to.set || to.value < from.value || to.value-from.value >= maxMembers:
		return problem(s.numbers.path, s.numbers.at, fmt.Sprintf("got %d to %d, want a first and a last number, at most %d numbers", from.value, to.value, maxMembers), "")
	case !s.each.value.name.set:
		return problem(s.each.path, s.each.at, "got no name, want one with a number", `add name: "`+doc.meta.name.value+`-${n}"`)
	}
	d.path = s.each.path
	return numberedRows(d, doc.spec.Get("each"), from.value, to.value)
}

// checkUnnumbered reports numbers outside each.
func (s *setSpec) checkUnnumbered(d decoder) {
	if shared := s.of(s.kind()); shared != nil {
		checkUnnumbered(d.below(inheritedName[s.kind()]), shared)
	}
	if s.members.set {
		checkUnnumbered(d.below("members"), &tree.Node{Kind: tree.List, Items: s.members.value})
	}
}

// membersFit reports whether the members are within the limits.
func (p *parser) membersFit(d decoder, s *setSpec, count int) bool {
	at, path := s.members.at, s.members.path
	if s.numbers.set {
		at, path = s.numbers.at, s.numbers.path
	}
	d.path = path
	shared := s.of(s.kind()).Count()
	switch {
	case count > maxMembers:
		d.problem(at, fmt.Sprintf("got %d members, want at most %d in one GuestSet", count, maxMembers), "")
	case len(p.setOf)+count > maxAllMembers:
		d.problem(at, fmt.Sprintf("got more than %d members in the GuestSets of the source", maxAllMembers), "")
	case count*shared > maxRepeated:
		d.problem(at, fmt.Sprintf("got %d members that share %d keys and values, want a product of at most %d", count, shared, maxRepeated), "make several sets")
	default:
		return true
	}
	return false
}

// rowsValue is the rows of members, which are decoded when the kind of the members is known.
type rowsValue struct{ into *opt[[]*tree.Node] }

func (v rowsValue) decode(d decoder, n *tree.Node) {
	if n.Kind != tree.List {
		d.problem(n.At, "got "+n.Describe()+", want a list of members", "")
		return
	}
	*v.into = opt[[]*tree.Node]{place{n.Key, d.path}, n.Items, true}
}

func (v rowsValue) lower(*lowering, string) {}

// schema describes any row. setSchema describes the rows of each kind.
func (v rowsValue) schema() *schema {
	return &schema{Type: []string{"array"}, Items: &schema{Type: []string{"object"}, Required: []string{"name"}}}
}

func (v rowsValue) walk(string, func(path string, row field)) {}

// setSchema describes a GuestSet: the rows of members depend on the kind of the members.
func setSchema() *schema {
	out := objectSchema(&setSpec{})
	for _, kind := range []guest.Kind{guest.VirtualMachine, guest.Container} {
		row := objectSchema(newMember(kind))
		row.Type, row.Required = []string{"object"}, []string{"name"}
		out.AllOf = append(out.AllOf, &schema{
			If:   &schema{Required: []string{inheritedName[kind]}},
			Then: &schema{Properties: map[string]*schema{"members": {Items: row}}},
		})
	}
	return out
}
