package observe

import (
	"testing"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
)

// TestInventoryDoesNotDecideTheRunState checks for every pair of run states that the list of guests counts only where the last reading of the guest agrees. It lags
// behind a start and a stop, also in the first round of a process.
func TestInventoryDoesNotDecideTheRunState(t *testing.T) {
	t.Parallel()
	states := []guest.Status{guest.StatusRunning, guest.StatusStopped, guest.StatusPaused, guest.StatusUnknown}
	for _, listed := range states {
		for _, last := range append(states, "") {
			o := New(nil, 0, 0)
			o.inventory = cluster.Inventory{Rows: []cluster.Row{{Kind: guest.VirtualMachine, VMID: 201, Node: "pve1", Status: listed}}}
			if last != "" {
				o.seen[201] = guest.Observed{Ref: guest.Ref{Kind: guest.VirtualMachine, VMID: 201}, Status: last}
			}
			want := guest.StatusUnknown
			if last == listed {
				want = listed
			}
			if row, _ := o.rowOf(201); row.Status != want {
				t.Errorf("listed as %s, last read as %q: got %s, want %s", listed, last, row.Status, want)
			}
		}
	}
	o := New(nil, 0, 0)
	o.inventory = cluster.Inventory{Rows: []cluster.Row{{Kind: guest.VirtualMachine, VMID: 9000, Node: "pve1", Status: guest.StatusStopped, Template: true}}}
	if row, _ := o.rowOf(9000); row.Status != guest.StatusStopped {
		t.Errorf("got %s for a template, want it stopped without a call", row.Status)
	}
}
