package backupjob

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"gitops-agent/internal/pvesim/effect"
	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/kind"
)

// TestRestorePointsStay changes jobs and the pool of a guest at random, as far as no change is a weakening. After each change, Proxmox would keep every restore point of the guest that it
// would have kept without it. What Proxmox keeps is simulated: all jobs run for some weeks, and each run prunes as vzdump does.
func TestRestorePointsStay(t *testing.T) {
	t.Parallel()
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 46))
		jobs, pool := map[string]cluster.Object{}, "web"
		for range 6 {
			next, to, what := changedAtRandom(r, jobs, pool)
			if len(what) == 0 {
				continue
			}
			before, after := restorePoints(jobs, pool, jobs, pool), restorePoints(jobs, pool, next, to)
			for point := range before {
				if !after[point] {
					t.Fatalf("seed %d: %s of %v takes the restore point %s, and is no weakening", seed, what, jobs, point)
				}
			}
			jobs, pool = next, to
		}
	}
}

func pick[T any](r *rand.Rand, of ...T) T { return of[r.IntN(len(of))] }

// changedAtRandom returns jobs and pool after a change that is no weakening, and what it does, "" if it is one.
func changedAtRandom(r *rand.Rand, jobs map[string]cluster.Object, pool string) (next map[string]cluster.Object, to, what string) {
	world := kind.World{Guests: []kind.Guarded{{Ref: guest.Ref{Kind: guest.VirtualMachine, Name: "db", VMID: 201}, Guards: []guest.GuardField{guest.GuardBackup}}}}
	world.Observed.Inventory.Rows = []cluster.Row{{VMID: 201, Node: "pve1", Pool: pool}, {VMID: 202, Node: "pve1"}}
	world.Observed.Objects = map[guest.Kind]cluster.Objects{Name: {ByID: jobs}, cluster.Storages: readStorages()}
	id := pick(r, "a", "b", "c")
	var all []kind.Lasting
	for _, other := range slices.Sorted(maps.Keys(jobs)) {
		l := kind.Lasting{Now: jobs[other], Next: jobs[other]}
		if all = append(all, l); other != id {
			world.Others = append(world.Others, l)
		}
	}
	if r.IntN(6) == 0 {
		to = pick(r, "web", "lab")
		at := func(pool string) kind.Place { return kind.Place{VMID: 201, Node: "pve1", Pool: pool} }
		if len(Move(kind.World{Others: all, Observed: world.Observed}, nil, at(pool), at(to))) > 0 {
			return nil, "", ""
		}
		return jobs, to, "a move to " + to
	}
	live, exists := jobs[id]
	next = maps.Clone(jobs)
	c := kind.Change{Op: cluster.OpObjectAdd, ID: id, Got: live}
	switch {
	case exists && r.IntN(4) == 0:
		c.Op, what = cluster.OpObjectRemove, "the removal of "+id
		delete(next, id)
	default:
		keys := jobAtRandom(r)
		if exists {
			c.Op, keys = cluster.OpObjectSet, mixed(r, live.Keys, keys)
			for key := range live.Keys {
				if keys[key] == "" {
					c.Delete = append(c.Delete, key)
				}
			}
		}
		c.Set, what = keys, fmt.Sprintf("the change of %s to %v", id, keys)
		next[id] = cluster.Object{ID: id, Keys: keys}
	}
	if len(weakens(c, world)) > 0 {
		return nil, "", ""
	}
	return next, pool, what
}

func jobAtRandom(r *rand.Rand) map[string]string {
	keys := map[string]string{
		"enabled": pick(r, "1", "1", "1", "0"), "schedule": pick(r, "hourly", "daily", "sat"), "storage": pick(r, "local", "pbs"),
		"prune-backups": pick(r, "keep-last=1", "keep-last=30", "keep-daily=7", "keep-daily=7,keep-last=3", "keep-daily=9,keep-last=3", "keep-all=1"), "remove": pick(r, "1", "1", "1", "0"),
		"bwlimit": pick(r, "", "", "1"),
	}
	keys[pick(r, "vmid", "all", "pool")] = "1"
	switch {
	case keys["vmid"] != "":
		keys["vmid"] = pick(r, "201", "202", "201,202")
	case keys["pool"] != "":
		keys["pool"] = pick(r, "web", "lab")
	}
	maps.DeleteFunc(keys, func(_, text string) bool { return text == "" })
	return keys
}

// mixed returns keys of which one is another one; whom a job selects is one.
func mixed(r *rand.Rand, now, other map[string]string) map[string]string {
	keys, selects := maps.Clone(now), []string{"vmid", "all", "pool"}
	changed := pick(r, []string{"enabled"}, []string{"schedule"}, []string{"storage"}, []string{"prune-backups"}, []string{"remove"}, []string{"bwlimit"}, selects)
	for _, key := range changed {
		if keys[key] = other[key]; keys[key] == "" {
			delete(keys, key)
		}
	}
	return keys
}

// restorePoints returns the restore points of guest 201 when some jobs have run, and then others.
func restorePoints(jobs map[string]cluster.Object, pool string, next map[string]cluster.Object, to string) map[string]bool {
	keysOf := func(objects map[string]cluster.Object) effect.Backups {
		keys := effect.Backups{}
		for id, o := range objects {
			keys[id] = o.Keys
		}
		return keys
	}
	return effect.RestorePoints(keysOf(jobs), effect.Guest{VMID: 201, Pool: pool}, keysOf(next), effect.Guest{VMID: 201, Pool: to})
}
