package plan

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
)

// The plan of a new guest contains the node where the guest will be, not only the node of its template.
func TestWithChangesOutsideConfig(t *testing.T) {
	inventory := cluster.Inventory{Rows: []cluster.Row{{VMID: 9000, Kind: guest.VirtualMachine, Name: "tmpl", Node: "pve1", Template: true}}}
	clone := func(node string, nodes ...string) guest.Desired {
		return guest.Desired{
			Ref: guest.Ref{Kind: guest.VirtualMachine, Name: "web"}, Node: node, Nodes: nodes,
			Source: guest.Source{Clone: &guest.Clone{Name: "tmpl", Full: true}},
		}
	}
	blank := guest.Desired{Ref: guest.Ref{Kind: guest.VirtualMachine, Name: "web"}, Node: "pve2", Pool: "prod", Source: guest.Source{Blank: true}}
	tests := map[string]struct {
		want guest.Desired
		keys []string
	}{
		"clone_moves":         {clone("pve2"), []string{"memory", "node", "tags"}},
		"clone_is_there":      {clone("pve1"), []string{"memory", "tags"}},
		"clone_may_be_there":  {clone("pve2", "pve2", "pve1"), []string{"memory", "tags"}},
		"clone_says_no_node":  {clone(""), []string{"memory", "tags"}},
		"blank_is_made_there": {blank, []string{"memory", "pool", "tags"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, c := range withChangesOutsideConfig([]guest.Change{{Key: "memory"}, {Key: "tags"}}, &test.want, inventory) {
				got = append(got, c.Key)
				if c.Key == "node" && (c.From != "pve1" || c.To != "pve2") {
					t.Errorf("got a migration from %s to %s, want one from pve1 to pve2", c.From, c.To)
				}
			}
			if diff := cmp.Diff(test.keys, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
