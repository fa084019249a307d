// Package replication describes the kind Replication: Proxmox copies the local volumes of a guest to another node again and again.
package replication

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/edge"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/kind"
	"gitops-agent/reconcile/object"
	"gitops-agent/reconcile/reason"
)

// Name is the kind in manifests and labels.
const Name guest.Kind = "Replication"

const (
	keyTarget  = "target"
	keyDisable = "disable"
	keyRemoval = "remove_job" // Proxmox removes the job and, with full, the copies
)

// jobs are the jobs in the API.
var jobs = kind.Collection{Path: "/cluster/replication", ID: "id"}

// Kind returns the kind.
func Kind() *kind.Kind {
	k := &kind.Kind{
		Name: Name, Noun: "replication job", Plural: "replication jobs",
		Fields: []kind.Field{
			{Name: "target", Key: keyTarget, Fixed: true, Required: "the node that receives the copies", Doc: "Node to which the volumes are copied. Proxmox cannot change it.", Form: kind.Text{Want: "the name of a node", Examples: []string{"pve2"}, Pattern: `[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?`, Max: 63}},
			{Name: "schedule", Key: "schedule", Doc: "When the volumes are copied, as a calendar event of Proxmox. Proxmox's default: */15, every 15 minutes.", Form: kind.CalendarEvent("*/15", "mon..fri 22:00")},
			{Name: "rate", Key: "rate", Doc: "Limit in megabytes a second.", Form: kind.Text{Want: "a number of at least 1", Examples: []string{"10", "12.5"}, Pattern: `[1-9][0-9]*(\.[0-9]*[1-9])?`, Max: 16, Number: true}},
			{Name: "enabled", Doc: "Whether the job runs.", Form: kind.Flag{}},
		},
		ID: kind.IDRule{
			Want: "the vmid of the guest and a number of the job", Examples: []string{"201-0"}, Max: 19, Pattern: `[1-9][0-9]{2,8}-[0-9]{1,9}`,
		},
		Note:     kind.CommentRule{Key: "comment", Max: 1024, ASCII: true},
		Lower:    lower,
		Read:     read,
		AsksEach: true,
		Encode:   encode,
		Edges:    edges,
		Mark:     kind.Mark{Key: keyRemoval, Text: "the node of the guest removes it and what it copied"},
		Nodes: func(d kind.Desired) []string {
			target, _ := d.Text(keyTarget)
			return []string{target}
		},
		Privileges: privileges,
	}
	k.Raise = func(o cluster.Object) ([]kind.Raised, []string) { return raise(k, o) }
	return k
}

// lower turns enabled into the key, which says the opposite.
func lower(spec kind.Spec, d *kind.Desired) []kind.Problem {
	if v, set := spec["enabled"]; set {
		in := kind.Intent{Key: keyDisable, Origin: v.Origin}
		if v.Text == "0" {
			in.Text = "1"
		}
		d.Put(in)
	}
	return nil
}

// vmidOf returns the guest of a job, 0 if its id names none.
func vmidOf(id string) int {
	vmid, _, _ := strings.Cut(id, "-")
	n, _ := strconv.Atoi(vmid)
	return n
}

// read lists the jobs. The list lacks the jobs of guests on which the token does not have VM.Audit; without it, Proxmox refuses to show one.
//
// Source: PVE API, GET /cluster/replication and /cluster/replication/{id}.
func read(ctx context.Context, get kind.Get, ids []string) ([]cluster.Object, error) {
	list, err := jobs.Read(ctx, get, observed)
	if err != nil {
		return nil, err
	}
	return kind.ReadUnlisted(ids, list, func(id string) (o cluster.Object, exists bool, err error) {
		route, path := jobs.Item(id)
		data, err := get(ctx, route, path)
		if strings.HasSuffix(kind.TextOf(err), "no such replication job '"+id+"'") {
			return o, false, nil
		}
		if err != nil {
			return o, false, err
		}
		rows, err := kind.Rows(json.RawMessage("[" + string(data) + "]"))
		if err != nil || len(rows) != 1 || rows[0].Text("id") != id {
			return o, false, fmt.Errorf("read replication job %s: the reply is not about this job", id)
		}
		return observed(rows[0]), true, nil
	})
}

// observed returns a job in canonical texts. Source is what Proxmox notes for itself, and the digest is that of all jobs.
func observed(row kind.Row) cluster.Object {
	o := cluster.Object{ID: row.Text("id"), Keys: map[string]string{}}
	for _, key := range []string{keyTarget, "schedule", "rate", "comment", keyDisable, keyRemoval} {
		if text := row.Text(key); text != "" && (key != keyDisable || text != "0") {
			o.Keys[key] = text
		}
	}
	return o
}

