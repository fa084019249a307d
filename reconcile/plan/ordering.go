package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/image"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/kind"
	"gitops-agent/reconcile/kinds"
	"gitops-agent/reconcile/reason"
)

// Ordering decides which steps wait for other guests: creates, starts and disruptive steps for their dependencies, creates and starts also for lower
// waves, and steps that stop or destroy a guest for the guests that depend on it.
type Ordering struct {
	takenDown map[guest.Ref][]dependent // by guest that is about to be stopped or destroyed: the guests that come first

	depends  map[string][]string // labels of dependencies, by label; a guest that is only planned may have no vmid
	missing  map[string]string   // by label, why the guest cannot be depended on: it does not exist, or does not run
	left     map[string]string   // by label, why the guest has not converged, apart from that
	notReady map[string]string   // by label, why the guest is not ready, although it has converged
	objects  map[string]string   // by label: the object that a guest or an object needs and that does not exist yet, with what that means
	names    map[string]string   // by label of a guest: the object that its firewall names and that does not exist yet, with what that means
	images   map[string]string   // by label of a guest that is to be created: why the Image that it is created from is not there
	held     map[string]bool     // by label: no step that is left may run now
	lowest   int                 // the lowest wave with a guest that is about to be created or started
	waiting  bool                // there is such a wave
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
	o := Ordering{
		depends: make(map[string][]string), missing: make(map[string]string), left: make(map[string]string), notReady: make(map[string]string),
		held: make(map[string]bool), images: make(map[string]string), objects: make(map[string]string), names: make(map[string]string),
	}
	idle, neededBy, unchanged := make(map[string]bool), make(map[string]bool), make(map[string]bool)
	for _, d := range guests {
		if len(d.DependsOn) > 0 {
			o.depends[d.Label()] = d.DependsOn
		}
		for _, on := range d.DependsOn {
			neededBy[on] = true
		}
		unchanged[d.Label()] = d.Observe || d.Suspend.Active(opts.Now)
		if unchanged[d.Label()] || opts.Stuck[d.Label()] {
			idle[d.Label()] = true
		}
	}
	o.noteImages(plan, guests, idle, opts)
	o.noteObjects(plan, guests, idle, opts)
	for _, p := range plan.Guests {
		if !p.Managed {
			continue
		}
		label := p.Ref.Label()
		why := missingUntilDone(p)
		if why != "" && opts.NoNode != nil && slices.ContainsFunc(p.Steps, opts.NoNode) {
			idle[label] = true
		}
		if why == "" {
			if why = unusable(p); why != "" {
				idle[label] = true
			}
		}
		switch {
		case why != "":
			o.missing[label] = why
		case neededBy[label]:
			o.noteUnready(p, unchanged[label], opts)
		}
	}
	for _, p := range plan.Guests {
		if p.Managed && missingUntilDone(p) != "" && (!o.waiting || p.Wave < o.lowest) && !o.isIdle(p.Ref.Label(), idle) {
			o.lowest, o.waiting = p.Wave, true
		}
	}
	o.takenDown = dependentsFirst(plan, guests, unchanged, opts)
	return o
}

// noteImages notes which guests wait for the Image that they are created from. A guest is idle if its Image will not be there soon.
func (o Ordering) noteImages(plan Plan, guests []guest.Desired, idle map[string]bool, opts OrderingOptions) {
	planned := make(map[string]Guest)
	for _, p := range plan.Guests {
		if p.Ref.Kind == image.Kind {
			planned[p.Ref.Name] = p
		}
	}
	if len(planned) == 0 {
		return
	}
	for i := range guests {
		d := &guests[i]
		p, named := planned[d.Source.Object()]
		why := cmp.Or(p.Lacking[d.Node], p.Lacking[""])
		if !named || why == "" {
			continue
		}
		o.images[d.Label()] = p.Ref.Label() + ": " + why
		comes := func(s Step) bool { return opts.Released == nil || opts.Released(s) }
		if opts.Stuck[p.Ref.Label()] || !slices.ContainsFunc(p.Steps, comes) {
			idle[d.Label()] = true
		}
	}
}

// noteObjects notes which guests and objects wait for an object that a manifest describes and that does not exist, or that does not contain yet what it shall: a
// part of the rules of a security group may admit what all of them do not. A guest is idle if the object will not be complete soon.
func (o Ordering) noteObjects(plan Plan, guests []guest.Desired, idle map[string]bool, opts OrderingOptions) {
	planned, missing := make(map[guest.Ref]int, len(opts.Objects)), make(map[kind.Need]Guest)
	for _, d := range opts.Objects {
		planned[d.Ref()] = -1
	}
	for i := range plan.Guests {
		if at, is := planned[plan.Guests[i].Ref]; is && at < 0 {
			planned[plan.Guests[i].Ref] = i
		}
	}
	comes := func(s Step) bool { return opts.Released == nil || opts.Released(s) }
	for _, d := range opts.Objects {
		i := planned[d.Ref()]
		if i < 0 {
			continue
		}
		p := plan.Guests[i]
		fills := slices.ContainsFunc(p.Steps, func(s Step) bool { return s.FillsObject() && (comes(s) || opts.Stuck[p.Ref.Label()]) })
		if !p.Present || fills {
			missing[kind.Need{Kind: d.Kind, ID: d.ID}] = p
		}
	}
	if len(missing) == 0 {
		return
	}
	wait := func(into map[string]string, label string, need kind.Need) {
		p, waits := missing[need]
		if !waits {
			return
		}
		into[label] = p.Ref.Label() + ", which does not exist yet"
		if p.Present {
			into[label] = p.Ref.Label() + ", which does not contain yet what its manifest describes"
		}
		if opts.Stuck[p.Ref.Label()] || !slices.ContainsFunc(p.Steps, comes) {
			idle[label] = true
		}
	}
	for i := range guests {
		for _, need := range kinds.NeedsOf(&guests[i]) {
			into := o.objects
			if kind.IsOfFirewall(need.Kind) {
				into = o.names
			}
			wait(into, guests[i].Label(), need)
		}
	}
	for _, d := range opts.Objects {
		for _, need := range d.Needs {
			wait(o.objects, d.Label(), need)
		}
	}
}

