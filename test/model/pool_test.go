package model_test

import (
	"context"
	"fmt"
	"hash/fnv"
	"strings"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/kind/replication"
	"gitops-agent/reconcile/object"
)

// foreignPool is the comment of a pool that a person made.
const foreignPool = "made by hand"

// isForeign reports whether a call is about something that a person made.
func (w *world) isForeign(call cluster.Call) bool {
	if call.Kind == replication.Name {
		j := w.jobs[call.Object]
		return j != nil && j.foreign
	}
	if call.Op.IsObject() {
		return w.pools[call.Object] == foreignPool
	}
	g := w.guests[call.VMID]
	return g != nil && g.foreign
}

// actOnPool carries out a call about a pool as Proxmox does.
func (w *world) actOnPool(call cluster.Call) error {
	_, exists := w.pools[call.Object]
	switch {
	case call.Op == cluster.OpObjectAdd && exists:
		return fmt.Errorf("create pool failed: pool '%s' already exists: %w", call.Object, cluster.ErrConflict)
	case call.Op != cluster.OpObjectAdd && !exists:
		return fmt.Errorf("pool '%s' does not exist: %w", call.Object, cluster.ErrNotExist)
	case call.Op == cluster.OpObjectRemove:
		delete(w.pools, call.Object)
	default:
		w.pools[call.Object] = call.Params["comment"]
	}
	return nil
}

// Objects reads the pools or the jobs of replication.
func (r reader) Objects(_ context.Context, kind guest.Kind, _ []string) (map[string]cluster.Object, error) {
	if kind == replication.Name {
		return r.listedJobs(), nil
	}
	pools := map[string]cluster.Object{}
	for id, comment := range r.pools {
		pools[id] = cluster.Object{ID: id, Keys: map[string]string{"comment": comment}}
	}
	return pools, nil
}

// CheckObject finds nothing: Proxmox itself refuses to remove a pool that is in use.
func (r reader) CheckObject(context.Context, cluster.Op, guest.Kind, string, object.Key) error {
	return nil
}

// hashOfObject identifies what the turn of a pool or of a job can read. Its random marker counts only as far as the object has it.
func (r *run) hashOfObject(of journal.ObjectID) uint64 {
	h, id := fnv.New64a(), of.ID
	comment, exists := r.world.pools[id]
	if j := r.world.jobs[id]; j != nil && of.Kind == string(replication.Name) {
		comment, exists = j.keys[keyComment], true
		fmt.Fprintf(h, "job %s %v %v %v|", j.keys["schedule"], j.isLeaving(), j.foreign, j.late)
	}
	state := r.process.journal.State()
	owned, isOwned := state.Objects[of]
	has := owned.Marker != "" && strings.HasSuffix(comment, owned.Marker)
	fmt.Fprintf(h, "%s %d %d %v %v %s|", r.force.commit, r.process.epoch, r.waited, exists, has, strings.TrimSuffix(comment, owned.Marker))
	fmt.Fprintf(h, "%v %v %s %s %v|", isOwned, owned.Claiming, owned.Origin, owned.Destroy, r.lateCall != nil && r.lateCall.Object == id)
	for _, o := range state.Open {
		if o.Detail[journal.DetailObject] == id {
			fmt.Fprintf(h, "open %s %d %d %v|", o.Op, o.Dispatched, r.effects[o.Step+" "+o.Op], o.Seq > r.process.first)
		}
	}
	return h.Sum64()
}

// poolReplaced is a person who removes a pool and makes another one with its id.
func poolReplaced(id string) event {
	return event{
		name:     fmt.Sprintf("a person replaces pool %s by another one", id),
		possible: func(r *run) bool { return r.world.pools[id] != foreignPool },
		happen:   func(r *run) { r.world.pools[id] = foreignPool },
	}
}

// poolRemoved is a person who removes a pool.
func poolRemoved(id string) event {
	return event{
		name:     fmt.Sprintf("a person removes pool %s", id),
		possible: func(r *run) bool { _, exists := r.world.pools[id]; return exists },
		happen:   func(r *run) { delete(r.world.pools, id) },
	}
}
