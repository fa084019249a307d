package plan

import (
	"slices"
	"strings"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/reason"
)

// Hindrance is what keeps a guest from being started, or started again, by a step of its plan, by the HA manager or by an order, or a disk from being made or
// from growing, by its step. The zero value is none.
type Hindrance struct {
	Reason  reason.Name
	Message string
	Hint    string
	Lacks   []string // mounts and devices of the manifest that a new guest does not have, and that only root@pam may give it; sorted
	After   []Step   // the steps of the plan that end it; empty if no step does
}

// IsSet reports whether there is a hindrance.
func (h Hindrance) IsSet() bool { return h.Reason != "" }

// Waits reports whether no step of the agent ends the hindrance.
func (h Hindrance) Waits() bool { return h.IsSet() && len(h.After) == 0 }

// hindranceOf returns what keeps a guest from being started: the HA manager that gave it up; a secret that it never got, since its first boot would set it up without it; a firewall that is not known; a node that is too small;
// and the mounts and devices that a guest that the agent created does not have before its first start, since a program that finds its folder empty begins again from
// nothing, in the guest's own volume. Lifecycle.startWithout of the manifest waives single mounts and devices.
func hindranceOf(p Guest, want Desired, d *guest.Desired, live guest.Observed, owned journal.Owned, inventory cluster.Inventory) Hindrance {
	if live.Status == guest.StatusRunning {
		return nodeIsTooSmall(d, live, live.Node, inventory)
	}
	if i := slices.IndexFunc(p.Conditions, func(c Condition) bool { return c.Reason == reason.HAError }); i >= 0 {
		return Hindrance{Reason: reason.HAError, Message: p.Conditions[i].Message, Hint: p.Conditions[i].Hint}
	}
	if c := neverGiven(want, d, live, owned); c != nil {
		return Hindrance{Reason: c.Reason, Message: c.Message, Hint: c.Hint}
	}
	if d.Firewall != nil && !firewallKnown(live) {
		return Hindrance{Reason: reason.NotObserved, Message: unreadFirewall(live)}
	}
	if h := nodeIsTooSmall(d, live, live.Node, inventory); h.IsSet() && live.Status == guest.StatusStopped {
		return h
	}
	if !owned.Unstarted || live.Status != guest.StatusStopped {
		return Hindrance{}
	}
	if impossible := neededAndImpossible(d, p.Changes); len(impossible) > 0 {
		return Hindrance{Reason: reason.Impossible, Message: beforeFirstStart + strings.Join(impossible, "; "), Hint: reason.ChangeByHand.Text}
	}
	if h := lacksRoot(d, p.Changes, live.Node); h.IsSet() {
		return h
	}
	gives := func(c guest.Change) bool { return c.From == "" && isNeeded(d, c) }
	h := Hindrance{Reason: reason.WaitsFor, Message: beforeFirstStart}
	var keys []string
	for _, s := range p.Steps {
		if s.Op != cluster.OpConfig || !slices.ContainsFunc(s.Changes, gives) {
			continue
		}
		h.After = append(h.After, s)
		for _, c := range s.Changes {
			if gives(c) {
				keys = append(keys, c.Key)
			}
		}
	}
	if len(h.After) == 0 {
		return Hindrance{}
	}
	slices.Sort(keys)
	h.Message += strings.Join(slices.Compact(keys), ", ")
	return h
}

const beforeFirstStart = "a new guest is not started for the first time before its configuration has "

// lacksRoot returns the hindrance of a new guest that lacks what only root@pam may give it.
func lacksRoot(d *guest.Desired, changes []guest.Change, node string) Hindrance {
	var lacks []string
	for _, c := range changes {
		if c.RootOnly && c.RootValue != "" && isNeeded(d, c) {
			lacks = append(lacks, c.Key)
		}
	}
	if len(lacks) == 0 {
		return Hindrance{}
	}
	slices.Sort(lacks)
	keys := strings.Join(lacks, ", ")
	return Hindrance{
		Reason: reason.NeedsRoot, Message: beforeFirstStart + keys + ", which only root@pam may set", Lacks: lacks,
		Hint: reason.SetBeforeStart.With(commandOfRoot(changes, d.Ref, node), keys),
	}
}

// neededAndImpossible returns the mounts and devices of a manifest that no step can give the guest, with the reasons.
func neededAndImpossible(d *guest.Desired, changes []guest.Change) []string {
	var list []string
	for _, c := range changes {
		if !c.RootOnly && c.Write == guest.WriteNone && !c.Waits && c.From == "" && c.To != "" && isNeeded(d, c) {
			list = append(list, c.Key+": "+c.Note)
		}
	}
	return list
}

// isNeeded reports whether a change is about a mount or device without which the guest is not started for the first time.
func isNeeded(d *guest.Desired, c guest.Change) bool {
	return guest.IsDevice(d.Kind, c.Key) && !slices.Contains(d.StartWithout, c.Key)
}

// withHindrance notes in the steps that start the guest what keeps it from being started. While it runs, these are its restarts, which would leave it stopped.
func withHindrance(steps []Step, h Hindrance, live guest.Observed) {
	isRunning := live.Status == guest.StatusRunning
	for i := range steps {
		if s := &steps[i]; !isRunning && s.Starts() || isRunning && s.Op == cluster.OpReboot {
			s.Hindrance = h
		}
	}
}
