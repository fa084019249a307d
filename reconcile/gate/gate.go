package gate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guard"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/policy"
	"gitops-agent/reconcile/reason"
	"gitops-agent/reconcile/schedule"
)

// Gate releases or holds steps. It is pure, and the caller makes a new one for every judgement.
type Gate struct {
	Cluster              string
	Now                  time.Time
	Policies             Policies                // of the guests that a manifest names
	Remembered           map[int]journal.Guarded // guards in force
	Owned                map[int]journal.Owned
	Approvals            Approvals
	SeparateApprover     bool                      // approvals of the people who introduced a step do not count for it
	RequiredApprovals    int                       // number of distinct approvers that release a held step; at least 1
	Minimum              guard.Minimum             // that the host sets for the guards
	NamedGuests          int                       // number of guests that manifests name
	NamedObjects         int                       // number of Images and objects of other kinds that manifests name
	Destroyed            int                       // number of calls to destroy a guest that were sent in the last 24 hours, with any outcome; running destroys included
	MaxDestroy           int                       // highest number of destroys in 24 hours; 0 allows none
	Scope                Scope                     // what the signers may touch
	Offline, Maintenance []string                  // names of nodes
	OwnGuests            map[int]bool              // vmids of the guests in which the agent may run itself
	NoWrites             string                    // why the agent may not write now; "" if it may
	HangingTasks         map[string]int            // number of tasks by node that still run after their time; nil if there are none
	Withheld             map[int]Withheld          // guests that a rollout has not released, by vmid
	Rules                *Rules                    // policies; nil without any
	Seen                 map[int]guest.Observed    // readings of guests, for the policies
	Waits                func(plan.Step) plan.Wait // returns what the step waits for; no step waits if nil
}

// Policy is the part of a manifest that the gate reads.
type Policy struct {
	Observe   bool
	Kept      bool // Observe is a guard in force, and the manifest has mode: enforce
	Suspend   *guest.Suspension
	Lifecycle guest.Lifecycle
	Window    schedule.Window // of the Lifecycle; the zero Window, which is never open, if the text is invalid
}

// Policies are the policies of guests. The key contains only the vmid, which a new name does not change, or only the label if a guest has no vmid yet.
type Policies map[guest.Ref]Policy

// NewPolicies returns the policies of guests. They are made once per revision, since parsing a window looks up its time zone.
func NewPolicies(guests []guest.Desired) Policies {
	policies := make(Policies, len(guests))
	for _, d := range guests {
		p := Policy{Observe: d.Observe, Kept: d.Kept, Suspend: d.Suspend, Lifecycle: d.Lifecycle}
		if d.Lifecycle.RebootPolicy == guest.RebootWindow {
			p.Window, _ = schedule.ParseWindow(d.Lifecycle.Window)
		}
		policies[policyKey(d.Ref)] = p
	}
	return policies
}

// Of returns the policy of a guest; the zero Policy if no manifest names it.
func (p Policies) Of(ref guest.Ref) Policy { return p[policyKey(ref)] }

func policyKey(ref guest.Ref) guest.Ref {
	if ref.VMID != 0 {
		return guest.Ref{VMID: ref.VMID}
	}
	return ref
}

// Verdict is the gate's decision on one step.
type Verdict struct {
	Held         bool
	Reason       reason.Name
	Message      string
	Hint         string
	Digest       string      // of the step, if an approval would release it
	ApprovalKeys []string    // keys of the orders that release the step; they are spent when the step runs
	Uncounted    []Uncounted // approvals that name the held step and do not count

	Policies []policy.Finding // what policies say of the step; empty if it is held for a reason that comes before them
	Required int              // number of approvals that policies require, and the step has
}

// Judge decides whether the step may run now.
func (g Gate) Judge(step plan.Step) Verdict {
	own := g.Policies.Of(step.Guest)
	switch {
	case g.NoWrites != "":
		return held(reason.WritesStopped, g.NoWrites, "")
	case step.Weakens != nil:
		return g.judgeWeakening(step)
	case step.Refused != "":
		return Verdict{} // it makes no call: the order ends
	case own.Kept:
		return held(reason.ManifestForbids, modeIsKept, reason.EndOfGuard.Text)
	case own.Observe || step.Object != nil && step.Object.Observe:
		return held(reason.ManifestForbids, "the manifest contains mode: observe", reason.Enforce.Text)
	case own.Suspend.Active(g.Now):
		return held(reason.Suspended, own.Suspend.String(), RemedyOf(own.Suspend).Text)
	}
	for _, judge := range []func(plan.Step) Verdict{g.judgeRollout, g.Scope.Judge, g.judgeOwnGuest, g.judgeNode, g.judgeForced} {
		if v := judge(step); v.Held {
			return v
		}
	}
	if node := g.hangingNode(step); node != "" {
		return held(reason.TaskHangs, fmt.Sprintf("%d tasks hang on %s", g.HangingTasks[node], node), reason.StopNodeTasks.Text)
	}
	findings := g.Findings(step)
	v := g.judgePermitted(step, own, findings)
	v.Policies = findings
	return v
}

