package report

import (
	"time"

	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/plan"
)

// PollOutcome is the result of one poll of the remote.
type PollOutcome struct {
	Result   PollResult
	Duration time.Duration
	Fetch    time.Duration // the part of Duration until the head was fetched
	Head     string
	Err      error
}

// PollResult is a label of metrics.
type PollResult string

// Results of a poll.
const (
	PollUnchanged PollResult = "unchanged"
	PollAccepted  PollResult = "accepted"
	PollRefused   PollResult = "refused"
	PollFailed    PollResult = "error"
	PollWaiting   PollResult = "waiting"   // the head waits for evidence
	PollUnchecked PollResult = "unchecked" // fetched, and not checked because the floor in the cluster, or the policy, could not be read
)

// PollResults lists every result, for metrics that start at zero.
func PollResults() []PollResult {
	return []PollResult{PollUnchanged, PollAccepted, PollRefused, PollFailed, PollWaiting, PollUnchecked}
}

// VerifyOutcome is the result of checking one revision. Reason is empty if the revision was accepted.
type VerifyOutcome struct {
	Commit   string
	Signer   string // of the commit, if it was accepted
	Reason   string
	Waiting  bool // it is not decided yet, and Reason is what is missing
	Known    bool // it was refused by an earlier poll, and nothing that decides it has changed since, so it was not verified again
	Duration time.Duration
}

// PlanOutcome is the result of planning every guest.
type PlanOutcome struct {
	Revision string // "" while none is in force
	Duration time.Duration
	Steps    map[guest.Class]int
}

// StepBegun is a step whose intent was journaled. Its first call follows.
type StepBegun struct {
	Step     plan.Step
	ID       string
	Revision string
}

// StepOutcome is the result of one step.
type StepOutcome struct {
	Step     plan.Step
	ID       string
	Revision string
	Result   journal.Result
	Err      error
	Warnings []string // of tasks that succeeded with warnings
	Duration time.Duration
}

// SettledOutcome is the outcome of a step that a crash or a lost reply left open.
type SettledOutcome struct {
	Step   journal.OpenStep
	Result journal.Result
	Err    error
}

// HoldOutcome is a step that the gate holds, or held: the event says which.
type HoldOutcome struct {
	Guest guest.Ref
	Step  HeldStep
}

// OrderOutcome is the state that a signed order has reached.
type OrderOutcome struct {
	Operation string
	State     journal.OrderState
}

// DriftOutcome is how a guest differs from its manifest, or differed: the event says which.
type DriftOutcome struct {
	Guest guest.Ref
	Cause DriftCause
	Keys  []string
}

// DriftCause states what changed: the revision or the guest. It is a label of metrics.
type DriftCause string

// Causes of drift.
const (
	DriftRevision DriftCause = "revision" // a new revision describes another state
	DriftCluster  DriftCause = "cluster"  // a person or another program changed the guest
)

// DriftCauses lists every cause, for metrics that start at zero.
func DriftCauses() []DriftCause { return []DriftCause{DriftRevision, DriftCluster} }

// ConvergedOutcome reports that every guest of a revision was in sync for the first time, and how long each stage took.
type ConvergedOutcome struct {
	Revision   string
	Total      time.Duration // from the first sight of the revision
	SinceProof time.Duration // from the proven signing time; negative if that is unknown, since clocks differ
	Verify     time.Duration // from the first sight to acceptance
	Apply      time.Duration // from acceptance to convergence
}
