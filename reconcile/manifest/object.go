package manifest

import (
	"cmp"
	"maps"
	"slices"

	"gitops-agent/reconcile/edge"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/kind"
	"gitops-agent/reconcile/kinds"
)

// objectSpec is the spec of an object of package kinds: the fields of its kind, and those that every kind has.
type objectSpec struct {
	kind             *kind.Kind
	id, comment      opt[string]
	adopt, mode      opt[string]
	lifecycle        objectLifecycle
	own              *boundFields
	idRule, noteRule *textRule
	rows             []field
}

// objectLifecycle is what may be done to an object without asking.
type objectLifecycle struct{ destroy opt[string] }

func (c *objectLifecycle) fields() []field {
	return []field{
		{"destroy", "", "When the manifest is gone: deny keeps the object, even with an approval, approve waits for a signed approval, allow removes it. A weaker value has no effect on an object that exists. Default: approve.", choice(&c.destroy, string(guest.Deny), string(guest.Approve), string(guest.Allow))},
	}
}

func newObjectSpec(k *kind.Kind) *objectSpec {
	s := &objectSpec{kind: k, own: bind(k.Fields)}
	s.idRule = ruleOf(kind.Text{Want: k.ID.Want, Pattern: k.ID.Pattern, Examples: k.ID.Examples, Max: k.ID.Max})
	s.noteRule = &textRule{want: "a text on one line without the marker of an agent", maxBytes: cmp.Or(k.Note.Max, 255) - kind.MarkerBytes, shape: exactly(`([^\x00-\x20\x7f][^\x00-\x1f\x7f]*)?`), accept: func(s string) bool { return isComment(s, k.Note.ASCII) }}
	if k.Note.ASCII {
		s.noteRule.want = "a text on one line in ASCII without the marker of an agent"
	}
	s.rows = append([]field{
		{"id", "", "Id of the " + k.Noun + " in Proxmox. Default: the name of the manifest.", text(&s.id, s.idRule)},
		{"comment", "", "Comment. The agent adds its marker to it, by which it knows the " + k.Noun + " again.", text(&s.comment, s.noteRule)},
	}, s.own.rows...)
	s.rows = append(s.rows,
		field{"adopt", "", "ifUnmanaged takes over " + k.One() + " that exists. Without it, the agent changes none that it did not create.", choice(&s.adopt, "ifUnmanaged")},
		field{"mode", "", "observe reports differences and changes nothing. Default: enforce.", choice(&s.mode, "enforce", "observe")},
		field{"lifecycle", "", "What the agent may do without asking.", group(&s.lifecycle)},
	)
	return s
}

// isComment accepts a comment that Proxmox stores as it is sent, and that does not end like an owned object's.
func isComment(s string, ascii bool) bool {
	text, marker := kind.SplitComment(s)
	return marker == "" && text == s && printable(s) && !(ascii && slices.ContainsFunc([]byte(s), func(b byte) bool { return b > 0x7e }))
}

func (s *objectSpec) fields() []field { return s.rows }

// object decodes an object of package kinds.
func (p *parser) object(doc *document, k *kind.Kind) {
	s := newObjectSpec(k)
	before := p.report.count
	d := newDecoder(p.report, doc.label(), s)
	if doc.spec != nil {
		decodeObject(d, doc.spec, s)
	}
	if p.report.count > before {
		return
	}
	wanted := s.desired(doc)
	spec := s.own.spec()
	for _, f := range k.Fields {
		if f.Required != "" && !spec.Has(f.Name) {
			d.problem(doc.at, "got no "+f.Name+", want "+f.Required, "")
		}
	}
	if !s.idRule.ok(wanted.ID) {
		d.path = "metadata.name"
		d.problem(doc.meta.name.at, "got a name that is no id of "+k.One()+", want "+s.idRule.wanted(), "set spec.id")
	}
	if k.Reserved != nil {
		if why := k.Reserved(wanted.ID); why != "" {
			d.problem(doc.at, "got the "+k.Noun+" "+wanted.ID+", want another one: "+why, "")
		}
	}
	if p.report.count > before {
		return
	}
	for _, problem := range k.Complete(&wanted, spec) {
		p.report.add(Problem{Origin: orElse(problem.Origin, wanted.Origin), Guest: doc.label(), Field: problem.Field, Message: problem.Message, Hint: problem.Hint, New: problem.New})
	}
	p.noSuchDay(k, wanted)
	if p.report.count == before {
		p.set.Objects = append(p.set.Objects, wanted)
	}
}

