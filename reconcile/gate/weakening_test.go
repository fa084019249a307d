package gate_test

import (
	"strings"
	"testing"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/gate"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/kind"
	"gitops-agent/reconcile/order"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/reason"
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
		"config":  {plan.Step{Op: cluster.OpConfig, Guest: loses[0].Guest}, "undo that there, or write it into the manifest"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			test.step.Loses = loses
			v := gate.Gate{NamedGuests: 1}.Judge(test.step)
			if v.Reason != reason.Guard || !strings.HasPrefix(v.Hint, "gitops-agent approve "+v.Digest) || !strings.Contains(v.Hint, test.want) {
				t.Errorf("got %s with the hint %q, want the approval and %q", v.Reason, v.Hint, test.want)
			}
		})
	}
}

// TestLossAfterAnAdoption holds a step without a digest: an approval names the identity that the adoption creates.
func TestLossAfterAnAdoption(t *testing.T) {
	t.Parallel()
	db := guest.Ref{Kind: guest.VirtualMachine, Name: "db-1", VMID: 201}
	step := plan.Step{Op: cluster.OpConfig, Guest: db, AfterAdoption: true, Loses: []kind.Weakening{{Guest: db, Field: guest.GuardBackup, Old: "in its backups", New: "in no backup"}}}
	if v := (gate.Gate{NamedGuests: 1}).Judge(step); v.Reason != reason.Guard || v.Digest != "" || !strings.Contains(v.Hint, "when the guest is adopted") {
		t.Errorf("got %s with the digest %q and the hint %q, want a hold without a digest until the adoption", v.Reason, v.Digest, v.Hint)
	}
}

// TestRollbackSaysWhatItWeakens holds a rollback, which takes a volume out of backups, for the approval that it needs in any case.
func TestRollbackSaysWhatItWeakens(t *testing.T) {
	t.Parallel()
	db := guest.Ref{Kind: guest.VirtualMachine, Name: "db-1", VMID: 201}
	rollback := order.Open{Request: order.Request{Op: cluster.OpRollback, Guest: db, Params: map[string]string{order.KeyName: "s1"}}}
	step := plan.Step{Op: cluster.OpRollback, Class: guest.Destructive, Guest: db, Order: &rollback}
	plain := gate.Gate{NamedGuests: 1}.Judge(step)
	step.Loses = []kind.Weakening{{Guest: db, Field: guest.GuardBackup, Old: "scsi1 (local-lvm:vm-201-disk-1) in its backups", New: "in no backup"}}
	v := gate.Gate{NamedGuests: 1}.Judge(step)
	if v.Reason != reason.Approval || v.Digest == plain.Digest || !strings.Contains(v.Message, step.Loses[0].String()) {
		t.Errorf("got %s, %q with the digest %s, want an approval of another digest than %s that names the volume", v.Reason, v.Message, v.Digest, plain.Digest)
	}
}
