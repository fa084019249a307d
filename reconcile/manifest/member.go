package manifest

import (
	"maps"
	"strings"

	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/manifest/tree"
)

// member is a row of a GuestSet: what one guest has for itself. One value decodes all rows of a set, one after the other.
type member struct {
	kind      guest.Kind
	name      opt[string]
	inProxmox opt[string]
	labels    textMap
	addresses opt[[]memberAddress]

	rows []field
	spec map[string]bool // fields of the kind
}

// newMember returns a decoder for the rows of a kind.
func newMember(kind guest.Kind) *member {
	m := &member{kind: kind, spec: map[string]bool{}}
	m.rows = []field{
		{"name", "", "Name of the guest within the repository, unique in its kind. Required.", text(&m.name, dnsName)},
		{"labels", "", "Labels of the guest, over those of the set.", labels(&m.labels)},
		{"addresses", "", "Addresses by slot: of cloudInit.ip for virtual machines, of networks for containers. A list contains IPv4 and IPv6.", withExamples(addressesValue{&m.addresses, slotsOf(kind, "net"), anyText}, `{"net0": "10.0.20.11/24"}`)},
	}
	if kind == guest.VirtualMachine {
		m.rows = append(m.rows, field{"nameInProxmox", "name", "Name of the virtual machine, as the field name of VirtualMachine. Default: name, except for adopted guests.", text(&m.inProxmox, dnsName)})
	}
	for _, row := range newSpec(kind).fields() {
		if row.name == "name" {
			continue
		}
		m.spec[row.name] = true
		m.rows = append(m.rows, field{row.name, row.native, row.doc, keptValue{row.value, kind, row.name}})
	}
	return m
}

func (m *member) fields() []field { return m.rows }

// document returns the document of one member of a set, or nil if its row does not name it. Shared is what the members share.
func (m *member) document(d decoder, set *document, shared, row *tree.Node) *document {
	m.name, m.inProxmox, m.labels, m.addresses = opt[string]{}, opt[string]{}, nil, opt[[]memberAddress]{}
	if n := row.Get("name"); n != nil {
		if name, wrong := dnsName.parse(n); wrong == nil {
			d.label, d.path = guest.Ref{Kind: m.kind, Name: name}.Label(), ""
		}
	}
	d.root, d.base = m, d.path
	before := d.report.count
	decodeObject(d, row, m)
	if !m.name.set {
		if d.report.count == before {
			d.problem(row.At, "got no name, want one that is unique in its kind", "")
		}
		return nil
	}
	labels := maps.Clone(set.meta.labels)
	if labels == nil {
		labels = textMap{}
	}
	maps.Copy(labels, m.labels)
	return &document{
		apiVersion: set.apiVersion, kind: opt[string]{set.kind.place, string(m.kind), true},
		meta: metadata{name: opt[string]{place{m.name.at, "metadata.name"}, m.name.value, true}, labels: labels},
		spec: merge(shared, m.ownSpec(d, row)), at: row.At,
	}
}

// ownSpec returns the fields of the guest that a row sets.
func (m *member) ownSpec(d decoder, row *tree.Node) *tree.Node {
	own := &tree.Node{Kind: tree.Mapping, At: row.At, Key: row.Key}
	if m.inProxmox.set {
		own.Entries = append(own.Entries, tree.Entry{Name: "name", Value: row.Get("nameInProxmox")})
	}
	for _, e := range row.Entries {
		if m.spec[e.Name] {
			own.Entries = append(own.Entries, e)
		}
	}
	for _, a := range m.addresses.value {
		path := a.path(m.kind)
		if taken := lookup(own, path); taken != nil {
			d.path = a.at.path
			d.problem(a.at.at, "got an address that "+strings.Join(path, ".")+" sets too", "it is at "+taken.At.String())
			continue
		}
		own = merge(own, a.node(path))
	}
	return own
}

// lookup returns the value at a path, or the value above it that is no mapping. It returns nil if there is none.
func lookup(n *tree.Node, path []string) *tree.Node {
	for _, name := range path {
		below := n.Get(name)
		if below == nil || below.Kind != tree.Mapping {
			return below
		}
		n = below
	}
	return n
}

// keptValue is a field of a guest in a row. It is decoded as a part of the guest.
type keptValue struct {
	value
	kind guest.Kind
	name string
}

func (keptValue) decode(decoder, *tree.Node) {}

func (v keptValue) schema() *schema {
	return &schema{Ref: "#/$defs/" + string(v.kind) + "/properties/" + v.name}
}
