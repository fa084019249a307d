package replication

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/kind"

	"github.com/google/go-cmp/cmp"
)

// refusal is an error with Proxmox's text.
type refusal struct{ text string }

func (r refusal) Error() string { return r.text }
func (r refusal) Text() string  { return r.text }

// TestReadAsksForJobsThatAListHides asks for each wanted job that the list lacks: without VM.Audit on the guest it is not listed.
func TestReadAsksForJobsThatAListHides(t *testing.T) {
	replies := map[string]string{
		"/cluster/replication":       `[{"id":"201-0","guest":201,"jobnum":0,"type":"local","target":"pve2","rate":"12.5","disable":0,"source":"pve1"}]`,
		"/cluster/replication/202-0": `{"id":"202-0","guest":202,"target":"pve2","disable":1,"remove_job":"full","comment":"x","digest":"da39a3ee"}`,
		"/cluster/replication/203-0": `{"id":"204-0","target":"pve2"}`,
	}
	get := func(_ context.Context, route, path string) (json.RawMessage, error) {
		reply, found := replies[path]
		switch {
		case route != "/cluster/replication" && route != "/cluster/replication/{id}":
			t.Errorf("got route %s", route)
		case path == "/cluster/replication/205-0":
			return nil, fmt.Errorf("Permission check failed (/vms/205, VM.Audit): %w", cluster.ErrDenied)
		case !found:
			return nil, refusal{"no such replication job '206-0'"}
		}
		return json.RawMessage(reply), nil
	}
	got, err := read(t.Context(), get, []string{"201-0", "202-0", "206-0"})
	want := []cluster.Object{
		{ID: "201-0", Keys: map[string]string{"target": "pve2", "rate": "12.5"}},
		{ID: "202-0", Keys: map[string]string{"target": "pve2", "disable": "1", "remove_job": "full", "comment": "x"}},
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("got error %v, jobs (-want +got)\n%s", err, diff)
	}
	got, err = read(t.Context(), get, []string{"205-0", "202-0"})
	var unread *cluster.UnreadError
	if diff := cmp.Diff(want, got); diff != "" || !errors.As(err, &unread) || len(unread.ByID) != 1 || unread.ByID["205-0"] == nil {
		t.Errorf("a job of a guest without the privilege: got error %v, want one about this job; jobs (-want +got)\n%s", err, diff)
	}
	for _, id := range []string{"203-0", "205-0", "207-0"} {
		if _, err := read(t.Context(), get, []string{id}); err == nil {
			t.Errorf("%s: got no error, want one: it is not known whether the job exists", id)
		}
	}
}

func TestEncode(t *testing.T) {
	tests := map[string]struct {
		call cluster.Call
		want kind.Request
	}{
		"add": {cluster.Call{Op: cluster.OpObjectAdd, Object: "201-0", Params: map[string]string{"target": "pve2"}}, kind.Request{
			Method: "POST", Route: "/cluster/replication", Path: "/cluster/replication", Params: map[string]string{"id": "201-0", "type": "local", "target": "pve2"},
		}},
		"set": {cluster.Call{Op: cluster.OpObjectSet, Object: "201-0", Params: map[string]string{"rate": "5"}, Delete: []string{"comment", "disable"}}, kind.Request{
			Method: "PUT", Route: "/cluster/replication/{id}", Path: "/cluster/replication/201-0", Params: map[string]string{"rate": "5", "delete": "comment,disable"},
		}},
		"remove": {cluster.Call{Op: cluster.OpObjectRemove, Object: "201-0"}, kind.Request{
			Method: "DELETE", Route: "/cluster/replication/{id}", Path: "/cluster/replication/201-0", Params: map[string]string{},
		}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := encode(test.call)
			if diff := cmp.Diff(test.want, got); diff != "" || err != nil {
				t.Errorf("got error %v (-want +got)\n%s", err, diff)
			}
		})
	}
}

// TestEnabledIsTheOppositeOfItsKey lowers and raises the one field that is not the text of its key.
func TestEnabledIsTheOppositeOfItsKey(t *testing.T) {
	k := Kind()
	for text, want := range map[string]string{"0": "1", "1": ""} {
		var d kind.Desired
		k.Complete(&d, kind.Spec{"target": {Text: "pve2"}, "enabled": {Text: text}})
		if got, managed := d.Text(keyDisable); got != want || !managed {
			t.Errorf("enabled %s: got %q, managed %t, want %q", text, got, managed, want)
		}
	}
	raised, left := k.RaiseAll(cluster.Object{Keys: map[string]string{"target": "pve2", "rate": "12.5", "disable": "1", "comment": "x", "remove_job": "full"}})
	if diff := cmp.Diff([]kind.Raised{{Name: "target", Value: "pve2"}, {Name: "rate", Value: "12.5"}, {Name: "enabled", Value: false}}, raised); diff != "" {
		t.Errorf("fields (-want +got)\n%s", diff)
	}
	if diff := cmp.Diff([]string{"remove_job"}, left); diff != "" {
		t.Errorf("left out (-want +got)\n%s", diff)
	}
}

// TestEdges says what a job needs, what it keeps, and what only one may do.
func TestEdges(t *testing.T) {
	t.Parallel()
	d := kind.Desired{Kind: Name, ID: "201-0"}
	live := kind.Want{Desired: d, Live: cluster.Object{ID: "201-0", Keys: map[string]string{keyTarget: "pve2", keyRemoval: "full"}}}
	d.Put(kind.Intent{Key: keyTarget, Text: "pve3"})
	for name, test := range map[string]struct {
		want  kind.Want
		edges []string
	}{
		"wanted": {kind.Want{Desired: d}, []string{"needs-first 201 ", "exclusive-with the copies of guest 201 on pve3 job 201-0 copies guest 201 to pve3, and Proxmox has one job of a guest for each node"}},
		"live": {live, []string{
			"needs-first 201 ", "exclusive-with the copies of guest 201 on pve2 job 201-0 copies guest 201 to pve2, and Proxmox has one job of a guest for each node",
			"keeps-from-removal 201 it has the replication job 201-0, and Proxmox destroys no guest that has one",
		}},
	} {
		var got []string
		for _, e := range Kind().EdgesOf(test.want, kind.World{}) {
			if e.From != d.Key() {
				t.Errorf("%s: got an edge from %s, want all from the job", name, e.From)
			}
			got = append(got, fmt.Sprintf("%s %s %s", e.Why, e.To, e.Text))
		}
		if diff := cmp.Diff(test.edges, got); diff != "" {
			t.Errorf("%s (-want +got)\n%s", name, diff)
		}
	}
	if Kind().Leaving(live.Live) == "" || Kind().Leaving(cluster.Object{ID: "201-0"}) != "" {
		t.Error("want that the job that is marked for removal leaves, and no other")
	}
}
