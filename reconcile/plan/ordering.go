package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/edge"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/image"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/kind"
	"gitops-agent/reconcile/kinds"
	"gitops-agent/reconcile/object"
	"gitops-agent/reconcile/reason"
)

// Ordering decides which steps wait for other guests: creates, starts and disruptive steps for their dependencies, creates and starts also for lower
// waves, and steps that stop or destroy a guest for the guests that depend on it. It reads the graph of what needs what.
type Ordering struct {
	needs   *edge.Graph          // from guests and objects to what they need first; objects of other kinds only while one of them is not complete
	down    *edge.Graph          // from guests that are about to be stopped or destroyed to the guests that have to be down first
	unmet   map[object.Key]unmet // what is not as the others need it
	lowest  int                  // the lowest wave with a guest that is about to be created or started
	waiting bool                 // there is such a wave
}

// unmet is why others wait for a guest, an object, or a file.
type unmet struct {
	label    string // "VirtualMachine/db-1"
	why      string // completes a sentence about it: "does not exist yet"; "" if the guest has converged
	notReady string // why a guest is not ready that has converged
	rests    bool   // no step that is left may run now
	file     string // the volume of an Image
}

// OrderingOptions is what an ordering needs to know apart from plan and manifests. The zero value is useful.
type OrderingOptions struct {
	Now      time.Time
	Stuck    map[string]bool      // labels of guests whose steps failed several times
	Released func(step Step) bool // reports whether a step may run now, apart from the order; nil releases all
	NoNode   func(step Step) bool // reports whether a step waits for a node that is not available; nil for none
	NotReady map[string]string    // by label, why a guest with health checks is not ready

	Objects    []kind.Desired          // that manifests describe
	Remembered map[int]journal.Guarded // guards in force by vmid, with the dependencies of removed guests
	Kept       func(step Step) bool    // reports whether a manifest keeps the agent from a step; nil keeps it from none
}

// Wait is what a step waits for. The zero value is nothing.
type Wait struct {
	Message  string // "it depends on VirtualMachine/db-1, which does not exist yet"
	NotReady bool   // for a guest that has converged and is not ready
}

// NewOrdering derives the order from a plan. A wave waits only for guests that will be created or started soon. A guest is idle, and no wave
// waits for it, if the agent may not change it, if it cannot be created, if it is stuck, or if it depends on a guest that will not converge soon.
func NewOrdering(plan Plan, guests []guest.Desired, opts OrderingOptions) Ordering {
	b := orderBuilder{plan: plan, guests: guests, opts: opts, going: goingDown(plan), idle: make(map[object.Key]bool), unchanged: make(map[object.Key]bool)}
	b.unmet = make(map[object.Key]unmet)
	b.addGuests()
	b.addTemplates()
	b.addImages()
	b.addObjects()
	b.needs = edge.New(b.edges)
	b.noteGuests()
	b.findWave()
	b.down = edge.New(edge.WithoutCycles(b.dependentsFirst()))
	return b.Ordering
}

// orderBuilder builds an Ordering.
type orderBuilder struct {
	Ordering
	plan   Plan
	guests []guest.Desired
	opts   OrderingOptions

	edges     []edge.Edge
	going     map[object.Key][]object.Key // see goingDown
	idle      map[object.Key]bool         // guests that will not be created or started soon, or will be, as far as that is known
	unchanged map[object.Key]bool         // guests that their manifests keep the agent from changing
}

// need adds an edge to what comes first.
func (b *orderBuilder) need(from, to object.Key, field string) {
	b.edges = append(b.edges, edge.Edge{From: from, To: to, Why: edge.NeedsFirst, Field: field})
}

// comes reports whether a step may run now, apart from the order.
func (b *orderBuilder) comes(s Step) bool { return b.opts.Released == nil || b.opts.Released(s) }

// rests reports whether no step that is left of an object may run now, or whether its steps failed several times.
func (b *orderBuilder) rests(p *Guest) bool {
	return b.opts.Stuck[p.Ref.Label()] || !slices.ContainsFunc(p.Steps, b.comes)
}

