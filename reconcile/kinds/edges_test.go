package kinds

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/edge"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/kind"
	"gitops-agent/reconcile/object"
)

// usedWorld is a world of pools, jobs and firewalls that name each other, as readings and as replies of Proxmox.
type usedWorld struct {
	got     cluster.Snapshot
	replies map[string][]map[string]any // by path
}

var usedNames = []string{"web", "office", "admins", "web/db"}

// newUsedWorld draws a world.
func newUsedWorld(t *rapid.T) usedWorld {
	w := usedWorld{got: cluster.Snapshot{Guests: make(map[int]guest.Observed), Objects: make(map[guest.Kind]cluster.Objects)}, replies: make(map[string][]map[string]any)}
	name := rapid.SampledFrom(usedNames[:3])
	rules := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) guest.FirewallRule {
		if rapid.Bool().Draw(t, "group") {
			return guest.FirewallRule{Type: "group", Action: name.Draw(t, "action")}
		}
		prefix := rapid.SampledFrom([]string{"", "dc/", "+", "+dc/"})
		return guest.FirewallRule{Type: "in", Action: "ACCEPT", Source: prefix.Draw(t, "prefix") + name.Draw(t, "source")}
	}), 0, 2)
	note := func(path string, list []guest.FirewallRule) {
		for _, r := range list {
			w.replies[path] = append(w.replies[path], map[string]any{"type": r.Type, "action": r.Action, "source": r.Source})
		}
	}
	put := func(of guest.Kind, o cluster.Object) {
		if w.got.Objects[of].ByID == nil {
			w.got.Objects[of] = cluster.Objects{ByID: make(map[string]cluster.Object)}
		}
		w.got.Objects[of].ByID[o.ID] = o
	}
	for vmid := 201; vmid < 204; vmid++ {
		list := rules.Draw(t, "rules")
		w.got.Inventory.Rows = append(w.got.Inventory.Rows, cluster.Row{VMID: vmid, Pool: rapid.SampledFrom(usedNames).Draw(t, "pool")})
		w.got.Guests[vmid] = guest.Observed{Firewall: &guest.FirewallSeen{Rules: list}}
		w.replies["/cluster/resources?type=vm"] = append(w.replies["/cluster/resources?type=vm"], map[string]any{"type": "qemu", "vmid": vmid, "node": "pve1"})
		note(fmt.Sprintf("/nodes/pve1/qemu/%d/firewall/rules", vmid), list)
	}
	for _, id := range usedNames[:rapid.IntRange(0, 2).Draw(t, "groups")] {
		list := rules.Draw(t, "rules")
		put(kind.FirewallGroups, cluster.Object{ID: id, Keys: map[string]string{kind.KeyRules: kind.RulesText(list)}})
		w.replies["/cluster/firewall/groups"] = append(w.replies["/cluster/firewall/groups"], map[string]any{"group": id})
		note("/cluster/firewall/groups/"+id, list)
	}
	for i := range rapid.IntRange(0, 2).Draw(t, "jobs") {
		id, pool := fmt.Sprint("job-", i), rapid.SampledFrom(usedNames).Draw(t, "selects")
		put(BackupJobs, cluster.Object{ID: id, Keys: map[string]string{"pool": pool}})
		w.replies["/cluster/backup"] = append(w.replies["/cluster/backup"], map[string]any{"id": id, "pool": pool})
	}
	return w
}

func (w usedWorld) get(_ context.Context, _, path string) (json.RawMessage, error) {
	return json.Marshal(append([]map[string]any{}, w.replies[path]...))
}

// What a fresh reading finds before a removal is an edge that the same world has, or the world has one that Proxmox itself refuses. So a plan that knows everything never asks a
// person to approve a removal that its last check refuses.
func TestLastCheckFindsAnEdgeOfTheWorld(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := newUsedWorld(t)
		checked := slices.DeleteFunc(slices.Clone(All()), func(k *kind.Kind) bool { return k.Check == nil })
		k := checked[rapid.IntRange(0, len(checked)-1).Draw(t, "kind")]
		id := rapid.SampledFrom(usedNames).Draw(t, "id")
		by, isKept := k.KeptBy(id, kind.World{Observed: w.got})
		first := object.Key{}
		if rapid.Bool().Draw(t, "known") {
			first = by.From
		}
		err := k.Check(t.Context(), kind.Reader{Get: w.get, First: first}, kind.Change{Op: cluster.OpObjectRemove, ID: id})
		var used *cluster.UsedError
		switch {
		case errors.As(err, &used):
			namesGroup := k.Name == kind.FirewallGroups && strings.HasPrefix(used.By.From.Label, string(kind.FirewallGroups)) // which a group does not do in Proxmox
			if !isKept && !namesGroup {
				t.Fatalf("%s %s: the last check found %+v, and the world has nothing", k.Noun, id, used.By)
			}
			if first.VMID != 0 && kind.IsOfFirewall(k.Name) && used.By.From != first {
				t.Fatalf("%s %s: got %+v, want guest %d that used it the last time, which is read first", k.Noun, id, used.By, first.VMID)
			}
		case err != nil:
			t.Fatal(err)
		case isKept && !strings.HasPrefix(by.Text, "it contains "):
			t.Fatalf("%s %s: the last check found nothing, and the world has %+v", k.Noun, id, by)
		}
	})
}

// Each edge has a reason, begins or ends at its object, and says for people what its reason says that it does. An object that stays is asked for nothing that keeps it.
func TestEdgesOfKinds(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := newUsedWorld(t)
		for _, job := range []string{"201-0", "202-0"} {
			if rapid.Bool().Draw(t, "job") {
				w.got.Objects[Replications] = cluster.Objects{ByID: map[string]cluster.Object{job: {ID: job, Keys: map[string]string{"target": "pve1"}}}}
			}
		}
		removed := rapid.Bool().Draw(t, "removed")
		for _, k := range All() {
			ids := usedNames
			if k.Name == Replications {
				ids = []string{"201-0", "202-0"}
			}
			for _, id := range ids {
				want := kind.Want{Desired: kind.Desired{Kind: k.Name, ID: id}, Live: w.got.Objects[k.Name].ByID[id], Removed: removed}
				for _, e := range k.EdgesOf(want, kind.World{Observed: w.got}) {
					switch {
					case strings.HasPrefix(e.Why.String(), "why-"), e.From == object.Key{}, e.To == object.Key{}, e.From != want.Key() && e.To != want.Key(), e.From == e.To && k.Name != kind.FirewallGroups:
						t.Fatalf("%s: got %+v, want a reason, two ends, and one of them the object", want.Label(), e)
					case e.Text == "" && e.Why != edge.NeedsFirst && e.Why != edge.Guards && e.Why != edge.Covers:
						t.Fatalf("%s: got %+v without a text for people", want.Label(), e)
					case !removed && e.Why == edge.KeepsFromRemoval && e.To == want.Key():
						t.Fatalf("%s: got %+v although the object stays", want.Label(), e)
					}
				}
			}
		}
	})
}
