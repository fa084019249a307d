package plan

import (
	"gitops-agent/reconcile/guard"
	"gitops-agent/reconcile/guest"
)

// addWeakenings adds a step for each weakening: to every guest that it concerns, or to the plan if it concerns the Cluster. The steps of one
// weakening have one digest, so one approval releases all of them.
func addWeakenings(p *Plan, weakenings []guard.Weakening) {
	if len(weakenings) == 0 {
		return
	}
	index := make(map[int]*Guest, len(p.Guests))
	for i := range p.Guests {
		index[p.Guests[i].Ref.VMID] = &p.Guests[i]
	}
	for i := range weakenings {
		w := &weakenings[i]
		if len(w.Guests) == 0 {
			p.Guards = append(p.Guards, WeakeningStep(guest.Ref{}, w))
		}
		for _, o := range w.Guests {
			if g := index[o.VMID]; g != nil && o.VMID != 0 {
				g.Guards = append(g.Guards, WeakeningStep(g.Ref, w))
			}
		}
	}
}

// OpensFirewall reports whether a step puts a guarded firewall into force that may admit more. Once it is in force, the firewall of the guest in the cluster changes.
func (s Step) OpensFirewall() bool { return s.Weakens != nil && s.Weakens.Field == guest.GuardFirewall }

// WeakeningStep returns the step that puts a weaker guard into force. Ref is the guest that the step is shown with; zero for the Cluster.
func WeakeningStep(ref guest.Ref, w *guard.Weakening) Step {
	return Step{Guest: ref, Op: OpWeaken, Class: guest.Live, Weakens: w, Reason: w.String()}
}
