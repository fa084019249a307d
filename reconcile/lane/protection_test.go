package lane

import (
	"errors"
	"testing"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/plan"
)

// TestProtectionBeforeARemovalThatWaits refuses a start that was planned before the guest was protected, and that would carry out a removal of a volume that waits.
func TestProtectionBeforeARemovalThatWaits(t *testing.T) {
	t.Parallel()
	seen := guest.Observed{Ref: guest.Ref{Kind: guest.VirtualMachine, VMID: 201}, Keys: map[string]guest.Value{
		"protection": {Text: "1", Set: true}, "scsi1": {Text: "local-lvm:vm-201-disk-0,size=1G", Set: true, Delete: true},
	}}
	call := cluster.Call{Op: cluster.OpStart, VMID: 201}
	step := plan.Step{Op: cluster.OpStart, Calls: []cluster.Call{call}}
	if err := checkProtection(step, call, seen); !errors.Is(err, errProtected) {
		t.Errorf("got %v for a step without an approval that names the protection, want it refused", err)
	}
	step.Protected = true
	if err := checkProtection(step, call, seen); err != nil {
		t.Errorf("got %v for an approved step", err)
	}
	delete(seen.Keys, "scsi1")
	step.Protected = false
	if err := checkProtection(step, call, seen); err != nil {
		t.Errorf("got %v though nothing waits", err)
	}
}