// addGuests adds the dependencies of guests. Those of a removed guest are those of its last manifest; they matter only while a guest goes down.
func (b *orderBuilder) addGuests() {
	count := 0
	for i := range b.guests {
		count += len(b.guests[i].DependsOn)
	}
	b.edges = make([]edge.Edge, 0, count)
	for i := range b.guests {
		d := &b.guests[i]
		unchanged := d.Observe || d.Suspend.Active(b.opts.Now)
		if unchanged || len(b.opts.Stuck) > 0 && b.opts.Stuck[d.Label()] {
			b.idle[keyOf(d.Ref)] = true
		}
		if unchanged {
			b.unchanged[keyOf(d.Ref)] = true
		}
		b.needLabels(d.Ref, d.DependsOn)
	}
	for i := range b.plan.Guests {
		if p := &b.plan.Guests[i]; !p.Managed && len(b.going) > 0 {
			b.needLabels(p.Ref, strings.Fields(b.opts.Remembered[p.Ref.VMID].Rules.DependsOn))
		}
	}
	named := make(map[guest.Ref]object.Key) // the guests that others depend on, by their labels
	for i := range b.edges {
		named[labelRef(b.edges[i].To.Label)] = b.edges[i].To
	}
	for i := range b.guests {
		ref := b.guests[i].Ref
		if label := (guest.Ref{Kind: ref.Kind, Name: ref.Name}); named[label] != (object.Key{}) {
			named[label] = keyOf(ref)
		}
	}
	for i := range b.edges {
		b.edges[i].To = named[labelRef(b.edges[i].To.Label)]
	}
}

// addTemplates adds the guests that clones wait for: those that are going to be their templates.
func (b *orderBuilder) addTemplates() {
	for i := range b.plan.Guests {
		if p := &b.plan.Guests[i]; p.awaits != (guest.Ref{}) {
			b.need(keyOf(p.Ref), keyOf(p.awaits), "source")
		}
	}
}

// needLabels adds the dependencies of a guest, by their labels.
func (b *orderBuilder) needLabels(ref guest.Ref, labels []string) {
	for _, on := range labels {
		b.need(keyOf(ref), object.Key{Label: on}, "dependsOn")
	}
}

// addImages adds the files of Images that the manifests of guests name, by the Image or by the volume, and that are not there. The file on each node counts for itself.
func (b *orderBuilder) addImages() {
	var lacking []*Guest
	at := make(map[guest.Ref]string) // the nodes of guests that exist
	for i := range b.plan.Guests {
		switch p := &b.plan.Guests[i]; {
		case p.Ref.Kind == image.Kind && len(p.Lacking) > 0:
			lacking = append(lacking, p)
		case p.Present:
			at[p.Ref] = p.Node
		}
	}
	for _, p := range lacking {
		for i := range b.guests {
			d := &b.guests[i]
			node := cmp.Or(at[d.Ref], d.Node)
			why := cmp.Or(p.Lacking[node], p.Lacking[""])
			if why == "" {
				continue
			}
			field := "source"
			if d.Source.Object() != p.Ref.Name {
				field = d.NamesFile(p.file)
			}
			if field == "" {
				continue
			}
			file := edge.Object(string(image.Kind), p.Ref.Name+" on "+node)
			b.need(keyOf(d.Ref), file, field)
			b.unmet[file] = unmet{label: p.Ref.Label(), why: why, rests: b.rests(p), file: p.file}
		}
	}
}

// addObjects adds what guests and objects need of the objects that manifests describe, if one of these does not exist, or does not contain yet what it shall: a part of
// the rules of a security group may admit what all of them do not.
func (b *orderBuilder) addObjects() {
	planned := make(map[guest.Ref]int, len(b.opts.Objects))
	for _, d := range b.opts.Objects {
		planned[d.Ref()] = -1
	}
	for i := range b.plan.Guests {
		if at, is := planned[b.plan.Guests[i].Ref]; is && at < 0 {
			planned[b.plan.Guests[i].Ref] = i
		}
	}
	complete := true
	for _, d := range b.opts.Objects {
		i := planned[d.Ref()]
		if i < 0 {
			continue
		}
		p := &b.plan.Guests[i]
		fills := slices.ContainsFunc(p.Steps, func(s Step) bool { return s.FillsObject() && (b.comes(s) || b.opts.Stuck[p.Ref.Label()]) })
		switch {
		case !p.Present:
			b.unmet[d.Key()] = unmet{label: p.Ref.Label(), why: "does not exist yet", rests: b.rests(p)}
		case fills:
			b.unmet[d.Key()] = unmet{label: p.Ref.Label(), why: "does not contain yet what its manifest describes", rests: b.rests(p)}
		default:
			continue
		}
		complete = false
	}
	if complete {
		return
	}
	for i := range b.guests {
		d := &b.guests[i]
		b.edges = append(b.edges, kinds.GuestEdges(keyOf(d.Ref), d)...)
	}
	for _, d := range b.opts.Objects {
		for _, need := range d.Needs {
			b.need(d.Key(), need.Key(), "")
		}
	}
}

