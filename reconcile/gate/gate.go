package gate

import (
	"fmt"
	"strings"
	"time"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/plan"
)

// HoldReason says why a step is held. It is a label of metrics.
type HoldReason string

// Reasons to hold a step.
const (
	HoldApproval      HoldReason = "approval"       // a signed approval releases it
	HoldDenied        HoldReason = "destroy-denied" // lifecycle.destroy: deny; approvals do not count
	HoldDestroyLimit  HoldReason = "destroy-limit"  // enough was destroyed in 24 hours
	HoldEmptyDesired  HoldReason = "empty-desired"  // an empty desired set never prunes
	HoldObserve       HoldReason = "observe-mode"
	HoldSuspended     HoldReason = "suspended"
	HoldWindow        HoldReason = "window"    // the guest may restart within a stated time only
	HoldWaits         HoldReason = "waits-for" // a dependency or a lower wave comes first
	HoldWritesStopped HoldReason = "writes-stopped"
)

// HoldReasons lists every reason, for metrics that start at zero.
func HoldReasons() []HoldReason {
	return []HoldReason{
		HoldApproval, HoldDenied, HoldDestroyLimit, HoldEmptyDesired, HoldObserve, HoldSuspended, HoldWaits, HoldWindow, HoldWritesStopped,
	}
}

// Gate lets steps through or holds them. It is made anew for every judgement, and pure.
type Gate struct {
	Cluster           string
	Now               time.Time
	Policies          Policies // of the guests that a manifest names
	Remembered        map[int]journal.Guarded
	Owned             map[int]journal.Owned
	Approvals         Approvals
	RequiredApprovals int                         // distinct approvers that a held step needs; at least 1
	NamedGuests       int                         // guests that manifests name
	Destroyed         int                         // guests destroyed in the last 24 hours, running destroys included
	MaxDestroy        int                         // in 24 hours; 0 is none at all
	NoWrites          string                      // why nothing may be written now; "" where writing is allowed
	Waits             func(step plan.Step) string // what the step has to wait for: a dependency or a lower wave; "" is nothing. Nil never waits
}

// Policy is the part of a manifest that the gate reads.
type Policy struct {
	Observe   bool
	Suspend   *guest.Suspension
	Lifecycle guest.Lifecycle
	Window    guest.Window // that Lifecycle names; the zero Window, which is never open, where it cannot be read
}

// Policies are the policies of guests, by vmid alone, which outlives a new name, or by label alone where a guest has no vmid yet.
type Policies map[guest.Ref]Policy

// NewPolicies returns the policies of guests. They are made once a revision, since reading a window looks up its time zone.
func NewPolicies(guests []guest.Desired) Policies {
	policies := make(Policies, len(guests))
	for _, d := range guests {
		p := Policy{Observe: d.Observe, Suspend: d.Suspend, Lifecycle: d.Lifecycle}
		if d.Lifecycle.RebootPolicy == guest.RebootWindow {
			p.Window, _ = guest.ParseWindow(d.Lifecycle.Window) // manifests with another one are refused
		}
		policies[policyKey(d.Ref)] = p
	}
	return policies
}

// Of returns the policy of a guest; the zero Policy where no manifest names it.
func (p Policies) Of(ref guest.Ref) Policy { return p[policyKey(ref)] }

func policyKey(ref guest.Ref) guest.Ref {
	if ref.VMID != 0 {
		return guest.Ref{VMID: ref.VMID}
	}
	return ref
}

// Verdict is the gate's word on one step.
type Verdict struct {
	Held         bool
	Reason       HoldReason
	Message      string
	Hint         string
	Digest       string   // of the step, where an approval would release it
	ApprovalKeys []string // keys of the orders that release the step; spent when it is carried out
}

// Judge says whether the step may run now.
func (g Gate) Judge(step plan.Step) Verdict {
	policy := g.Policies.Of(step.Guest)
	switch {
	case g.NoWrites != "":
		return held(HoldWritesStopped, g.NoWrites, "")
	case policy.Observe:
		return held(HoldObserve, "the manifest says mode: observe", "set spec.mode: enforce")
	case policy.Suspend.Active(g.Now):
		return held(HoldSuspended, policy.Suspend.String(), "remove spec.suspend")
	case step.Op == cluster.OpDestroy:
		return g.judgeDestroy(step)
	case step.Op == cluster.OpReboot:
		return g.judgeReboot(step, policy)
	case step.Op.BringsUp() || startsThroughHA(step):
		if g.Waits != nil {
			if why := g.Waits(step); why != "" {
				return held(HoldWaits, why, "")
			}
		}
	}
	if isInterrupting(step) {
		return g.judgeApproval(step, interruption(step))
	}
	return Verdict{}
}

