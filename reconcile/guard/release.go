package guard

import (
	"maps"
	"slices"
	"strconv"

	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/manifest"
)

// Release returns the records that put weakenings into force. They must be weakenings that Resolve found for the same input.
func Release(in Input, approved []Weakening) []journal.Body {
	wanted := make(map[int]*guest.Desired, len(in.Guests))
	byLabel := make(map[string]*guest.Desired)
	for i := range in.Guests {
		wanted[in.Guests[i].VMID] = &in.Guests[i]
	}
	for i := range in.Guests {
		byLabel[in.Guests[i].Label()] = &in.Guests[i]
	}
	var records []journal.Body
	changed := map[int]journal.Guarded{}
	var cluster *journal.ClusterGuarded
	for _, w := range approved {
		if name, is := PolicyOf(w.Field); is {
			records = append(records, releasePolicy(in, name)...)
			continue
		}
		if len(w.Guests) == 0 {
			cluster = releaseCluster(in, w, cluster)
			continue
		}
		for _, o := range w.Guests {
			if w.Field == GuardPlace {
				records = append(records, journal.Left{VMID: o.VMID})
				continue
			}
			d := wanted[o.VMID]
			if d == nil {
				d = byLabel[o.Label()] // its manifest names another vmid
			}
			if d == nil {
				continue
			}
			g, known := changed[o.VMID]
			if !known {
				if g, known = InForce(in.State, o.VMID); !known {
					continue
				}
				g = completed(g, in.Minimum.of(Of(d)))
			}
			changed[o.VMID] = released(g, w, in.Minimum.of(Of(d)))
		}
	}
	if cluster != nil {
		records = append(records, *cluster)
	}
	for _, vmid := range slices.Sorted(maps.Keys(changed)) {
		records = append(records, changed[vmid])
	}
	return records
}

// released returns the guards of one guest with one of them weakened.
func released(g journal.Guarded, w Weakening, wanted journal.Guarded) journal.Guarded {
	if w.Field == guest.GuardVMID {
		g.Rules.MovedTo = wanted.VMID
		return g
	}
	for _, f := range fields {
		if f.name == w.Field {
			f.take(&g, &wanted)
		}
	}
	if w.Field == guest.GuardProtection {
		g.Rules.ProtectionLifted = g.Rules.Protection == string(guest.ProtectionOff)
	}
	return g
}

// releaseCluster returns the record of the Cluster's guards with one of them weakened.
func releaseCluster(in Input, w Weakening, before *journal.ClusterGuarded) *journal.ClusterGuarded {
	next := journal.ClusterGuarded(in.Minimum.ofCluster(in.Cluster.Guards))
	if before != nil {
		next = *before
	} else if in.State.ClusterGuards != nil {
		next = *in.State.ClusterGuards
	}
	value, err := strconv.Atoi(w.New)
	switch {
	case err != nil:
	case w.Field == ClusterApprovals:
		next.Approvals = value
	case w.Field == ClusterMaxDestroy:
		next.MaxDestroysPerDay = value
	}
	return &next
}

// AcceptCluster returns the guards of the Cluster that the journal records with the acceptance of a revision, and whether they differ from its
// present record: the stronger ones of the manifest and of those in force.
func AcceptCluster(wanted manifest.Guards, state journal.State) (journal.ClusterGuarded, bool) {
	next := journal.ClusterGuarded(wanted)
	if now := state.ClusterGuards; now != nil {
		next.Approvals, next.MaxDestroysPerDay = max(next.Approvals, now.Approvals), min(next.MaxDestroysPerDay, now.MaxDestroysPerDay)
		return next, next != *now
	}
	return next, true
}
