package backupjob

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/kind"

	"github.com/google/go-cmp/cmp"
)

// TestReadIsCanonical reads jobs as Proxmox VE 9.2 sends them: flags and numbers as numbers, options as objects, a path or paths as an array.
func TestReadIsCanonical(t *testing.T) {
	reply := `[
		{"id":"a","type":"vzdump","enabled":0,"schedule":"sat 02:00","all":1,"exclude":"9704,9703;9703","prune-backups":{"keep-last":"3","keep-daily":"7","keep-weekly":"0"},
		 "fleecing":{"enabled":0},"performance":{"max-workers":"4"},"exclude-path":["/tmp/?*","/a,b"],"comment":"c ü","next-run":1,"zstd":0,"mailto":"a@b;c@d"},
		{"id":"b","type":"vzdump","vmid":"1000,200,200","prune-backups":{"keep-all":1},"compress":"1","all":0},
		{"id":"past","type":"vzdump","schedule":"2023-*-1 02:00","all":1},
		{"id":"c","type":"realm-sync"}]`
	get := answers(map[string]string{"/cluster/backup": reply, "/storage": `[]`})
	got, err := read(t.Context(), get, []string{"missing"})
	want := []cluster.Object{
		{ID: "a", Keys: map[string]string{
			"enabled": "0", "schedule": "sat 02:00", "all": "1", "exclude": "9703,9704", "prune-backups": "keep-daily=7,keep-last=3", "fleecing": "enabled=0",
			"performance": "max-workers=4", "exclude-path": "/tmp/?*\n/a,b", "comment": "c ü", "zstd": "0", "mailto": "a@b,c@d",
		}},
		{ID: "b", Keys: map[string]string{"enabled": "1", "vmid": "200,1000", "prune-backups": "keep-all=1", "compress": "lzo"}},
		{ID: "past", Keys: map[string]string{"enabled": "1", "schedule": "2023-*-1 02:00", "all": "1"}, Never: true},
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("got error %v, jobs (-want +got)\n%s", err, diff)
	}
}

// answers returns a Get that answers paths, and refuses any other path.
func answers(replies map[string]string) kind.Get {
	return func(_ context.Context, route, path string) (json.RawMessage, error) {
		reply, known := replies[path]
		if !known || path != route {
			return nil, fmt.Errorf("got route %s and path %s", route, path)
		}
		return json.RawMessage(reply), nil
	}
}

