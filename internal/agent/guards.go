package agent

import (
	"errors"
	"fmt"
	"slices"

	"gitops-agent/reconcile/guard"
	"gitops-agent/reconcile/guest"
)

// Minimum returns the bounds of the guards.
func (c Config) Minimum() guard.Minimum {
	g := c.Trust.Guards
	return guard.Minimum{
		Approvals: g.Approvals, MaxDestroysPerDay: g.MaxDestroysPerDay, Destroy: guest.Permission(g.Destroy), Recreate: guest.Permission(g.Recreate),
		RebootPolicy: guest.RebootPolicy(g.RebootPolicy),
	}
}

// maxApprovals is the largest number of approvals that a Cluster manifest can require.
const maxApprovals = 16

// check returns every problem of g.
func (g GuardsConfig) check() error {
	var problems []error
	if g.Approvals < 0 || g.Approvals > maxApprovals {
		problems = append(problems, fmt.Errorf("trust.guards.approvals: got %d, want 1 to %d, or no line for no bound", g.Approvals, maxApprovals))
	}
	if m := g.MaxDestroysPerDay; m != nil && *m < 0 {
		problems = append(problems, fmt.Errorf("trust.guards.max_destroys_per_day: got %d, want 0 or more, or no line for no bound", *m))
	}
	oneOf := func(field, value string, words ...string) {
		if value != "" && !slices.Contains(words, value) {
			problems = append(problems, fmt.Errorf("trust.guards.%s: got %q, want %s or %s, or no line for no bound", field, value, words[0], words[1]))
		}
	}
	oneOf("destroy", g.Destroy, string(guest.Deny), string(guest.Approve))
	oneOf("recreate", g.Recreate, string(guest.Deny), string(guest.Approve))
	oneOf("reboot_policy", g.RebootPolicy, string(guest.RebootNever), string(guest.RebootApprove))
	return errors.Join(problems...)
}
