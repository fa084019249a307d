package report

import (
	"time"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/gate"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/policy"
	"gitops-agent/reconcile/reason"
)

// Hold is why the gate holds a step, and what releases the step.
type Hold struct {
	Reason    reason.Name      `json:"reason"`
	Message   string           `json:"message"`
	Hint      string           `json:"hint,omitempty"`
	Uncounted []gate.Uncounted `json:"uncountedApprovals,omitempty"` // approvals that name the step and do not count
	Policies  []policy.Finding `json:"policies,omitempty"`           // what policies say of the step
}

// NewHold returns the hold of a verdict. The verdict must hold its step.
func NewHold(v gate.Verdict) Hold { return Hold{v.Reason, v.Message, v.Hint, v.Uncounted, v.Policies} }

// HeldStep is a step that the gate holds.
type HeldStep struct {
	Op    cluster.Op  `json:"op"`
	Class guest.Class `json:"class"`
	Hold
	Digest string    `json:"digest,omitempty"` // for gitops-agent approve
	Since  time.Time `json:"since"`
}
