package manifest

import (
	"slices"
	"strings"

	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/image"
	"gitops-agent/reconcile/kinds"
	"gitops-agent/reconcile/manifest/tree"
	"gitops-agent/reconcile/policy"
)

// NoCluster is the message of the problem that a source has no Cluster.
const NoCluster = "got no Cluster, want one in the source"

// Parse reads all files of a source, and of the folders that its Cluster imports. It skips files that are not YAML by their name, and files in a folder whose name begins with a dot. The error is a
// *Problems with every problem; the Set is complete only without an error. Parse is pure, and its result does not depend on the order of the files.
func Parse(files []File) (Set, error) {
	p := newParser()
	p.parse(files)
	if p.report.count == 0 {
		p.set.Warnings = p.warnings()
	}
	return p.set, p.report.err()
}

// parse reads the files, and checks what they contain.
func (p *parser) parse(files []File) {
	p.read(files)
	p.classes.check(p.report)
	p.classes.checkSelectors(p.report, p.folder())
	p.checkRollouts()
	p.forgetGuests()
	for _, doc := range p.guests {
		p.guest(doc)
	}
	slices.SortFunc(p.set.Policies, func(a, b policy.Rule) int { return strings.Compare(a.Name, b.Name) })
	p.set.Mistakes = p.mistakes.sorted()
	slices.SortFunc(p.set.Images, func(a, b image.Desired) int { return strings.Compare(a.Name, b.Name) })
	slices.SortFunc(p.set.Guests, func(a, b Guest) int { return strings.Compare(a.Label(), b.Label()) })
	p.checkObjects()
	p.checkPlacements()
	p.checkVMIDs()
	p.checkDependencies()
	p.checkOrder()
	p.checkVolumes()
	p.checkGuardedFirewalls()
}

// warnings returns what is allowed but may be unintended, if all was understood, and what is accepted only because it was before.
func (p *parser) warnings() []Problem {
	r := &report{list: p.report.warnings}
	if p.report.count == 0 {
		p.checkUnusedClasses(r)
		p.checkUnusedRollouts(r)
		p.checkShared(r)
		p.checkGateways(r)
		p.checkMacros(r)
		p.checkSchedules(r)
		p.checkNames(r)
	}
	return r.sorted()
}

