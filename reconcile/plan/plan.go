package plan

import (
	"slices"
	"time"

	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/kind"
)

// Plan is the work that would bring the observed guests to the desired state. It is immutable.
type Plan struct {
	Cluster  string
	Revision string
	Guests   []Guest // by wave, then vmid, then label
	Guards   []Step  // held weakenings of the Cluster's guards
}

// Guest is the part of a plan that concerns one guest.
type Guest struct {
	Ref        guest.Ref
	Node       string
	WhyNode    string // why the agent chose the node; "" if it did not
	Wave       int
	Origin     guest.Origin
	Managed    bool              // a manifest names the guest
	Unmarked   bool              // it is an owned object that lost its marker
	Changes    []guest.Change    // every difference, including those that no step can remove
	Steps      []Step            // in order; the later steps are planned again after the earlier ones ran
	Conditions []Condition       // why a difference has no step
	Orders     []Step            // one-shot operations of signed orders, the oldest first; they come before Steps, and the guest is in sync without them
	Present    bool              // it exists, and is what the manifest means
	ReadAt     time.Time         // of an object of package kinds: when it was read
	Lost       []string          // "exists" if the agent made the guest or object and it is gone; of an Image: the keys of Changes whose files the agent has downloaded before
	Lacking    map[string]string // of an Image: why nothing can be created from it, by node; by "" if all nodes share its storage
	Started    bool              // the guest was created and not seen started yet, and now it is
	Configured bool              // the guest was created and not seen configured yet, and now it has what its manifest lists under ignoreFields
	Guards     []Step            // held weakenings of its guards; they change nothing in the cluster, and no other step waits for them

	awaits    guest.Ref       // of a clone that is not made yet: the guest of a manifest that is going to be its template; the zero Ref if it waits for none
	Schedules []kind.Schedule // of an object: when Proxmox runs it
	NeverRuns bool            // of an object with a schedule: there is no next time

	dependents []guest.Ref // of an object that is left alone: the guests whose guards depend on it, sorted

	ruling    string    // which rule decides where the HA manager runs a guest that is on another node than its manifest names, for people; "" if none does
	file      string    // of an Image: the volume that it is kept as
	keptOn    []string  // of an Image: where its file is looked for
	hindrance Hindrance // what keeps the guest from being started

	missing string // why others wait for the run state to which the HA manager has to bring the guest: "is not running yet: ..."; "" if it has it
	stands  bool   // the HA manager does not do that soon
}

// Empty reports whether every guest, and every guard, is as wanted.
func (p Plan) Empty() bool {
	return len(p.Guards) == 0 && !slices.ContainsFunc(p.Guests, func(g Guest) bool { return !g.Empty() })
}

// Empty reports whether the guest has no change, no step, no held weakening and no condition.
func (g Guest) Empty() bool {
	return len(g.Guards) == 0 && len(g.Changes) == 0 && len(g.Steps) == 0 && len(g.Conditions) == 0
}

// Converged reports whether the guest has no step, no change and no condition: in the cluster it is as wanted. Changes that only root@pam may make do
// not count, and neither do warnings: no step of the agent removes them.
func (g Guest) Converged() bool {
	return len(g.Steps) == 0 && !slices.ContainsFunc(g.Changes, func(c guest.Change) bool { return !c.RootOnly }) &&
		!slices.ContainsFunc(g.Conditions, func(c Condition) bool { return c.Type != Warned })
}

// WantsRunState reports whether the plan contains a step to the run state that the manifest wants.
func (g Guest) WantsRunState() bool {
	return slices.ContainsFunc(g.Steps, func(s Step) bool { return s.Op.IsRunState() })
}

// Created returns the record of ownership of a new guest with what the plan found.
func (g Guest) Created(owned journal.Owned) journal.Owned {
	owned.Configuring = owned.Configuring && !g.Configured
	owned.Unstarted = owned.Unstarted && !g.Started
	return owned
}

// Steps returns every step of the plan in order.
func (p Plan) Steps() []Step {
	var steps []Step
	for _, g := range p.Guests {
		steps = append(steps, g.Steps...)
	}
	return steps
}