// encode returns the request of a call. A removal also removes the copies on the target.
//
// Source: PVE API, POST /cluster/replication, PUT and DELETE /cluster/replication/{id}.
func encode(call cluster.Call) (kind.Request, error) {
	r := jobs.Encode(call)
	if call.Op == cluster.OpObjectAdd {
		r.Params["type"] = "local"
	}
	return r, nil
}

// edges returns that a job needs its guest, which Proxmox does not destroy while it has a job, also one that is marked for removal; that Proxmox refuses a second job of a
// guest to a node, also while the first one is being removed; and how a job follows its guest.
//
// Source: PVE::ReplicationConfig write_config, check_for_existing_jobs.
func edges(want kind.Want, world kind.World) []edge.Edge {
	vmid, target := vmidOf(want.ID), want.Text(keyTarget)
	job, of := want.Key(), object.Guest(vmid)
	if want.Reach {
		return []edge.Edge{{From: job, To: of, Why: edge.Reaches}}
	}
	copies := edge.Place(fmt.Sprintf("the copies of guest %d on %s", vmid, target))
	list := []edge.Edge{
		{From: job, To: of, Why: edge.NeedsFirst, Field: "id"},
		{From: job, To: copies, Why: edge.ExclusiveWith, Field: keyTarget, Text: fmt.Sprintf("job %s copies guest %d to %s, and Proxmox has one job of a guest for each node", want.ID, vmid, target)},
	}
	if !want.Exists() {
		return list
	}
	list = append(list, edge.Edge{
		From: job, To: of, Why: edge.KeepsFromRemoval, Text: fmt.Sprintf("it has the replication job %s, and Proxmox destroys no guest that has one", want.ID),
		Hint: reason.RemoveReplication.Text,
	})
	if message, hint := moved(want, vmid, world.Observed); message != "" {
		list = append(list, edge.Edge{From: job, To: of, Why: edge.Follows, Field: keyTarget, Text: message, Hint: hint})
	}
	return list
}

// moved returns what people should know about a job whose target is accepted although the manifest has another one, "" if nothing: the target of the manifest has the
// guest itself, or a copy by another job. When a guest moves to the target of a job, Proxmox lets the job copy to the node from which it came, and no call can change
// it back. A job with the node of its guest as target copies nothing.
//
// Source: PVE::ReplicationConfig switch_replication_job_target, and PVE::ReplicationState job_status.
func moved(want kind.Want, vmid int, got cluster.Snapshot) (message, hint string) {
	wanted, isWanted := want.Desired.Text(keyTarget)
	row, exists := got.Inventory.Row(vmid)
	if !isWanted || !exists {
		return "", ""
	}
	target := want.Live.Keys[keyTarget]
	if target == wanted {
		if row.Node != target {
			return "", ""
		}
		return fmt.Sprintf("guest %d is on %s, the target of the job, so nothing is copied", vmid, target),
			reason.MoveGuest.Text
	}
	has := fmt.Sprintf("guest %d is there", vmid)
	if row.Node != wanted {
		by, isCopied := jobTo(wanted, vmid, got)
		if !isCopied {
			return "", ""
		}
		has = fmt.Sprintf("job %s copies there", by)
	}
	return fmt.Sprintf("Proxmox copies to %s and not to %s, since the guest was moved: %s", target, wanted, has),
		reason.AwaitReturn.With(wanted)
}

// jobTo returns the job of a guest that copies to a node.
func jobTo(node string, vmid int, got cluster.Snapshot) (id string, exists bool) {
	for _, id := range slices.Sorted(maps.Keys(got.Objects[Name].ByID)) {
		if vmidOf(id) == vmid && got.Objects[Name].ByID[id].Keys[keyTarget] == node {
			return id, true
		}
	}
	return "", false
}

// privileges returns what the token needs on the guest.
//
// Source: PVE API, permissions of /cluster/replication.
func privileges(d kind.Desired) []guest.Need {
	path := fmt.Sprintf("/vms/%d", vmidOf(d.ID))
	return []guest.Need{
		{Path: path, Privilege: "VM.Audit", Key: "id", Origin: d.Origin}, {Path: path, Privilege: "VM.Replicate", Key: "id", Origin: d.Origin},
	}
}

// raise returns the fields of the manifest that describes a job, and the keys that no field describes.
func raise(k *kind.Kind, o cluster.Object) (raised []kind.Raised, left []string) {
	raised, left = k.RaiseKeys(o.Keys)
	if o.Keys[keyDisable] == "1" {
		raised = append(raised, kind.Raised{Name: "enabled", Value: false})
	}
	return raised, slices.DeleteFunc(left, func(key string) bool { return key == keyDisable })
}
