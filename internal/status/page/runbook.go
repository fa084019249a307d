package page

import (
	"cmp"
	"strings"

	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/reason"
)

// Links are addresses that do not follow from the remote and the endpoints. An empty one is derived, or there is no link.
type Links struct {
	Commit  string // of a commit at the forge, with {commit} in place of its id
	Proxmox string // of the web interface of Proxmox, without a path
	Runbook string // of the page docs/operations.md
}

// The headings of docs/operations.md that describe what a person does, by what the page shows.
var (
	holdHeadings = map[reason.Name]string{
		reason.Approval: "GitopsAgentApprovalWaiting", reason.Guard: "GitopsAgentApprovalWaiting", reason.DestroyLimit: "GitopsAgentDestroyLimit",
		reason.Suspended: "GitopsAgentSuspendedTooLong", reason.TaskHangs: "GitopsAgentTaskHanging", reason.NodeOffline: "GitopsAgentNodeUnknown",
	}
	reasonHeadings = map[reason.Name]string{
		reason.Flapping: "GitopsAgentGuestFlapping", reason.TaskHangs: "GitopsAgentTaskHanging", reason.NodeOffline: "GitopsAgentNodeUnknown",
	}
	conditionHeadings = map[plan.ConditionType]string{
		plan.Failed: "GitopsAgentGuestFailed", plan.Blocked: "GitopsAgentGuestFailed", plan.IdentityConflict: "GitopsAgentGuestFailed",
		plan.PendingRestart: "GitopsAgentRestartPending", plan.Suspended: "GitopsAgentSuspendedTooLong", plan.NotObserved: "GitopsAgentObservationStale",
		plan.Drifted: "GitopsAgentGuestDrifted",
	}
	stopHeadings = map[reason.Stop]string{
		reason.StopNotReady: "GitopsAgentProxmoxUnusable", reason.StopUnverified: "GitopsAgentRevisionUnverified", reason.StopPolicy: "GitopsAgentRevisionUnverified",
		reason.StopJournal: "GitopsAgentJournalDamaged", reason.StopSuperseded: "GitopsAgentTwoAgents", reason.StopUnclaimed: "GitopsAgentClusterNotClaimed",
		reason.StopStateDirectory: "GitopsAgentStateDirectoryLost",
	}
)

// Headings of notices.
const (
	refusedHeading  = "GitopsAgentHeadRefused"
	evidenceHeading = "GitopsAgentEvidenceMissing"
	staleHeading    = "GitopsAgentSourceStale"
	pausedHeading   = "GitopsAgentPausedTooLong"
)

func conditionHeading(c plan.Condition) string {
	return cmp.Or(reasonHeadings[c.Reason], conditionHeadings[c.Type])
}

// runbook returns the address of a heading, "" without a heading or a runbook.
func (l links) runbook(heading string) string {
	if l.given.Runbook == "" || heading == "" {
		return ""
	}
	return l.given.Runbook + "#" + strings.ToLower(heading)
}
