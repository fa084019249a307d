package affinity

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
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

// replies returns a Get that answers the list of rules with a text, or with an error.
func replies(t *testing.T, reply string, err error) kind.Get {
	t.Helper()
	return func(_ context.Context, route, path string) (json.RawMessage, error) {
		if route != "/cluster/ha/rules" || path != route {
			t.Errorf("got route %s and path %s", route, path)
		}
		return json.RawMessage(reply), err
	}
}

// TestReadIsCanonical reads rules as Proxmox VE 9.2 sends them. What is about other rules as well is left out.
func TestReadIsCanonical(t *testing.T) {
	reply := `[
		{"rule":"a","type":"node-affinity","resources":"vm:202,ct:201,vm:202","nodes":"pve2:0,pve1:3","strict":0,"disable":1,"comment":"x","order":2,"digest":"d","errors":{"resources":["used"]}},
		{"rule":"b","type":"resource-affinity","resources":"vm:202","affinity":"negative","strict":"1","new":7,"order":1,"digest":"d"}]`
	got, err := read(t.Context(), replies(t, reply, nil), []string{"missing"})
	want := []cluster.Object{
		{ID: "a", Keys: map[string]string{"type": "node-affinity", "resources": "ct:201,vm:202", "nodes": "pve1:3,pve2", "disable": "1", "comment": "x"}},
		{ID: "b", Keys: map[string]string{"type": "resource-affinity", "resources": "vm:202", "affinity": "negative", "strict": "1", "new": "7"}},
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("got error %v, rules (-want +got)\n%s", err, diff)
	}
}

func TestReadFails(t *testing.T) {
	if _, err := read(t.Context(), replies(t, "", refusal{"no quorum"}), nil); err == nil || err.Error() != "no quorum" {
		t.Errorf("got %v, want Proxmox's error", err)
	}
}

func TestCalls(t *testing.T) {
	live := cluster.Object{ID: "a", Keys: map[string]string{"type": "node-affinity"}}
	tests := map[string]struct {
		change kind.Change
		want   kind.Request
	}{
		"add": {kind.Change{Op: cluster.OpObjectAdd, ID: "a", Set: map[string]string{"type": "node-affinity", "nodes": "pve1"}}, kind.Request{
			Method: "POST", Route: "/cluster/ha/rules", Path: "/cluster/ha/rules", Params: map[string]string{"rule": "a", "type": "node-affinity", "nodes": "pve1"},
		}},
		"set_names_the_type": {kind.Change{Op: cluster.OpObjectSet, ID: "a", Got: live, Delete: []string{"disable", "strict"}}, kind.Request{
			Method: "PUT", Route: "/cluster/ha/rules/{rule}", Path: "/cluster/ha/rules/a", Params: map[string]string{"type": "node-affinity", "delete": "disable,strict"},
		}},
		"remove": {kind.Change{Op: cluster.OpObjectRemove, ID: "a", Got: live}, kind.Request{
			Method: "DELETE", Route: "/cluster/ha/rules/{rule}", Path: "/cluster/ha/rules/a", Params: map[string]string{},
		}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			made := calls(test.change)
			got, err := Kind().Encode(made[0])
			if diff := cmp.Diff(test.want, got); diff != "" || err != nil || len(made) != 1 {
				t.Errorf("got error %v and %d calls (-want +got)\n%s", err, len(made), diff)
			}
		})
	}
	if _, set := live.Keys["delete"]; set || len(live.Keys) != 1 {
		t.Errorf("got the reading changed: %v", live.Keys)
	}
}

// TestResolve puts guests into a rule only if the HA manager manages all of them.
func TestResolve(t *testing.T) {
	d := kind.Desired{
		ID: "a", Keys: []kind.Intent{{Key: "resources", Text: "vm:300", Origin: guest.Origin{Line: 7}}, {Key: "type", Text: "resource-affinity"}},
		Guests: []kind.GuestLabel{{Label: "VirtualMachine/web-1"}, {Label: "Container/dns-1"}},
	}
	named := map[string]guest.Ref{"VirtualMachine/web-1": {Kind: guest.VirtualMachine, VMID: 201}, "Container/dns-1": {Kind: guest.Container, VMID: 202}}
	got, why := resolve(d, kind.Found{Named: named, HA: map[int]bool{201: true, 202: true, 300: true}})
	want := []kind.Intent{{Key: "resources", Text: "ct:202,vm:201,vm:300", Origin: guest.Origin{Line: 7}}, {Key: "type", Text: "resource-affinity"}}
	if diff := cmp.Diff(want, got.Keys); diff != "" || why != nil {
		t.Errorf("got %v (-want +got)\n%s", why, diff)
	}
	_, why = resolve(d, kind.Found{Named: named, HA: map[int]bool{201: true}})
	if why == nil || why.Cause != kind.NotInHA || !strings.Contains(why.Message, "ct:202, vm:300") {
		t.Errorf("got %+v, want the guests for which the rule waits", why)
	}
	live := cluster.Object{Keys: map[string]string{"type": "node-affinity"}}
	if _, why = resolve(d, kind.Found{Named: named, Live: live}); why == nil || why.Cause != kind.Impossible {
		t.Errorf("got %+v, want the type refused", why)
	}
}

// TestRaiseAndLower describes live rules and reads the descriptions back.
func TestRaiseAndLower(t *testing.T) {
	k := Kind()
	for name, keys := range map[string]map[string]string{
		"node":     {"type": "node-affinity", "resources": "ct:202,vm:201", "nodes": "pve1:3,pve2", "strict": "1"},
		"resource": {"type": "resource-affinity", "resources": "vm:201,vm:202", "affinity": "negative", "disable": "1"},
	} {
		t.Run(name, func(t *testing.T) {
			raised, left := k.RaiseAll(cluster.Object{Keys: keys})
			spec := kind.Spec{}
			for _, f := range raised {
				var v kind.Value
				switch value := f.Value.(type) {
				case bool:
					v.Text = map[bool]string{false: "0", true: "1"}[value]
				case []string:
					for _, text := range value {
						v.List = append(v.List, kind.Value{Text: text})
					}
				case string:
					v.Text = value
				}
				spec[f.Name] = v
			}
			var d kind.Desired
			if problems := k.Complete(&d, spec); len(problems)+len(left) != 0 {
				t.Fatalf("got %v, left out %v", problems, left)
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
	if _, left := k.RaiseAll(cluster.Object{Keys: map[string]string{"new": "1", "comment": "x"}}); !slices.Equal(left, []string{"new"}) {
		t.Errorf("left out: got %v, want what no field describes", left)
	}
}
