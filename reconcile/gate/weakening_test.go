package gate_test

import (
	"strings"
	"testing"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/gate"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/kind"
	"gitops-agent/reconcile/plan"
)

// TestHoldOfALossNamesEveryWayOut holds steps that take something from guests with guards.
func TestHoldOfALossNamesEveryWayOut(t *testing.T) {
	loses := []kind.Weakening{{Guest: guest.Ref{Kind: guest.VirtualMachine, Name: "db-1", VMID: 201}, Field: guest.GuardBackup, Old: "in a job", New: "in no job"}}
	tests := map[string]struct {
		step plan.Step
		want string
	}{
		"change":  {plan.Step{Op: cluster.OpObjectSet, Object: &plan.ObjectStep{ID: "nightly"}}, "undo that there, or write it into the manifest"},
		"removal": {plan.Step{Op: cluster.OpObjectRemove, Object: &plan.ObjectStep{ID: "nightly"}}, "restore the manifest"},
		"move":    {plan.Step{Op: cluster.OpPool, Guest: loses[0].Guest}, "revert the commit"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			test.step.Loses = loses
			v := gate.Gate{NamedGuests: 1}.Judge(test.step)
			if v.Reason != gate.HoldGuard || !strings.HasPrefix(v.Hint, "gitops-agent approve "+v.Digest) || !strings.Contains(v.Hint, test.want) {
				t.Errorf("got %s with the hint %q, want the approval and %q", v.Reason, v.Hint, test.want)
			}
		})
	}
}