func (p *parser) read(files []File) {
	files = slices.SortedFunc(slices.Values(files), func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	var cluster *document
	for _, f := range files {
		if !f.isManifest() {
			if f.IsMisnamed() {
				p.misnamed = append(p.misnamed, f.Path)
			}
			continue
		}
		p.anyRead = true
		for _, n := range p.readFile(f).report(f, p.report) {
			doc := newDocument(n, p.report)
			if doc == nil || f.Imported && !p.mayBeImported(doc) || p.isDuplicate(doc) {
				continue
			}
			p.noteShared(doc)
			switch doc.kind.value {
			case kindCluster:
				cluster = p.setCluster(cluster, doc)
			case kindClass:
				c := decodeClass(doc, p.report)
				c.imported = f.Imported
				p.classes[doc.meta.name.value] = c
			case string(image.Kind):
				p.image(doc)
			case kindSet:
				p.guestSet(doc)
			case string(policy.Kind):
				p.policy(doc)
			case string(guest.VirtualMachine), string(guest.Container):
				p.guests = append(p.guests, doc)
			default:
				if k, known := kinds.Of(guest.Kind(doc.kind.value)); known {
					p.object(doc, k)
				}
			}
		}
	}
	if cluster == nil {
		p.report.add(Problem{Message: NoCluster, Hint: p.clusterHint()})
	}
	p.checkImports(files)
}

// isDuplicate reports a document with the same label as another document.
func (p *parser) isDuplicate(doc *document) bool {
	first, twice := p.firsts[doc.label()]
	if twice {
		p.report.add(Problem{
			Origin: guest.Origin(doc.at), Guest: doc.label(), Field: "metadata.name",
			Message: "another " + doc.kind.value + " has this name", Hint: "first at " + first.String(),
		})
		return true
	}
	p.firsts[doc.label()] = doc.at
	return false
}

func (p *parser) setCluster(first, doc *document) *document {
	if first != nil {
		p.report.add(Problem{
			Origin: guest.Origin(doc.at), Guest: doc.label(), Message: "got a second Cluster, want one in the source", Hint: "first at " + first.at.String(),
		})
		return first
	}
	var spec clusterSpec
	p.set.Cluster, p.rollouts, spec = decodeCluster(doc, p.report)
	p.defaults, p.imports = spec.defaults, spec.imports
	return doc
}

// decodeGuest merges, decodes and lowers one guest.
func (p *parser) decodeGuest(doc *document) parsedGuest {
	kind, label := guest.Kind(doc.kind.value), doc.label()
	before := p.report.count
	own := doc.spec
	if own == nil {
		own = &tree.Node{Kind: tree.Mapping, At: doc.at, Key: doc.at}
	}
	selected, named := p.classesOf(doc, own)
	classes := append(selected, named...)
	laid := merge(p.classes.mergeOver(p.defaults.of(kind), classes, kind), own)
	p.classes.checkSelected(decoder{report: p.report, label: label}, selected, kind, laid)
	merged := withoutNulls(laid)
	s := newSpec(kind)
	seen := tables{}
	d := newDecoder(p.report, label, s)
	d.seen = seen
	decodeObject(d, merged, s)
	g := Guest{
		Ref:    guest.Ref{Kind: kind, Name: doc.meta.name.value, VMID: s.shared().vmid.value},
		Labels: doc.labels(), Classes: classes, Set: p.setOf[label], Origin: guest.Origin(doc.at), merged: merged,
	}
	l := newLowering(p.report, g.Ref, seen)
	l.images, l.node = p.images, s.shared().home()
	l.partial = p.report.count > before
	desired := l.desired(doc, s)
	desired.Settings = append(desired.Settings, namesIn(merged)...)
	var at place
	if desired.Rollout, at = p.rolloutOf(g); desired.Rollout.Name != "" {
		desired.Settings = append(desired.Settings, guest.Setting{Field: guest.GuardRollout, Origin: guest.Origin(at.at)})
	}
	if !l.partial {
		g.desired = desired
	}
	return parsedGuest{g, s, desired}
}

// placeOf returns where a mapping has the first of some names that it has, the zero Origin if it has none.
func placeOf(n *tree.Node, names ...string) guest.Origin {
	for _, name := range names {
		if value := n.Get(name); value != nil {
			return guest.Origin(value.At)
		}
	}
	return guest.Origin{}
}

// desired lowers a guest, and reports problems between its fields.
func (l *lowering) desired(doc *document, s spec) guest.Desired {
	c, ref := s.shared(), guest.Ref{Kind: l.kind, Name: doc.meta.name.value, VMID: s.shared().vmid.value}
	lowerObject(l, s)
	s.defaultName(l, opt[string]{place{doc.meta.name.at, "metadata.name"}, ref.Name, true})
	d := guest.Desired{
		Ref: ref, Origin: guest.Origin(doc.at), Node: c.home(), Nodes: c.nodes(), Migrate: c.migration(), Placement: c.placed(), Pool: c.pool.value, State: guest.Ignored,
		Template: c.template.value, HA: c.ha.value.wanted(c.ha.place), Refresh: s.refresh(),
		Adopt: c.adopt.value == "ifUnmanaged", Observe: c.mode.value == "observe", Backup: c.backup.set, Wave: c.wave.value,
		Source: l.source(s), Suspend: c.suspended(l), Lifecycle: c.lifecycle.value(),
		DependsOn: texts(c.dependsOn), Health: c.health.checks(), Ignore: c.finish(l, s),
	}
	d.StartWithout = c.lifecycle.startsWithout(l)
	if c.firewall.set {
		d.Firewall = c.firewall.value.wanted(l, c.firewall.place)
	}
	d.Snapshots = c.wantedSnapshots()
	d.Settings, d.Labels = c.settings(l), doc.labels()
	if c.state.set {
		d.State = guest.RunState(c.state.value)
	}
	d.Intents, d.Secrets = l.sorted(), l.sortedSecrets()
	checkGuardedFirewall(l, &d, c.firewall.value.guarded.place)
	if d.Lifecycle.Recreate == "" {
		d.Lifecycle.Recreate = d.DefaultRecreate()
	}
	return d
}