// modeIsKept says why a guest is left alone whose manifest says mode: enforce.
const modeIsKept = "mode: observe is in force until mode: enforce of the manifest is approved"

// RemedyOf returns what ends a suspension.
func RemedyOf(s *guest.Suspension) reason.Remedy {
	if s.Kept {
		return reason.EndOfGuard
	}
	return reason.RemoveSuspend
}

// Keeps reports whether the manifest keeps the agent from the step for good, so that no other guest waits for it. A guest that is gone and is not created
// again is waited for.
func (g Gate) Keeps(step plan.Step) bool {
	switch g.Judge(step).Reason { //nolint:exhaustive // no other reason is a wish of the manifest
	case reason.Suspended:
		return true
	case reason.ManifestForbids:
		return !step.Recreates || g.Policies.Of(step.Guest).Observe
	}
	return false
}

// judgePermitted decides what policies and the guest's manifest say of a step. What no approval releases comes first, so that no approval is given without effect.
func (g Gate) judgePermitted(step plan.Step, own Policy, findings []policy.Finding) Verdict {
	if v := judgeDenial(findings); v.Held {
		return v
	}
	permitted := g.judgeManifest(step, own)
	if len(findings) == 0 || permitted.Held && permitted.Digest == "" && !permitted.Reason.IsOrder() {
		return permitted
	}
	switch v := g.judgeRequired(step, findings); {
	case v.Held:
		return v
	case permitted.Held:
		return permitted
	default:
		return permitted.with(v)
	}
}

// with returns a verdict that releases a step, with the approvals of another one that releases it too.
func (v Verdict) with(other Verdict) Verdict {
	v.Digest, v.Required = cmp.Or(v.Digest, other.Digest), other.Required
	v.ApprovalKeys = slices.Concat(v.ApprovalKeys, other.ApprovalKeys)
	slices.Sort(v.ApprovalKeys)
	v.ApprovalKeys = slices.Compact(v.ApprovalKeys)
	return v
}

// judgeManifest decides what orders, dependencies and the guest's manifest say of a step.
func (g Gate) judgeManifest(step plan.Step, own Policy) Verdict {
	if v := g.judgeHindrance(step); v.Held {
		return v
	}
	switch {
	case step.Order != nil:
		return g.judgeRun(step)
	case step.BringsUp():
		if v := g.judgeOrder(step); v.Held {
			return v
		}
		return g.judgePermission(step, own)
	}
	permitted := g.judgePermission(step, own) // first, so that a person sees the digest of a step that would have to wait afterwards
	if permitted.Held || !step.NeedsDependencies() && !step.TakesDown() && !step.NeedsObject() {
		return permitted
	}
	if v := g.judgeOrder(step); v.Held {
		return v
	}
	return permitted
}

// judgeHindrance holds a step that starts a guest while something keeps the guest from being started, unless the steps that end that may run.
func (g Gate) judgeHindrance(step plan.Step) Verdict {
	h := step.Hindrance
	if h.Waits() {
		return held(h.Reason, h.Message, h.Hint)
	}
	for _, first := range h.After {
		if v := g.Judge(first); v.Held {
			return held(h.Reason, h.Message+", and the step that gives it that is held: "+v.Message, v.Hint)
		}
	}
	return Verdict{}
}

// judgeOrder holds a step while other guests come first.
func (g Gate) judgeOrder(step plan.Step) Verdict {
	if g.Waits == nil {
		return Verdict{}
	}
	switch wait := g.Waits(step); {
	case wait.NotReady:
		return held(reason.WaitsFor, wait.Message, reason.LookAtChecks.Text)
	case wait.Message != "":
		return held(reason.WaitsFor, wait.Message, "")
	}
	return Verdict{}
}

