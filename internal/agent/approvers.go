package agent

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"gitops-agent/verify"
)

// Approver is an entry of trust.signers with the role approve, and its scope.
type Approver struct {
	Entry         int // position in trust.signers, from 0
	Name          string
	Guests, Paths []string // none of both: every step
}

// IsScoped reports whether the approvals of the entry release only some steps.
func (a Approver) IsScoped() bool { return len(a.Guests)+len(a.Paths) > 0 }

// Covers says which steps the approvals of the entry release.
func (a Approver) Covers() string {
	if !a.IsScoped() {
		return "every step"
	}
	var within []string
	if len(a.Guests) > 0 {
		within = append(within, "the guests "+strings.Join(a.Guests, ", "))
	}
	if len(a.Paths) > 0 {
		within = append(within, "the paths "+strings.Join(a.Paths, ", "))
	}
	return "steps that reach nothing outside of " + strings.Join(within, " and ")
}

// Approvers returns the entries with the role approve that have not ended at a time, in their order.
func (c Config) Approvers(now time.Time) []Approver {
	var list []Approver
	for i, s := range c.Trust.Signers {
		if slices.Contains(s.May, string(verify.RoleApprove)) && (s.Until.IsZero() || now.Before(s.Until)) {
			list = append(list, Approver{i, s.Name, s.Guests, s.Paths})
		}
	}
	return list
}

// ApproverWarnings names the approvers with a scope, and says whether enough people without one are left for what needs them. Without approvers with a scope it returns none.
func (c Config) ApproverWarnings(now time.Time) []string {
	var warnings []string
	everything := make(map[string]bool)
	for _, a := range c.Approvers(now) {
		if !a.IsScoped() {
			everything[a.Name] = true
			continue
		}
		warnings = append(warnings, fmt.Sprintf("trust.signers[%d]: approvals by %s count only for %s", a.Entry, a.Name, a.Covers()))
	}
	need := max(c.Trust.Guards.Approvals, 1)
	if len(warnings) > 0 && len(everything) < need {
		warnings = append(warnings, fmt.Sprintf("trust.signers: got %d names of approvers without guests and paths, want at least %d. Until then nothing releases a weaker "+
			"guard of the Cluster, a weaker or removed policy of the root folder, or a step that reaches more than these scopes", len(everything), need))
	}
	return warnings
}