// objectFor returns which object a step needs that does not exist yet, "" if there is none.
func (o Ordering) objectFor(step Step) string {
	label := step.Guest.Label()
	switch {
	case step.Op == cluster.OpCreate:
		return cmp.Or(o.objects[label], o.names[label])
	case step.Op == cluster.OpFirewall:
		return o.names[label]
	case step.Op == cluster.OpObjectAdd || step.NeedsObject():
		return o.objects[label]
	}
	return ""
}

// noteUnready notes why guests that depend on an existing guest wait for it. What the manifest of a guest keeps the agent
// from changing delays nobody.
func (o Ordering) noteUnready(p Guest, unchanged bool, opts OrderingOptions) {
	label := p.Ref.Label()
	if why := unfinished(p); why != "" && !unchanged {
		o.left[label] = why
		o.held[label] = opts.Released != nil && !slices.ContainsFunc(p.Steps, opts.Released)
		return
	}
	if why := opts.NotReady[label]; why != "" {
		o.notReady[label] = why
	}
}

// unfinished returns why a guest has not converged, "" if no step of the agent is left. A change that waits for a restart that the manifest does not
// allow, and one that is impossible, delay nobody.
func unfinished(p Guest) string {
	if len(p.Steps) == 0 {
		locked := slices.ContainsFunc(p.Conditions, func(c Condition) bool { return c.Reason == reason.Locked })
		if locked && len(p.Changes) > 0 {
			return "has changes left, and is locked"
		}
		return ""
	}
	var ops []string
	for _, s := range p.Steps {
		if !slices.Contains(ops, string(s.Op)) {
			ops = append(ops, string(s.Op))
		}
	}
	return "has steps left: " + strings.Join(ops, ", ")
}

// isIdle reports whether a guest will not be created or started soon, by itself or because of a dependency. It stores its results in idle.
func (o Ordering) isIdle(label string, idle map[string]bool) bool {
	if known, ok := idle[label]; ok {
		return known
	}
	idle[label] = slices.ContainsFunc(o.depends[label], func(on string) bool {
		unmet := o.missing[on] != "" || o.left[on] != ""
		return o.notReady[on] != "" || unmet && (o.held[on] || o.isIdle(on, idle))
	})
	return idle[label]
}

// missingUntilDone returns why dependent guests wait for a guest that will be created or started, "" if they need not wait.
func missingUntilDone(p Guest) string {
	for _, s := range p.Steps {
		switch {
		case s.Op == cluster.OpCreate:
			return "does not exist yet"
		case s.Op.BringsUp():
			return "is not running yet"
		}
	}
	return ""
}

// notCreated are the reasons of Blocked that mean that the guest does not exist as its manifest describes it.
var notCreated = []reason.Name{
	reason.NoSource, reason.CannotCreate, reason.Hidden, reason.PartlyCreated, reason.VolumeInUse, reason.MayExist,
}

// unusable returns why dependent guests wait for a guest that does not exist and will not be created soon.
func unusable(p Guest) string {
	for _, c := range p.Conditions {
		switch c.Type {
		case NotObserved:
			return "was not read, so it may not exist"
		case IdentityConflict:
			return "does not exist: another guest has its vmid"
		case Blocked:
			if slices.Contains(notCreated, c.Reason) {
				return "does not exist: " + c.Message
			}
			if c.Reason == reason.NoSecret {
				return "waits for a secret: " + c.Message
			}
		case Drifted, PendingRestart, Held, Failed, Suspended, WaitsFor, Orphaned, Leftover, Warned:
		}
	}
	return ""
}

// Waits returns what a step waits for. Only steps that wait for other guests may be asked for: see Step.NeedsDependencies and Step.TakesDown.
func (o Ordering) Waits(step Step) Wait {
	if step.TakesDown() {
		for _, d := range o.takenDown[step.Guest] {
			return Wait{Message: fmt.Sprintf("%s depends on it, and %s", d.ref.Label(), d.first)}
		}
		return Wait{}
	}
	if why := o.images[step.Guest.Label()]; why != "" && step.Op == cluster.OpCreate {
		return Wait{Message: "it is created from " + why}
	}
	if why := o.objectFor(step); why != "" {
		return Wait{Message: "it needs " + why}
	}
	if step.NeedsObject() && !step.NeedsDependencies() {
		return Wait{}
	}
	for _, label := range o.depends[step.Guest.Label()] {
		why := cmp.Or(o.missing[label], o.left[label])
		switch {
		case why != "":
			return Wait{Message: fmt.Sprintf("it depends on %s, which %s", label, why)}
		case o.notReady[label] != "":
			return Wait{Message: fmt.Sprintf("it depends on %s, which is not ready: %s", label, o.notReady[label]), NotReady: true}
		}
	}
	if o.waiting && step.Wave > o.lowest && step.Starts() {
		return Wait{Message: fmt.Sprintf("wave %d comes before wave %d", o.lowest, step.Wave)}
	}
	return Wait{}
}
