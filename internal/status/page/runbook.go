package page

import (
	"cmp"
	"strings"

	"gitops-agent/reconcile/plan"
)

// Links are addresses that do not follow from the remote and the endpoints. An empty one is derived, or there is no link.
type Links struct {
	Commit  string // of a commit at the forge, with {commit} in place of its id
	Proxmox string // of the web interface of Proxmox, without a path
	Runbook string // of the page docs/operations.md
}

// Headings of notices.
const (
	refusedHeading  = "GitopsAgentHeadRefused"
	evidenceHeading = "GitopsAgentEvidenceMissing"
	staleHeading    = "GitopsAgentSourceStale"
)

// conditionHeading returns the heading of docs/operations.md that says what a person does about a condition.
func conditionHeading(c plan.Condition) string {
	return cmp.Or(c.Reason.Row().Runbook, c.Type.Row().Runbook)
}

// runbook returns the address of a heading, "" without a heading or a runbook.
func (l links) runbook(heading string) string {
	if l.given.Runbook == "" || heading == "" {
		return ""
	}
	return l.given.Runbook + "#" + strings.ToLower(heading)
}