func TestEncode(t *testing.T) {
	job := func(op cluster.Op, set map[string]string, remove ...string) cluster.Call {
		return cluster.Call{Op: op, Object: "a", Params: set, Delete: remove}
	}
	tests := map[string]struct {
		call cluster.Call
		want kind.Request
	}{
		"add": {job(cluster.OpObjectAdd, map[string]string{"schedule": "daily", "exclude-path": "/a\n/b,c"}), kind.Request{
			Method: "POST", Route: "/cluster/backup", Path: "/cluster/backup", Params: map[string]string{"id": "a", "schedule": "daily"}, Lists: map[string][]string{"exclude-path": {"/a", "/b,c"}},
		}},
		"set": {job(cluster.OpObjectSet, map[string]string{"all": "1"}, "pool", "vmid"), kind.Request{
			Method: "PUT", Route: "/cluster/backup/{id}", Path: "/cluster/backup/a", Params: map[string]string{"all": "1", "delete": "pool,vmid"},
		}},
		"remove": {job(cluster.OpObjectRemove, nil), kind.Request{Method: "DELETE", Route: "/cluster/backup/{id}", Path: "/cluster/backup/a", Params: map[string]string{}}},
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

// TestLabelsBecomeVMIDs resolves a selection by labels: guests that lost their manifest stay until they are destroyed.
func TestLabelsBecomeVMIDs(t *testing.T) {
	d := kind.Desired{Selects: map[string]string{"tier": "web"}, Keys: []kind.Intent{{Key: "vmid", Origin: guest.Origin{Line: 7}}}}
	selected := []guest.Ref{{VMID: 1000}, {VMID: 202}}
	live := cluster.Object{Keys: map[string]string{"vmid": "201,202,999"}}
	got, why := resolve(d, kind.Found{Selected: selected, Orphans: map[int]bool{201: true, 300: true}, Live: live})
	if want := []kind.Intent{{Key: "vmid", Text: "201,202,1000", Origin: guest.Origin{Line: 7}}}; !cmp.Equal(got.Keys, want) || why != nil {
		t.Errorf("got %+v, %v, want %+v", got.Keys, why, want)
	}
	if _, why := resolve(d, kind.Found{Live: live}); why == nil {
		t.Error("got no reason for a selection without guests")
	}
}

// TestRaiseAndLower describes live jobs and reads the descriptions back.
func TestRaiseAndLower(t *testing.T) {
	k := Kind()
	for name, keys := range map[string]map[string]string{
		"all":   {"schedule": "daily", "enabled": "0", "all": "1", "exclude": "101,102", "compress": "0", "prune-backups": "keep-all=1"},
		"vmids": {"schedule": "daily", "enabled": "1", "vmid": "101", "compress": "zstd", "prune-backups": "keep-daily=7,keep-last=3", "performance": "max-workers=4,pbs-entries-max=5"},
		"pool":  {"schedule": "daily", "enabled": "1", "pool": "web", "fleecing": "enabled=1,storage=local", "mailto": "a@b,c@d", "exclude-path": "/a\n/b,c", "storage": "local", "notes-template": "{{vmid}}"},
	} {
		t.Run(name, func(t *testing.T) {
			raised, left := k.RaiseAll(cluster.Object{Keys: keys})
			if len(left) != 0 {
				t.Errorf("left out: got %v, want none", left)
			}
			var d kind.Desired
			if problems := k.Complete(&d, specOf(raised)); len(problems) != 0 {
				t.Fatalf("got %v", problems)
			}
			got := map[string]string{}
			for _, in := range d.Keys {
				if in.Text != "" {
					got[in.Key] = in.Text
				}
			}
			if diff := cmp.Diff(keys, got); diff != "" {
				t.Errorf("keys (-want +got)\n%s", diff)
			}
		})
	}
	if _, left := k.RaiseAll(cluster.Object{Keys: map[string]string{"dumpdir": "/tmp", "comment": "x", "fleecing": "enabled=1,new-option=1"}}); !slices.Equal(left, []string{"dumpdir", "fleecing"}) {
		t.Errorf("left out: got %v, want what no field describes", left)
	}
}

// specOf returns raised fields as a manifest has them.
func specOf(fields []kind.Raised) kind.Spec {
	spec := kind.Spec{}
	for _, f := range fields {
		var v kind.Value
		switch value := f.Value.(type) {
		case bool:
			v.Text = map[bool]string{false: "0", true: "1"}[value]
		case []kind.Raised:
			v.Fields = specOf(value)
		case []int, []string:
			text, _ := json.Marshal(value)
			var items []any
			_ = json.Unmarshal(text, &items)
			for _, item := range items {
				text, _ := json.Marshal(item)
				var s string
				if json.Unmarshal(text, &s) != nil {
					s = string(text)
				}
				v.List = append(v.List, kind.Value{Text: s})
			}
		default:
			text, _ := json.Marshal(value)
			if json.Unmarshal(text, &v.Text) != nil {
				v.Text = string(text)
			}
		}
		spec[f.Name] = v
	}
	return spec
}

// TestEveryKeyIsAField compares the fields with the parameters of POST /cluster/backup of Proxmox VE 9.2.
func TestEveryKeyIsAField(t *testing.T) {
	parameters := []string{
		"all", "bwlimit", "comment", "compress", "dow", "dumpdir", "enabled", "exclude", "exclude-path", "fleecing", "id", "ionice", "lockwait", "mailnotification", "mailto", "mode",
		"node", "notes-template", "notification-mode", "pbs-change-detection-mode", "performance", "pigz", "pool", "protected", "prune-backups", "quiet", "remove", "repeat-missed",
		"schedule", "script", "starttime", "stdexcludes", "stop", "stopwait", "storage", "tmpdir", "vmid", "zstd",
	}
	without := []string{
		"dumpdir", "tmpdir", "script", // only for root@pam
		"dow", "starttime", // an old form of schedule
		"stop",          // stops running backups
		"id", "comment", // of every kind
	}
	have := []string{keyCompress, keyRetention, keyFleecing, keyPerformance}
	for _, f := range append(fields(), selectionFields()...) {
		if f.Key != "" {
			have = append(have, f.Key)
		}
	}
	slices.Sort(have)
	want := slices.DeleteFunc(slices.Clone(parameters), func(p string) bool { return slices.Contains(without, p) })
	if diff := cmp.Diff(want, have); diff != "" {
		t.Errorf("native keys (-parameters +fields)\n%s", diff)
	}
}
