package plan

import (
	"fmt"
	"testing"

	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/manifest"
)

// TestLabelsKeepOwnedGuests removes the vmid of a manifest while guests are owned under its label, and under other labels.
func TestLabelsKeepOwnedGuests(t *testing.T) {
	machine := func(name, more string) []byte {
		return fmt.Appendf(nil, "apiVersion: proxmox.gitops/v1alpha1\nkind: VirtualMachine\nmetadata: {name: %s}\nspec: {node: pve1%s}\n", name, more)
	}
	named := func(vmid int, name string) journal.Owned {
		return journal.Owned{VMID: vmid, Kind: "VirtualMachine", Name: name}
	}
	label := journal.Label{Kind: "VirtualMachine", Name: "web-1"}
	tests := map[string]struct {
		state  journal.State
		pinned string // the vmid line of web-2's manifest
		want   int    // of web-1
	}{
		"nothing_known":         {want: 0},
		"owned":                 {state: journal.State{Owned: map[int]journal.Owned{201: named(201, "web-1")}}, want: 201},
		"owned_by_another":      {state: journal.State{Owned: map[int]journal.Owned{201: named(201, "web-2")}}, want: 0},
		"owned_as_another_kind": {state: journal.State{Owned: map[int]journal.Owned{201: {VMID: 201, Kind: "Container", Name: "web-1"}}}, want: 0},
		"owned_twice":           {state: journal.State{Owned: map[int]journal.Owned{201: named(201, "web-1"), 202: named(202, "web-1")}}, want: 0},
		"renamed_meanwhile":     {state: journal.State{Owned: map[int]journal.Owned{201: named(201, "web-1")}}, pinned: ", vmid: 201", want: 0},
		"renamed_of_two":        {state: journal.State{Owned: map[int]journal.Owned{201: named(201, "web-1"), 202: named(202, "web-1")}}, pinned: ", vmid: 201", want: 202},
		"assigned": {
			state: journal.State{Assigned: map[journal.Label]int{label: 200}, Owned: map[int]journal.Owned{201: named(201, "web-1")}}, want: 200,
		},
		"assigned_to_another": {
			state: journal.State{
				Assigned: map[journal.Label]int{{Kind: "VirtualMachine", Name: "web-2"}: 201}, Owned: map[int]journal.Owned{201: named(201, "web-1")},
			}, want: 0,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			files := []manifest.File{
				{Path: "cluster.yaml", Data: []byte("apiVersion: proxmox.gitops/v1alpha1\nkind: Cluster\nmetadata: {name: home}\nspec: {vmids: {from: 200, to: 299}}\n")},
				{Path: "web.yaml", Data: machine("web-1", "")},
				{Path: "other.yaml", Data: machine("web-2", test.pinned)},
			}
			set, err := manifest.Parse(files)
			if err != nil {
				t.Fatal(err)
			}
			guests, err := WantedGuests(set, test.state)
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]int{}
			for _, d := range guests {
				got[d.Name] = d.VMID
			}
			if got["web-1"] != test.want {
				t.Errorf("got vmid %d for web-1, want %d", got["web-1"], test.want)
			}
		})
	}
}
