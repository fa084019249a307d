package recovery

import (
	"slices"
	"testing"
	"time"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
)

// A guest counts as owned only if its marker, vmid, kind and name agree with a manifest; one without a vmid gets the vmid of the guest with its name.
func TestAssume(t *testing.T) {
	t.Parallel()
	machine := func(name string, vmid int) guest.Desired {
		return guest.Desired{Ref: guest.Ref{Kind: guest.VirtualMachine, Name: name, VMID: vmid}, Lifecycle: guest.Lifecycle{Destroy: guest.Allow}}
	}
	row := func(name string, vmid int, tags string) cluster.Row {
		return cluster.Row{Kind: guest.VirtualMachine, VMID: vmid, Name: name, Node: "pve1", Tags: tags}
	}
	in := Input{
		Cluster: "home",
		Guests:  []guest.Desired{machine("web", 201), machine("db", 0), machine("erp", 203), machine("copy", 204)},
		Got: cluster.Snapshot{Guests: map[int]guest.Observed{}, Inventory: cluster.Inventory{Rows: []cluster.Row{
			row("web", 201, "gitops-00000001"), row("db", 202, "gitops-00000002"), row("erp", 203, "prod"), row("copy", 204, "gitops-00000001"),
			row("stranger", 205, "gitops-00000005"),
		}}},
	}
	in.Got.Inventory.Rows[3].Tags = "gitops-00000004;gitops-00000009"
	for _, r := range in.Got.Inventory.Rows {
		in.Got.Guests[r.VMID] = guest.Observed{
			Ref: guest.Ref{Kind: r.Kind, Name: r.Name, VMID: r.VMID}, Node: r.Node, Keys: map[string]guest.Value{"tags": {Text: r.Tags, Set: true}},
		}
	}
	state := Assume(in, time.Now())
	var owned []int
	for vmid := range state.Owned {
		owned = append(owned, vmid)
	}
	slices.Sort(owned)
	if want := []int{201, 202}; !slices.Equal(owned, want) {
		t.Errorf("got %v owned, want %v: not the one without a marker, with two markers, or without a manifest", owned, want)
	}
	if got := state.Assigned[journal.Label{Kind: "VirtualMachine", Name: "db"}]; got != 202 {
		t.Errorf("got vmid %d for the manifest without one, want 202", got)
	}
	if got := state.Guarded[201].Destroy; got != string(guest.Allow) {
		t.Errorf("got destroy: %s in force, want that of the manifest, allow", got)
	}
}