// noteGuests notes why others wait for the guests that they need.
func (b *orderBuilder) noteGuests() {
	for i := range b.plan.Guests {
		p := &b.plan.Guests[i]
		if !p.Managed {
			continue
		}
		key, why := nodeOfPlan(p), missingUntilDone(p)
		waits := func(s Step) bool { return s.Hindrance.Waits() || b.opts.NoNode != nil && b.opts.NoNode(s) }
		if why != "" && (p.stands || slices.ContainsFunc(p.Steps, waits)) {
			b.idle[key] = true
		}
		if !p.Ref.Kind.IsGuest() {
			continue
		}
		if why == "" {
			if why = unusable(p); why != "" {
				b.idle[key] = true
			}
		}
		switch {
		case !b.needs.HasTo(key, edge.NeedsFirst):
		case why != "":
			b.unmet[key] = unmet{label: p.Ref.Label(), why: why}
		default:
			b.noteUnready(p, key)
		}
	}
}

// noteUnready notes why guests that depend on an existing guest wait for it. What the manifest of a guest keeps the agent
// from changing delays no guest.
func (b *orderBuilder) noteUnready(p *Guest, key object.Key) {
	label, opts := p.Ref.Label(), &b.opts
	if why := unfinished(p); why != "" && !b.unchanged[key] {
		rests := opts.Released != nil && !slices.ContainsFunc(p.Steps, opts.Released)
		if len(p.Steps) == 0 && p.missing != "" {
			rests = p.stands
		}
		b.unmet[key] = unmet{label: label, why: why, rests: rests}
		return
	}
	if why := opts.NotReady[label]; why != "" {
		b.unmet[key] = unmet{label: label, notReady: why}
	}
}

// findWave finds the lowest wave with a guest or an object that is about to be created or started, and is not idle.
func (b *orderBuilder) findWave() {
	for i := range b.plan.Guests {
		p := &b.plan.Guests[i]
		if p.Managed && missingUntilDone(p) != "" && (!b.waiting || p.Wave < b.lowest) && !b.isIdle(nodeOfPlan(p)) {
			b.lowest, b.waiting = p.Wave, true
		}
	}
}

// isIdle reports whether a guest will not be created or started soon, by itself or because of what it needs. It stores its results in idle.
func (b *orderBuilder) isIdle(key object.Key) bool {
	if known, ok := b.idle[key]; ok {
		return known
	}
	b.idle[key] = false
	for e := range b.needs.From(key, edge.NeedsFirst) {
		u, isUnmet := b.unmet[e.To]
		if isUnmet && (u.notReady != "" || u.rests || isGuest(e.To) && b.isIdle(e.To)) {
			b.idle[key] = true
			break
		}
	}
	return b.idle[key]
}

// keyOf returns the key of a guest, or of an Image.
func keyOf(ref guest.Ref) object.Key {
	if ref.VMID != 0 {
		return object.Guest(ref.VMID)
	}
	return object.Key{Label: ref.Label()}
}

// nodeOfPlan returns the key of a guest, or of an object with steps.
func nodeOfPlan(p *Guest) object.Key {
	if !p.Ref.Kind.IsGuest() && len(p.Steps) > 0 && p.Steps[0].Object != nil {
		return edge.Object(string(p.Ref.Kind), p.Steps[0].Object.ID)
	}
	return keyOf(p.Ref)
}

// isGuest reports whether a key is that of a guest.
func isGuest(key object.Key) bool { return key.VMID != 0 || guest.Kind(key.Kind()).IsGuest() }

// labelRef returns a label as the Ref of a guest without a vmid, which is found in a map without making its label.
func labelRef(label string) guest.Ref {
	kind, name, _ := strings.Cut(label, "/")
	return guest.Ref{Kind: guest.Kind(kind), Name: name}
}

// unfinished returns why a guest has not converged, "" if no step of the agent is left. A change that waits for a restart that the manifest does not
// allow, and one that is impossible, delay nobody.
func unfinished(p *Guest) string {
	if len(p.Steps) == 0 {
		locked := slices.ContainsFunc(p.Conditions, func(c Condition) bool { return c.Reason == reason.Locked })
		if locked && len(p.Changes) > 0 {
			return "has changes left, and is locked"
		}
		return p.missing
	}
	var ops []string
	for _, s := range p.Steps {
		if !slices.Contains(ops, s.Op.Words()) {
			ops = append(ops, s.Op.Words())
		}
	}
	return "has steps left: " + strings.Join(ops, ", ")
}

