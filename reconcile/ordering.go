package reconcile

import (
	"fmt"

	"gitops-agent/reconcile/guest"
)

// ordering says which creates and starts have to wait for others: for what they depend on, and for lower waves.
type ordering struct {
	depends map[int][]string  // labels by vmid
	pending map[string]string // by label, why others cannot build on it yet
	lowest  int               // the lowest wave with a guest to create or start
	waiting bool              // there is such a wave
}

// newOrdering reads the order off a plan.
func newOrdering(plan Plan, guests []guest.Desired) ordering {
	o := ordering{depends: make(map[int][]string), pending: make(map[string]string)}
	for _, d := range guests {
		if len(d.DependsOn) > 0 {
			o.depends[d.VMID] = d.DependsOn
		}
	}
	for _, p := range plan.Guests {
		why := notThere(p)
		if why == "" || !p.Managed {
			continue
		}
		o.pending[p.Ref.Label()] = why
		if !o.waiting || p.Wave < o.lowest {
			o.lowest, o.waiting = p.Wave, true
		}
	}
	return o
}

// notThere returns why nothing can build on the guest yet.
func notThere(p GuestPlan) string {
	for _, s := range p.Steps {
		switch s.Op {
		case OpCreate:
			return "does not exist yet"
		case OpStart:
			return "is not running yet"
		case OpConfig, OpResize, OpShutdown, OpStop, OpDestroy:
		}
	}
	for _, c := range p.Conditions {
		if c.Type == NotObserved || c.Reason == "half-made" {
			return "is not known to be there"
		}
	}
	return ""
}

// waits returns what a create or start has to wait for.
func (o ordering) waits(step Step) string {
	for _, label := range o.depends[step.Guest.VMID] {
		if why := o.pending[label]; why != "" {
			return fmt.Sprintf("it depends on %s, which %s", label, why)
		}
	}
	if o.waiting && step.Wave > o.lowest {
		return fmt.Sprintf("wave %d comes before wave %d", o.lowest, step.Wave)
	}
	return ""
}
