// Package pool describes the kind Pool: a named set of guests and storages, on which permissions are given. Which guests are in a pool is a matter of the guests.
package pool

import (
	"context"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/edge"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/kind"
	"gitops-agent/reconcile/object"
	"gitops-agent/reconcile/writer"
)

// Name is the kind in manifests and labels.
const Name guest.Kind = "Pool"

// route is the path of every call. A nested pool has a slash in its id, with which Proxmox accepts no path of its own.
const route = "/pools"

// Kind returns the kind.
func Kind() *kind.Kind {
	return &kind.Kind{
		Name: Name, Noun: "pool", Plural: "pools",
		ID: kind.IDRule{
			Want: "the id of a pool, with the ids of the pools around it", Examples: []string{"web", "prod/web"}, Max: 255,
			Pattern: `[A-Za-z][A-Za-z0-9._-]*(/[A-Za-z][A-Za-z0-9._-]*){0,2}`,
		},
		Note:     kind.CommentRule{Key: "comment", Max: 1024},
		Lower:    needParent,
		Reserved: reserved,
		Read:     read,
		AsksEach: true,
		Encode:   encode,
		Edges:    edges,
		Check:    check,
		Privileges: func(d kind.Desired) []guest.Need {
			path := "/pool/" + d.ID
			return []guest.Need{
				{Path: path, Privilege: "Pool.Allocate", Key: "id", Origin: d.Origin},
				{Path: path, Privilege: "Pool.Audit", Key: "id", Origin: d.Origin},
			}
		},
	}
}

// reserved protects the pool whose comment contains the floor and the mark of the writer.
func reserved(id string) string {
	if id == writer.Pool || strings.HasPrefix(id, writer.Pool+"/") {
		return "the agent keeps its own records in the comment of this pool"
	}
	return ""
}

// needParent lets a nested pool wait for the pool around it.
func needParent(_ kind.Spec, d *kind.Desired) []kind.Problem {
	if i := strings.LastIndexByte(d.ID, '/'); i >= 0 {
		d.Needs = append(d.Needs, kind.Need{Kind: Name, ID: d.ID[:i]})
	}
	return nil
}

// read lists the pools. Proxmox lists only those on which the token has Pool.Audit, and answers about one pool without this privilege.
//
// Source: PVE API, GET /pools, with and without poolid.
func read(ctx context.Context, get kind.Get, ids []string) ([]cluster.Object, error) {
	pools, err := kind.Collection{Path: route}.Read(ctx, get, observed)
	if err != nil {
		return nil, err
	}
	return kind.ReadUnlisted(ids, pools, func(id string) (o cluster.Object, exists bool, err error) {
		data, err := get(ctx, route, route+"?poolid="+url.QueryEscape(id))
		if strings.HasSuffix(kind.TextOf(err), "pool '"+id+"' does not exist") {
			return o, false, nil
		}
		if err != nil {
			return o, false, err
		}
		rows, err := kind.Rows(data)
		if err != nil || len(rows) != 1 || rows[0].Text("poolid") != id {
			return o, false, fmt.Errorf("read pool %s: the reply is not about this pool alone", id)
		}
		return observed(rows[0]), true, nil
	})
}

func observed(row kind.Row) cluster.Object {
	o := cluster.Object{ID: row.Text("poolid"), Keys: map[string]string{}}
	if comment := row.Text("comment"); comment != "" {
		o.Keys["comment"] = comment
	}
	return o
}

// encode returns the request of a call. A pool has no key but its comment, which is removed by an empty one.
//
// Source: PVE API, POST, PUT and DELETE /pools.
func encode(call cluster.Call) (kind.Request, error) {
	r := kind.Request{Method: kind.Method(call.Op), Route: route, Path: route, Params: map[string]string{"poolid": call.Object}}
	if comment, set := call.Params["comment"]; set || len(call.Delete) > 0 {
		r.Params["comment"] = comment
	}
	return r, nil
}

// jobKind is the kind of the objects that select the guests of a pool.
const jobKind guest.Kind = "BackupJob"

// jobPool is the key of a job that names the pool.
const jobPool = "pool"

// check reads whether a backup job of the cluster selects a pool that is to be removed. Proxmox removes the pool all the same, and the job then backs up nothing.
//
// Source: PVE API, GET /cluster/backup, which needs Sys.Audit on / and has every job.
func check(ctx context.Context, read kind.Reader, change kind.Change) error {
	if change.Op != cluster.OpObjectRemove {
		return nil
	}
	jobs, err := kind.ReadRows(ctx, read.Get, "/cluster/backup", "/cluster/backup")
	if err != nil {
		return err
	}
	for _, job := range jobs {
		if job.Text(jobPool) == change.ID {
			return &cluster.UsedError{By: selects(job.Text("id"), change.ID, "names")}
		}
	}
	return nil
}

// selects returns the edge from a backup job to the pool whose guests it backs up. How is the verb of its text.
func selects(job, pool, how string) edge.Edge {
	return edge.Edge{
		From: edge.Object(string(jobKind), job), To: edge.Object(string(Name), pool), Why: edge.KeepsFromRemoval, Field: jobPool, Text: "the backup job " + job + " " + how + " it",
	}
}

// edges returns what keeps a pool that is to be removed: what is in it, and the backup jobs that select it, as far as jobs were read; check reads all of them. Proxmox
// refuses to remove a pool with guests, storages or pools in it; it does not list storages with the pools.
func edges(want kind.Want, world kind.World) []edge.Edge {
	if !want.Removed {
		return nil
	}
	var list []edge.Edge
	contains := func(from object.Key, text string) {
		list = append(list, edge.Edge{From: from, To: want.Key(), Why: edge.KeepsFromRemoval, Text: "it contains " + text})
	}
	for _, other := range slices.Sorted(maps.Keys(world.Observed.Objects[Name].ByID)) {
		if strings.HasPrefix(other, want.ID+"/") {
			contains(edge.Object(string(Name), other), "the pool "+other)
		}
	}
	for _, row := range world.Observed.Inventory.Rows {
		if row.Pool == want.ID {
			contains(object.Guest(row.VMID), "guest "+strconv.Itoa(row.VMID))
		}
	}
	jobs := world.Observed.Objects[jobKind].ByID
	for _, job := range slices.Sorted(maps.Keys(jobs)) {
		if jobs[job].Keys[jobPool] == want.ID {
			list = append(list, selects(job, want.ID, "selects"))
		}
	}
	return list
}
