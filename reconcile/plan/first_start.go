package plan

import (
	"slices"
	"strings"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/reason"
)

// holdFirstStart plans the first start of a guest that the agent created, after the mounts and devices of its manifest: a program that finds its folder empty begins
// again from nothing, in the guest's own volume. What only root@pam may set is named in the steps that start the guest, and the gate holds them. What no step can
// write for another reason has a condition, so that the start is left out. Lifecycle.startWithout of the manifest waives both.
func holdFirstStart(p Guest, d *guest.Desired, live guest.Observed) Guest {
	for i := range p.Steps {
		s := &p.Steps[i]
		s.BeforeStart = s.Op == cluster.OpConfig && slices.ContainsFunc(s.Changes, func(c guest.Change) bool { return c.From == "" && isNeeded(d, c) })
	}
	neverWritten := func(c guest.Change) bool {
		return !c.RootOnly && c.Write == guest.WriteNone && !c.Waits && c.From == "" && c.To != "" && isNeeded(d, c)
	}
	if slices.ContainsFunc(p.Changes, neverWritten) {
		return withoutStart(p, live)
	}
	return withLacks(p, d, live.Node)
}

// withLacks names in the steps that start a new guest what it would lack that only root@pam may set.
func withLacks(p Guest, d *guest.Desired, node string) Guest {
	lacks := lacking(d, p.Changes)
	if len(lacks) == 0 {
		return p
	}
	hint := reason.SetBeforeStart.With(commandOfRoot(p.Changes, d.Ref, node), strings.Join(lacks, ", "))
	for _, steps := range [][]Step{p.Steps, p.Orders} {
		for i := range steps {
			if s := &steps[i]; s.Op != cluster.OpCreate && s.Starts() {
				s.Lacks, s.LacksHint = lacks, hint
			}
		}
	}
	return p
}

// lacking returns the mounts and devices of a manifest that only root@pam may give the guest, sorted.
func lacking(d *guest.Desired, changes []guest.Change) []string {
	var lacks []string
	for _, c := range changes {
		if c.RootOnly && c.RootValue != "" && isNeeded(d, c) {
			lacks = append(lacks, c.Key)
		}
	}
	slices.Sort(lacks)
	return lacks
}

// isNeeded reports whether a change is about a mount or device without which the guest is not started for the first time.
func isNeeded(d *guest.Desired, c guest.Change) bool {
	return guest.IsDevice(d.Kind, c.Key) && !slices.Contains(d.StartWithout, c.Key)
}