// missingUntilDone returns why dependent guests wait for a guest that will be created or started, "" if they need not wait.
func missingUntilDone(p *Guest) string {
	if p.awaits != (guest.Ref{}) {
		return "does not exist yet"
	}
	for i := range p.Steps {
		switch s := &p.Steps[i]; {
		case s.Creates():
			return "does not exist yet"
		case s.Starts() && s.Hindrance.Reason == reason.Secret:
			return "waits for a secret: " + s.Hindrance.Message
		case s.Starts():
			return "is not running yet"
		}
	}
	if p.byHA() == guest.StatusStopped {
		return ""
	}
	return p.missing
}

// unusable returns why dependent guests wait for a guest that does not exist and will not be created soon.
func unusable(p *Guest) string {
	for _, c := range p.Conditions {
		switch c.Type {
		case NotObserved:
			return "was not read, so it may not exist"
		case IdentityConflict:
			return "does not exist: another guest has its vmid"
		case Blocked:
			switch {
			case c.Reason == reason.Secret && !p.Present:
				return "waits for a secret: " + c.Message
			case !p.Present:
				return "does not exist: " + c.Message
			}
		case Drifted, Pending, PendingRestart, Held, Failed, Suspended, WaitsFor, Orphaned, Leftover, Warned:
		}
	}
	return ""
}

// Waits returns what a step waits for. Only steps that wait for other guests may be asked for: see Step.NeedsDependencies and Step.TakesDown.
func (o Ordering) Waits(step Step) Wait {
	if step.TakesDown() {
		for e := range o.down.From(keyOf(step.Guest), edge.NeedsFirst) {
			return Wait{Message: e.Text}
		}
		return Wait{}
	}
	if wait := o.needsFirst(step); wait != (Wait{}) {
		return wait
	}
	if o.waiting && step.Wave > o.lowest && step.BringsUp() {
		return Wait{Message: fmt.Sprintf("wave %d comes before wave %d", o.lowest, step.Wave)}
	}
	return Wait{}
}

// needsFirst returns what a step waits for of what its guest or its object needs.
func (o Ordering) needsFirst(step Step) Wait {
	var file, whole, named, depends Wait // whole is about the objects that a creation needs, and named about those that a firewall names
	from := o.nodeOf(step)
	for e := range o.needs.From(from, edge.NeedsFirst) {
		u, isUnmet := o.unmet[e.To]
		if !isUnmet {
			continue
		}
		switch to := guest.Kind(e.To.Kind()); {
		case isGuest(e.To):
			depends = cmp.Or(depends, u.dependedOn())
		case to == image.Kind:
			if field := e.Field; strings.HasPrefix(field, "source") && step.Op == cluster.OpCreate {
				file = Wait{Message: fmt.Sprintf("it is created from %s: %s", u.label, u.why)}
			} else if step.NeedsDependencies() || step.namesVolume(u.file) {
				file = Wait{Message: fmt.Sprintf("it needs %s for %s: %s", u.label, field, u.why)}
			}
		case kind.IsOfFirewall(to) && isGuest(from):
			named = u.needed()
		default:
			whole = u.needed()
		}
	}
	switch {
	case step.Op == cluster.OpCreate:
		return cmp.Or(file, whole, named, depends)
	case file != (Wait{}):
		return file
	case step.Op == cluster.OpFirewall:
		whole = named
	case step.Op != cluster.OpObjectAdd && !step.NeedsObject():
		return depends
	}
	if step.NeedsObject() && !step.NeedsDependencies() {
		return whole
	}
	return cmp.Or(whole, depends)
}

// nodeOf returns the key of what a step is about. A guest that got its vmid since the order was derived is known by its label.
func (o Ordering) nodeOf(step Step) object.Key {
	if step.Object != nil {
		return edge.Object(string(step.Guest.Kind), step.Object.ID)
	}
	if key := keyOf(step.Guest); o.needs.HasFrom(key) {
		return key
	}
	return object.Key{Label: step.Guest.Label()}
}

func (u unmet) needed() Wait {
	return Wait{Message: fmt.Sprintf("it needs %s, which %s", u.label, u.why)}
}

func (u unmet) dependedOn() Wait {
	if u.notReady != "" {
		return Wait{Message: fmt.Sprintf("it depends on %s, which is not ready: %s", u.label, u.notReady), NotReady: true}
	}
	return Wait{Message: fmt.Sprintf("it depends on %s, which %s", u.label, u.why)}
}
