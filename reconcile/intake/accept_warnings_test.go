package intake

import (
	"testing"

	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/manifest"
)

// TestAcceptedWarnings checks that a report contains the first warnings with their places, and the number of the others.
func TestAcceptedWarnings(t *testing.T) {
	var a Accepted
	if got := a.Warnings(); len(got) != 0 {
		t.Errorf("got %v, want none", got)
	}
	for line := range 12 {
		a.set.Warnings = append(a.set.Warnings, manifest.Problem{Origin: guest.Origin{File: "c.yaml", Line: line + 1, Column: 1}, Message: "no guest matches"})
	}
	got := a.Warnings()
	if len(got) != 11 || got[0] != "c.yaml:1:1: no guest matches" || got[10] != "and 2 more: gitops-agent validate lists them" {
		t.Errorf("got %q, want ten warnings and the number of the others", got)
	}
}