func orElse(o, fallback guest.Origin) guest.Origin {
	if o == (guest.Origin{}) {
		return fallback
	}
	return o
}

// desired returns what the fields of every kind say.
func (s *objectSpec) desired(doc *document) kind.Desired {
	d := kind.Desired{
		Kind: s.kind.Name, Name: doc.meta.name.value, ID: doc.meta.name.value, Origin: guest.Origin(doc.at), Destroy: guest.Approve,
		Adopt: s.adopt.value == "ifUnmanaged", Observe: s.mode.value == "observe",
	}
	if s.id.set {
		d.ID = s.id.value
	}
	if s.lifecycle.destroy.set {
		d.Destroy = guest.Permission(s.lifecycle.destroy.value)
	}
	if s.comment.set {
		d.Put(kind.Intent{Key: s.kind.Note.Key, Text: s.comment.value, Origin: guest.Origin(s.comment.at)})
	}
	return d
}

// checkObjects sorts the objects, and reports two that describe the same object in Proxmox, and guests that no manifest describes.
func (p *parser) checkObjects() {
	slices.SortFunc(p.set.Objects, func(a, b kind.Desired) int { return cmp.Compare(a.Label(), b.Label()) })
	firsts, exclusive := make(map[kind.Need]kind.Desired), make(map[string]kind.Desired)
	labels := make(map[string]bool, len(p.set.Guests))
	for _, g := range p.set.Guests {
		labels[g.Label()] = true
	}
	for _, d := range p.set.Objects {
		id := kind.Need{Kind: d.Kind, ID: d.ID}
		if first, twice := firsts[id]; twice {
			p.report.add(Problem{
				Origin: d.Origin, Guest: d.Label(), Field: "id", Message: "got the id " + d.ID + ", which " + first.Label() + " has", Hint: "first at " + first.Origin.String(),
			})
			continue
		}
		firsts[id] = d
		p.checkExclusive(d, exclusive)
		for _, g := range d.Guests {
			if !labels[g.Label] {
				p.report.add(Problem{Origin: g.Origin, Guest: d.Label(), Message: "got " + g.Label + ", which no manifest describes", Hint: didYouMean(closest(g.Label, slices.Sorted(maps.Keys(labels))))})
			}
		}
	}
}

// checkExclusive reports an object with what Proxmox accepts in one object only, and that one of the objects before has. It adds the object to them.
func (p *parser) checkExclusive(d kind.Desired, firsts map[string]kind.Desired) {
	k, known := kinds.Of(d.Kind)
	if !known {
		return
	}
	for _, e := range k.EdgesOf(kind.Want{Desired: d}, kind.World{}) {
		if e.Why != edge.ExclusiveWith {
			continue
		}
		first, twice := firsts[e.To.Label]
		if !twice {
			firsts[e.To.Label] = d
			continue
		}
		var at guest.Origin
		for _, in := range d.Keys {
			if in.Key == e.Field {
				at = in.Origin
			}
		}
		p.report.add(Problem{
			Origin: at, Guest: d.Label(), Field: e.Field, Message: "got " + e.To.Label + ", which " + first.Label() + " describes, want one manifest", Hint: "first at " + first.Origin.String(),
		})
	}
}

// objectKinds returns the kinds of package kinds by name, in their order.
func objectKinds() []string {
	var names []string
	for _, k := range kinds.All() {
		names = append(names, string(k.Name))
	}
	return names
}
