package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"gitops-agent/reconcile"
)

// What keeps the agent from its work, or from knowing, is said with what would end it. What the table shows anyway is not said twice.
func TestRemarks(t *testing.T) {
	tests := map[string]struct {
		condition reconcile.Condition
		want      []string
	}{
		"fight":       {reconcile.Condition{Type: reconcile.Blocked, Reason: "fight", Message: "somebody changes it back", Hint: "find out who"}, []string{"Blocked: somebody changes it back", "find out who"}},
		"no_vmid":     {reconcile.Condition{Type: reconcile.Blocked, Reason: "no-vmid", Message: "no vmid is free", Hint: "widen spec.vmids"}, []string{"Blocked: no vmid is free", "widen spec.vmids"}},
		"no_revision": {reconcile.Condition{Type: reconcile.NotObserved, Reason: "no-revision", Message: "no revision is in force"}, []string{"Unknown: no revision is in force"}},
		"drifted":     {reconcile.Condition{Type: reconcile.Drifted, Reason: "differs", Message: "it differs"}, nil},
		"orphaned":    {reconcile.Condition{Type: reconcile.Orphaned, Reason: "no-manifest", Message: "no manifest names it"}, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := remarks(reconcile.GuestReport{Conditions: []reconcile.Condition{test.condition}})
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("remarks (-want +got):\n%s", diff)
			}
		})
	}
}
