package plan

import (
	"maps"
	"slices"
	"sync"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/edge"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/kind"
	"gitops-agent/reconcile/kinds"
)

// derived is what guests and objects are planned among. Each value is derived once in a plan, at its first use: a plan of all guests needs it for each of them, and the
// plan of one guest seldom. It is not safe for concurrent use.
type derived struct {
	firewall    func() *kind.FirewallObjects
	live        func() *edge.Graph          // the edges of the objects as they are
	refs        func() map[string]guest.Ref // of the guests that manifests name, by label
	managedByHA func() map[int]bool         // vmids
	nodesByHA   func() map[string]string    // of the guests that the HA manager runs, by its names
	rules       func() []kinds.AffinityRule // that Proxmox has and that are enabled
	conflicts   func() []kinds.Conflict     // of placements and rules of manifests

	editedJobs func() map[string]string // what backup jobs that somebody has edited back up less, by id

	want Desired
	got  cluster.Snapshot
	stay map[guest.Kind][]kind.Lasting
}

func newDerived(want Desired, got cluster.Snapshot) *derived {
	d := &derived{got: got, stay: make(map[guest.Kind][]kind.Lasting)}
	want.derived = d
	d.want = want
	d.firewall = sync.OnceValue(func() *kind.FirewallObjects { return firewallObjects(want, got) })
	d.live = sync.OnceValue(func() *edge.Graph { return edge.New(kind.LiveEdges(kinds.All(), got)) })
	d.refs = sync.OnceValue(func() map[string]guest.Ref {
		refs := make(map[string]guest.Ref)
		for _, list := range [][]guest.Desired{want.Others, want.Guests} {
			for i := range list {
				refs[list[i].Label()] = list[i].Ref
			}
		}
		return refs
	})
	d.managedByHA = sync.OnceValue(func() map[int]bool { return managedByHA(got) })
	d.nodesByHA = sync.OnceValue(func() map[string]string { return nodesByHA(got) })
	d.rules = sync.OnceValue(func() []kinds.AffinityRule {
		return kinds.LiveRules(want.Objects.whole().Wanted, got.Objects[kinds.AffinityRules].ByID)
	})
	d.conflicts = sync.OnceValue(func() []kinds.Conflict {
		guests := want.Guests
		if want.ClusterContext != nil {
			guests = want.Others
		}
		return kinds.Conflicts(want.Objects.whole().Wanted, guests)
	})
	d.editedJobs = sync.OnceValue(func() map[string]string { return editedJobs(d.want.Objects.whole(), got) })
	return d
}

// lasting returns the objects of a kind that exist and stay, sorted by id. What manifests leave alone stays as it is. A backup job that somebody has edited so that it
// backs up less is none to rely on.
func (d *derived) lasting(k *kind.Kind) []kind.Lasting {
	if stay, known := d.stay[k.Name]; known {
		return stay
	}
	all := d.want.Objects.whole()
	wanted := make(map[string]kind.Desired)
	for _, w := range all.Wanted {
		if w.Kind == k.Name {
			wanted[w.ID] = w
		}
	}
	var stay []kind.Lasting
	live := d.got.Objects[k.Name].ByID
	for _, id := range slices.Sorted(maps.Keys(live)) {
		now := live[id]
		w, isWanted := wanted[id]
		_, isOwned := all.Owned[journal.ObjectID{Kind: string(k.Name), ID: id}]
		switch {
		case isOwned && !isWanted, k.Name == kinds.BackupJobs && d.editedJobs()[id] != "":
			continue
		case isWanted:
			if resolved, blocked := resolveGuests(k, w, d.want, d.got, now); blocked == nil {
				stay = append(stay, kind.Lasting{Now: now, Next: asWanted(now, resolved)})
				continue
			}
		}
		stay = append(stay, kind.Lasting{Now: now, Next: now})
	}
	d.stay[k.Name] = stay
	return stay
}
