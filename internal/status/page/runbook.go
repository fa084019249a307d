package page

import (
	"cmp"
	"strings"

	"gitops-agent/reconcile/gate"
	"gitops-agent/reconcile/plan"
)

// Links are addresses that do not follow from the remote and the endpoints. An empty one is derived, or there is no link.
type Links struct {
	Commit  string // of a commit at the forge, with {commit} in place of its id
	Proxmox string // of the web interface of Proxmox, without a path
	Runbook string // of the page docs/operations.md
}

// The headings of docs/operations.md that describe what a person does, by what the page shows.
var (
	holdHeadings = map[gate.HoldReason]string{
		gate.HoldApproval: "GitopsAgentApprovalWaiting", gate.HoldGuard: "GitopsAgentApprovalWaiting", gate.HoldDestroyLimit: "GitopsAgentDestroyLimit",
		gate.HoldSuspended: "GitopsAgentSuspendedTooLong", gate.HoldTaskHangs: "GitopsAgentTaskHanging", gate.HoldNodeOffline: "GitopsAgentNodeUnknown",
	}
	reasonHeadings = map[plan.ConditionReason]string{
		plan.ReasonFlapping: "GitopsAgentGuestFlapping", plan.ReasonTaskHangs: "GitopsAgentTaskHanging", plan.ReasonNodeOffline: "GitopsAgentNodeUnknown",
	}
	conditionHeadings = map[plan.ConditionType]string{
		plan.Failed: "GitopsAgentGuestFailed", plan.Blocked: "GitopsAgentGuestFailed", plan.IdentityConflict: "GitopsAgentGuestFailed",
		plan.PendingRestart: "GitopsAgentRestartPending", plan.Suspended: "GitopsAgentSuspendedTooLong", plan.NotObserved: "GitopsAgentObservationStale",
		plan.Drifted: "GitopsAgentGuestDrifted",
	}
	stopHeadings = map[gate.WriteStop]string{
		gate.StopNotReady: "GitopsAgentProxmoxUnusable", gate.StopUnverified: "GitopsAgentRevisionUnverified", gate.StopPolicy: "GitopsAgentRevisionUnverified",
		gate.StopJournal: "GitopsAgentJournalDamaged", gate.StopSuperseded: "GitopsAgentTwoAgents", gate.StopUnclaimed: "GitopsAgentClusterNotClaimed",
		gate.StopStateDirectory: "GitopsAgentStateDirectoryLost",
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