// judgePermission holds a step that the manifest does not allow without an approval.
func (g Gate) judgePermission(step plan.Step, own Policy) Verdict {
	switch {
	case step.Op == cluster.OpDestroy:
		return g.judgeDestroy(step)
	case step.Op.IsObject():
		return g.judgeObject(step)
	case step.Op == cluster.OpDeleteFile:
		return g.judgeFile()
	case len(step.Loses) > 0:
		return g.judgeLoss(step)
	case step.Op == cluster.OpReboot:
		return g.judgeReboot(step, own)
	case step.Recreates:
		return g.judgeRecreate(step, own)
	case isInterrupting(step) && !g.liftsProtection(step):
		return g.judgeApproval(step, interruption(step))
	case step.Protected && !g.liftsProtection(step):
		return g.judgeApproval(step, cmp.Or(step.Doubt, "it changes what the protection covers"))
	}
	return Verdict{}
}

// maxHangingTasks is how many hanging tasks of a node the agent tolerates. Hanging tasks usually have a common cause, such as a storage that does
// not answer, and another one would only hang too.
const maxHangingTasks = 2

// hangingNode returns a node that the step needs and on which too many tasks hang, "" if there is none.
func (g Gate) hangingNode(step plan.Step) string {
	if len(g.HangingTasks) == 0 {
		return ""
	}
	for _, use := range step.Uses() {
		if use.Node != "" && g.HangingTasks[use.Node] >= maxHangingTasks {
			return use.Node
		}
	}
	return ""
}

// isInterrupting reports whether the step interrupts a running guest, or cannot be undone, although the manifest did not ask for that
// explicitly. A run-state step is what the field state asks for.
func isInterrupting(step plan.Step) bool {
	return !step.Op.IsRunState() && (step.Class == guest.Disruptive || step.Class == guest.Destructive)
}

// interruption describes the effects of the step that need an approval.
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

