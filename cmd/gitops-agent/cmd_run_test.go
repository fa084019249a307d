package main

import (
	"strings"
	"testing"

	"gitops-agent/cmd/gitops-agent/internal/term"
	"gitops-agent/reconcile"
)

// A failure outweighs a refusal, and a refusal what is pending.
func TestOnceOutcome(t *testing.T) {
	failed := reconcile.GuestReport{Kind: "VirtualMachine", Name: "web-1", Conditions: []reconcile.Condition{{Type: reconcile.Failed, Message: "no space"}}}
	held := reconcile.GuestReport{Sync: reconcile.OutOfSync, Held: []reconcile.HeldReport{{}}}
	refused := reconcile.SourceReport{Refused: &reconcile.RefusedReport{Error: "reject x", Hint: "sign it"}}
	unverified := reconcile.WritesReport{Reason: string(reconcile.StopUnverified), Message: "reject y"}
	tests := map[string]struct {
		report reconcile.Report
		status int
		want   string
	}{
		"converged":  {reconcile.Report{Converged: true}, term.ExitDone, ""},
		"held":       {reconcile.Report{Guests: []reconcile.GuestReport{held}}, term.ExitChanges, ""},
		"refused":    {reconcile.Report{Source: refused, Guests: []reconcile.GuestReport{held}}, term.ExitRefused, "reject x"},
		"unverified": {reconcile.Report{Writes: unverified, Source: refused}, term.ExitRefused, "reject y"},
		"failed":     {reconcile.Report{Source: refused, Guests: []reconcile.GuestReport{held, failed}}, term.ExitError, "VirtualMachine/web-1: no space"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			err := onceOutcome(test.report)
			if got := term.ExitStatus(err); got != test.status {
				t.Errorf("got exit status %d, want %d", got, test.status)
			}
			if test.want != "" && !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %q, want %q in it", err, test.want)
			}
		})
	}
}