// startsByHA reports whether the step has the HA manager start the guest.
func startsThroughHA(step plan.Step) bool {
	return (step.Op == cluster.OpHAAdd || step.Op == cluster.OpHASet) && step.Calls[0].Params["state"] == "started"
}

// interrupts reports whether the step disturbs a running guest, or cannot be taken back, in a way that its manifest did not plainly ask
// for. Run-state steps are what state: asks for.
func isInterrupting(step plan.Step) bool {
	return !step.Op.IsRunState() && (step.Class == guest.Disruptive || step.Class == guest.Destructive)
}

// disturbance says in plain words what the step does that needs leave.
func interruption(step plan.Step) string {
	var words []string
	for _, c := range step.Changes {
		if (c.Class == guest.Disruptive || c.Class == guest.Destructive) && c.Note != "" {
			words = append(words, c.Key+": "+c.Note)
		}
	}
	if len(words) == 0 {
		return "it interrupts the running guest"
	}
	return strings.Join(words, "; ")
}

// judgeReboot follows the manifest's rebootPolicy.
func (g Gate) judgeReboot(step plan.Step, policy Policy) Verdict {
	switch policy.Lifecycle.RebootPolicy {
	case guest.RebootAuto:
		if step.Doubt == "" {
			return Verdict{}
		}
	case guest.RebootWindow:
		window := policy.Window
		switch {
		case window == guest.Window{}:
			return held(HoldWindow, fmt.Sprintf("the window %q cannot be read", policy.Lifecycle.Window), "correct lifecycle.window")
		case !window.Contains(g.Now):
			return held(HoldWindow, fmt.Sprintf("it may restart in %s, next at %s", policy.Lifecycle.Window, window.Next(g.Now).UTC().Format(time.RFC3339)), "")
		case step.Doubt == "":
			return Verdict{}
		}
	case guest.RebootApprove, guest.RebootNever:
	}
	if step.Doubt != "" {
		return g.judgeApproval(step, step.Doubt)
	}
	return g.judgeApproval(step, "it restarts the guest")
}

func (g Gate) judgeDestroy(step plan.Step) Verdict {
	permission := guest.Permission(g.Remembered[step.Guest.VMID].Destroy)
	switch {
	case permission == guest.Deny:
		return held(HoldDenied, "its last accepted manifest says lifecycle.destroy: deny", "put the manifest back with lifecycle.destroy: approve or allow, then remove it")
	case g.NamedGuests == 0:
		return held(HoldEmptyDesired, "no manifest names any guest, and an empty desired set never prunes", "check source.paths and the repository")
	case g.Destroyed >= g.MaxDestroy:
		return held(HoldDestroyLimit, fmt.Sprintf("%d guests were destroyed in the last 24 hours", g.Destroyed), "wait, or raise spec.guards.maxDestroysPerDay of the Cluster")
	case permission == guest.Allow && step.Doubt == "":
		return Verdict{}
	case step.Doubt != "":
		return g.judgeApproval(step, step.Doubt)
	default:
		return g.judgeApproval(step, "it destroys the guest and its volumes")
	}
}

func (g Gate) judgeApproval(step plan.Step, why string) Verdict {
	if step.AfterAdoption {
		return held(HoldApproval, why+": the guest is adopted first", "approve it once the guest is adopted: an approval names the identity that is drawn then")
	}
	digest := step.Digest(g.Cluster, g.Owned[step.Guest.VMID].Identity)
	keys, people := g.Approvals.For(digest, g.Now)
	need := max(g.RequiredApprovals, 1)
	if people >= need {
		return Verdict{Digest: digest, ApprovalKeys: keys}
	}
	v := held(HoldApproval, fmt.Sprintf("%s: %d of %d approvals", why, people, need), "gitops-agent approve "+digest)
	v.Digest = digest
	return v
}

func held(reason HoldReason, message, hint string) Verdict {
	return Verdict{Held: true, Reason: reason, Message: message, Hint: hint}
}

// Next returns the first step of the guest's plan that may run now. A guest that is not created yet is not started either.
func (g Gate) Next(p plan.Guest) (plan.Step, Verdict, bool) {
	for _, step := range p.Steps {
		verdict := g.Judge(step)
		if !verdict.Held {
			return step, verdict, true
		}
		if step.Op == cluster.OpCreate || step.TakesOwnership {
			break
		}
	}
	return plan.Step{}, Verdict{}, false
}