// judgeReboot applies the manifest's rebootPolicy.
func (g Gate) judgeReboot(step plan.Step, own Policy) Verdict {
	switch own.Lifecycle.RebootPolicy {
	case guest.RebootAuto:
		if step.Doubt == "" {
			return Verdict{}
		}
	case guest.RebootWindow:
		window := own.Window
		switch {
		case window == schedule.Window{}:
			// A manifest with such a window is not planned: it is that of the guard in force, which another release or host has recorded.
			return held(reason.Window, fmt.Sprintf("the window %q of the guard in force cannot be read here, so it never opens; the window of the manifest replaces it when that is approved", own.Lifecycle.Window), "")
		case !window.Contains(g.Now):
			return held(reason.Window, fmt.Sprintf("it may restart in %s, next at %s", own.Lifecycle.Window, window.Next(g.Now).UTC().Format(time.RFC3339)), "")
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

// judgeObject holds the removal of an object that is no guest, as that of a guest, and a change with a doubt.
func (g Gate) judgeObject(step plan.Step) Verdict {
	if step.Op == cluster.OpObjectRemove {
		permission := guard.DestroyObject(step.Object.Destroy, g.Minimum)
		switch {
		case permission == guest.Deny:
			return held(reason.ManifestForbids, "one of its accepted manifests contained lifecycle.destroy: deny", reason.RemoveByHand.Text)
		case g.namesNothing():
			return heldEmpty("guest, Image or other object")
		case len(step.Loses) > 0:
			return g.judgeLoss(step)
		case permission == guest.Approve && step.Doubt == "":
			return g.judgeApproval(step, "it removes the object")
		}
	}
	switch {
	case step.Doubt != "":
		return g.judgeApproval(step, step.Doubt)
	case len(step.Loses) > 0 && !step.TakesOwnership: // the call comes in a step of its own, after the record of ownership
		return g.judgeLoss(step)
	}
	return Verdict{}
}

// judgeFile holds the deletion of a former file of an Image if the manifests name nothing. The manifest has allowed the deletion with prune: true, so that it
// needs no approval, and it destroys no guest, so that it does not count against their limit.
func (g Gate) judgeFile() Verdict {
	if g.namesNothing() {
		return heldEmpty("guest, Image or other object")
	}
	return Verdict{}
}

// namesNothing reports whether the manifests name no guest, no Image and no other object.
func (g Gate) namesNothing() bool { return g.NamedGuests+g.NamedObjects == 0 }

// heldEmpty holds a removal because no manifest names anything of this sort: the revision may lack its manifests by accident.
func heldEmpty(what string) Verdict {
	return held(reason.DestroyLimit, "no manifest names any "+what+", and an empty desired set never prunes", reason.CheckPaths.Text)
}

// judgeDestroy counts guests alone for the guard against an empty repository: an object that is left over must not release the destruction of all guests.
func (g Gate) judgeDestroy(step plan.Step) Verdict {
	permission := guard.Destroy(g.Remembered[step.Guest.VMID], g.Minimum)
	switch {
	case permission == guest.Deny:
		return held(reason.ManifestForbids, "its last accepted manifest contains lifecycle.destroy: deny", reason.AllowDestroy.Text)
	case g.NamedGuests == 0:
		return heldEmpty("guest")
	case g.Destroyed >= g.MaxDestroy:
		return held(reason.DestroyLimit, fmt.Sprintf("%d calls to destroy a guest were sent in the last 24 hours", g.Destroyed), reason.RaiseDestroyLimit.Text)
	case permission == guest.Allow && step.Doubt == "" && !step.Protected:
		return Verdict{}
	case step.Doubt != "":
		return g.judgeApproval(step, step.Doubt)
	default:
		return g.judgeApproval(step, "it destroys the guest and its volumes")
	}
}

// judgeRecreate follows the stricter one of the manifest's lifecycle.recreate and the remembered one.
func (g Gate) judgeRecreate(step plan.Step, own Policy) Verdict {
	gone := g.Remembered[cmp.Or(step.GoneVMID, step.Guest.VMID)]
	switch guard.Recreate(own.Lifecycle.Recreate, gone, g.Minimum) {
	case guest.Deny:
		return held(reason.ManifestForbids, "the guest is gone, the agent did not destroy it, and lifecycle.recreate is deny",
			reason.RestoreGuest.Text)
	case guest.Allow:
		return Verdict{}
	case guest.Approve:
	}
	why := "the guest is gone, the agent did not destroy it, and a new guest does not have its data"
	if gone.Rules.Backup != "" {
		why += "; it required backups, and those of the new guest take the places of its own"
	}
	return g.judgeApproval(step, why)
}

func (g Gate) judgeApproval(step plan.Step, why string) Verdict {
	if step.AfterAdoption {
		return held(reason.Approval, why+": the guest is adopted first", reason.AfterAdoption.Text)
	}
	return g.judgeDigest(reason.Approval, step, step.Digest(g.Cluster, g.identity(step)), why, 1)
}

// judgeDigest releases the step that a digest identifies if enough people have approved it: as many as the guards require, and at least a number. A step
// against which the protection of its guest stands needs as many as the destruction of the guest.
func (g Gate) judgeDigest(because reason.Name, step plan.Step, digest, why string, least int) Verdict {
	var excluded map[string]bool
	if g.SeparateApprover {
		excluded = g.Scope.Authors(step)
	}
	need := max(g.RequiredApprovals, least)
	if step.Protected {
		why += protectedText
		if step.Lifts() && step.Op != cluster.OpDestroy {
			why += ", and the step lifts that and sets it again"
		}
		need = max(need, g.destroyApprovals(step.Guest))
	}
	tally := g.approvalsOf(step, digest).For(digest, g.Now, excluded, func(a Approval) string { return g.Scope.outside(a.signature(), g.Scope.reachOf(step)) })
	if tally.People >= need {
		return Verdict{Digest: digest, ApprovalKeys: tally.Keys}
	}
	v := held(because, fmt.Sprintf("%s: %d of %d approvals", why, tally.People, need), reason.ApproveDigest.With(digest))
	v.Digest, v.Uncounted = digest, tally.Uncounted
	return v
}

// identity returns the identity that the digest of a step contains: that of the owned guest, or of the guest that is gone and created again.
func (g Gate) identity(step plan.Step) string {
	if step.Object != nil {
		return step.Object.Identity
	}
	if owned := g.Owned[step.Guest.VMID]; owned.Identity != "" || !step.Recreates {
		return owned.Identity
	}
	return g.Remembered[cmp.Or(step.GoneVMID, step.Guest.VMID)].Identity
}

func held(because reason.Name, message, hint string) Verdict {
	return Verdict{Held: true, Reason: because, Message: message, Hint: hint}
}

// Next returns the first step of the guest's plan that may run now, those of orders first. An order that starts a guest comes after the steps of the plan before which
// the guest is not started. After a held create or adoption it returns no later step.
func (g Gate) Next(p plan.Guest) (plan.Step, Verdict, bool) {
	for _, step := range p.Orders {
		if verdict := g.Judge(step); !verdict.Held && len(step.Hindrance.After) == 0 {
			return step, verdict, true
		}
	}
	for _, step := range p.Steps {
		verdict := g.Judge(step)
		if !verdict.Held {
			return step, verdict, true
		}
		if step.Op == cluster.OpCreate || step.Op == cluster.OpObjectAdd || step.TakesOwnership {
			break
		}
	}
	return plan.Step{}, Verdict{}, false
}
