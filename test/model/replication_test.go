package model_test

import (
	"context"
	"fmt"
	"maps"
	"strconv"
	"strings"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/kind/replication"
	"gitops-agent/reconcile/kinds"
	"gitops-agent/reconcile/object"
	"gitops-agent/reconcile/plan"
)

const (
	keyComment = "comment"
	keyRemoval = "remove_job"
)

// job is a job of replication. A call to remove it only marks it; it stays listed until the node of its guest has removed the copies.
type job struct {
	keys    map[string]string
	foreign bool // a person made it
	late    bool // a call made it that was stuck inside Proxmox
}

func (j *job) isLeaving() bool { return j.keys[keyRemoval] != "" }

// jobLabel is the label of a job, and of its lane.
func jobLabel(id string) string { return string(replication.Name) + "/" + id }

// addGuestsOf adds the guests of jobs. A person made them: the jobs alone are the agent's.
func (w *world) addGuestsOf(jobs []string) {
	for _, id := range jobs {
		text, _, _ := strings.Cut(id, "-")
		vmid, _ := strconv.Atoi(text)
		w.guests[vmid] = &machine{vmid: vmid, foreign: true, keys: map[string]string{"name": "copied"}, pending: map[string]string{}}
	}
}

// actOnJob carries out a call about a job as Proxmox does.
func (w *world) actOnJob(call cluster.Call) error {
	j, exists := w.jobs[call.Object]
	switch {
	case call.Op == cluster.OpObjectAdd && exists:
		return fmt.Errorf("create replication job failed: job '%s' already exists: %w", call.Object, cluster.ErrConflict)
	case call.Op == cluster.OpObjectAdd:
		w.jobs[call.Object] = &job{keys: maps.Clone(call.Params)}
	case !exists:
		return fmt.Errorf("no such job '%s': %w", call.Object, cluster.ErrNotExist)
	case call.Op == cluster.OpObjectRemove:
		j.keys[keyRemoval] = "full"
	default:
		maps.Copy(j.keys, call.Params)
		for _, key := range call.Delete {
			delete(j.keys, key)
		}
	}
	return nil
}

// listedJobs are the jobs as Proxmox lists them.
func (w *world) listedJobs() map[string]cluster.Object {
	jobs := map[string]cluster.Object{}
	for id, j := range w.jobs {
		jobs[id] = cluster.Object{ID: id, Keys: maps.Clone(j.keys)}
	}
	return jobs
}

// jobActions returns what the nodes of the guests and the engine do about jobs that are being removed, at any moment after the call. Neither interferes.
func (r *run) jobActions() []action {
	var list []action
	for _, id := range r.scenario.jobs {
		if j := r.world.jobs[id]; j != nil && j.isLeaving() {
			list = append(list, action{"the node removes the copies of job " + id, func() { delete(r.world.jobs, id) }})
		}
		if r.process.isRecordObsolete(id) {
			list = append(list, action{"the engine ends the record of job " + id, func() {
				record := journal.DisownedObject{Kind: string(replication.Name), ID: id, Reason: "gone"}
				if err := r.process.journal.Append(context.Background(), record); err != nil {
					r.violate("end the record: %v", err)
				}
			}})
		}
	}
	return list
}

// isRecordObsolete reports whether the engine ends the record of a job: no manifest describes the job, no step of it is under way, and it is gone or lost its marker.
func (p *process) isRecordObsolete(id string) bool {
	state := p.journal.State()
	owned, isOwned := state.Objects[journal.ObjectID{Kind: string(replication.Name), ID: id}]
	if !isOwned || p.turns[object.Key{Label: jobLabel(id)}] != nil {
		return false
	}
	for _, open := range state.Open {
		if open.Detail[journal.DetailObject] == id {
			return false
		}
	}
	for _, d := range p.now.Objects {
		if d.Kind == replication.Name && d.ID == id {
			return false
		}
	}
	k, _ := kinds.Of(guest.Kind(owned.Kind))
	live, exists := p.listedJobs()[id]
	return !exists || !plan.IsOwnedObject(k, owned, live)
}

// checkJobs requires that a job which the agent made has its record as long as Proxmox lists the job: only the record says that the job is the agent's.
// A job of a late call may come when its record has ended.
func (r *run) checkJobs() {
	for _, id := range r.scenario.jobs {
		j := r.world.jobs[id]
		if _, isOwned := r.process.journal.State().Objects[journal.ObjectID{Kind: string(replication.Name), ID: id}]; j != nil && !j.foreign && !j.late && !isOwned {
			r.violate("job %s has no record any more, and Proxmox still lists it", id)
		}
	}
}

// jobReplaced is a person who removes a job at once and makes another one with its id.
func jobReplaced(id string) event {
	return event{
		name:     fmt.Sprintf("a person replaces job %s by another one", id),
		possible: func(r *run) bool { return r.world.jobs[id] == nil || !r.world.jobs[id].foreign },
		happen: func(r *run) {
			r.world.jobs[id] = &job{foreign: true, keys: map[string]string{"target": "pve2", keyComment: "made by hand"}}
		},
	}
}
