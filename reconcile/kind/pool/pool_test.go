package pool

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/kind"

	"github.com/google/go-cmp/cmp"
)

// refusal is an error with Proxmox's text.
type refusal struct{ text string }

func (r refusal) Error() string { return r.text }
func (r refusal) Text() string  { return r.text }

// TestReadAsksForPoolsThatAListHides asks for each wanted pool that the list lacks: without Pool.Audit the list is empty.
func TestReadAsksForPoolsThatAListHides(t *testing.T) {
	replies := map[string]string{
		"/pools":                     `[{"poolid":"web","comment":"x"}]`,
		"/pools?poolid=prod%2Fweb":   `[{"poolid":"prod/web","members":[]}]`,
		"/pools?poolid=swapped":      `[{"poolid":"other"}]`,
		"/pools?poolid=two":          `[{"poolid":"two"},{"poolid":"three"}]`,
		"/pools?poolid=not-readable": "",
	}
	get := func(_ context.Context, route, path string) (json.RawMessage, error) {
		reply, found := replies[path]
		switch {
		case route != "/pools":
			t.Errorf("got route %s", route)
		case !found:
			return nil, refusal{"pool 'gone' does not exist"}
		case reply == "":
			return nil, errors.New("no quorum")
		}
		return json.RawMessage(reply), nil
	}
	got, err := read(t.Context(), get, []string{"web", "prod/web", "gone"})
	want := []cluster.Object{{ID: "web", Keys: map[string]string{"comment": "x"}}, {ID: "prod/web", Keys: map[string]string{}}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("got error %v, pools (-want +got)\n%s", err, diff)
	}
	for _, id := range []string{"swapped", "two", "not-readable", "other-text"} {
		if _, err := read(t.Context(), get, []string{id}); err == nil {
			t.Errorf("%s: got no error, want one: it is not known whether the pool exists", id)
		}
	}
}

func TestEncode(t *testing.T) {
	tests := map[string]struct {
		call   cluster.Call
		method string
		params map[string]string
	}{
		"add":    {cluster.Call{Op: cluster.OpObjectAdd, Object: "a/b", Params: map[string]string{"comment": "x"}}, "POST", map[string]string{"poolid": "a/b", "comment": "x"}},
		"set":    {cluster.Call{Op: cluster.OpObjectSet, Object: "a", Params: map[string]string{"comment": "x"}}, "PUT", map[string]string{"poolid": "a", "comment": "x"}},
		"delete": {cluster.Call{Op: cluster.OpObjectSet, Object: "a", Delete: []string{"comment"}}, "PUT", map[string]string{"poolid": "a", "comment": ""}},
		"remove": {cluster.Call{Op: cluster.OpObjectRemove, Object: "a"}, "DELETE", map[string]string{"poolid": "a"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := encode(test.call)
			if diff := cmp.Diff(kind.Request{Method: test.method, Route: "/pools", Path: "/pools", Params: test.params}, got); diff != "" || err != nil {
				t.Errorf("got error %v (-want +got)\n%s", err, diff)
			}
		})
	}
}

func TestPoolIsKeptByWhatIsInIt(t *testing.T) {
	got := cluster.Snapshot{
		Inventory: cluster.Inventory{Rows: []cluster.Row{{VMID: 201, Pool: "web"}}},
		Objects:   map[guest.Kind]cluster.Objects{Name: {ByID: map[string]cluster.Object{"prod": {}, "prod/web": {}, "production": {}}}},
	}
	for id, want := range map[string]string{"prod": "it contains the pool prod/web", "web": "it contains guest 201", "prod/web": "", "production": ""} {
		if by, _ := Kind().KeptBy(id, kind.World{Observed: got}); by.Text != want {
			t.Errorf("%s: got %q, want %q", id, by.Text, want)
		}
	}
}

// TestPoolIsKeptByABackupJob has a job that selects a pool, in a reading of the plan and in that before the removal, which has the jobs of people too.
func TestPoolIsKeptByABackupJob(t *testing.T) {
	got := cluster.Snapshot{Objects: map[guest.Kind]cluster.Objects{jobKind: {ByID: map[string]cluster.Object{"nightly": {Keys: map[string]string{"pool": "web"}}, "weekly": {}}}}}
	get := func(_ context.Context, _, path string) (json.RawMessage, error) {
		if path != "/cluster/backup" {
			t.Errorf("got path %s", path)
		}
		return json.RawMessage(`[{"id":"weekly","type":"vzdump","all":1},{"id":"nightly","type":"vzdump","pool":"web","enabled":0}]`), nil
	}
	removal := func(id string) kind.Change { return kind.Change{Op: cluster.OpObjectRemove, ID: id} }
	for id, want := range map[string]string{"web": "BackupJob/nightly", "prod": ""} {
		err := check(t.Context(), kind.Reader{Get: get}, removal(id))
		var used *cluster.UsedError
		if errors.As(err, &used) != (want != "") || want != "" && (used.By.From.String() != want || used.Error() != "the object is in use: the backup job nightly names it") || want == "" && err != nil {
			t.Errorf("%s: got error %v, want it used by %q", id, err, want)
		}
		if by, isKept := Kind().KeptBy(id, kind.World{Observed: got}); isKept != (want != "") || isKept && by.From.String() != want {
			t.Errorf("%s: got kept by %+v, want %q", id, by, want)
		}
	}
	denied := func(context.Context, string, string) (json.RawMessage, error) {
		return nil, errors.New("permission check failed")
	}
	if err := check(t.Context(), kind.Reader{Get: denied}, removal("web")); err == nil || cluster.IsUsed(err) {
		t.Errorf("got error %v, want another one: it is not known whether a job selects the pool", err)
	}
	if err := check(t.Context(), kind.Reader{Get: denied}, kind.Change{Op: cluster.OpObjectSet, ID: "web"}); err != nil {
		t.Errorf("got error %v for a change of the comment, want nothing read", err)
	}
}

func TestPoolOfTheAgentIsReserved(t *testing.T) {
	for id, want := range map[string]bool{"gitops-agent": true, "gitops-agent/x": true, "gitops-agents": false, "prod": false} {
		if got := reserved(id) != ""; got != want {
			t.Errorf("%s: got reserved %t, want %t", id, got, want)
		}
	}
}
