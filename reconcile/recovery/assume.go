package recovery

import (
	"time"

	"gitops-agent/reconcile/guard"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/ownership"
)

// Assume returns the state of an agent that has created the guests of its manifests, as far as their markers show it: vmid, kind and name agree, and no
// other guest has the marker. It is for a plan on a host without the journal, and never for a write: the identities are not the recorded ones, so that
// no digest of a step is right.
func Assume(in Input, at time.Time) journal.State {
	state := journal.State{
		Assigned: make(map[journal.Label]int), Owned: make(map[int]journal.Owned), Guarded: make(map[int]journal.Guarded),
	}
	wanted := make(map[string]*guest.Desired, len(in.Guests))
	for i := range in.Guests {
		wanted[in.Guests[i].Label()] = &in.Guests[i]
	}
	for _, g := range Find(in).Guests {
		d := wanted[g.Manifest]
		if d == nil || g.Verdict != Claimable && g.Verdict != NoVMID {
			continue
		}
		label := journal.Label{Kind: string(d.Kind), Name: d.Name}
		if _, twice := state.Assigned[label]; twice {
			continue
		}
		one := *d
		one.VMID = g.VMID
		owned := ownership.Recovered(one.Ref, g.Marker, g.UUID)
		owned.Origin = journal.Created
		state.Owned[g.VMID] = owned
		state.Guarded[g.VMID] = guard.Begin(&one, owned, in.Got.Guests[g.VMID], journal.State{}, at)
		state.Assigned[label] = g.VMID
	}
	return state
}
