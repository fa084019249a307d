package gate

import (
	"slices"

	"gitops-agent/reconcile/guard"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/policy"
)

// protectedText ends the reason to hold a step against which the protection of its guest stands.
const protectedText = "; the guest is protected in Proxmox (protection: 1)"

// liftsProtection reports whether the step interrupts nothing but ends the protection, which approvals have put into force. The protection needs no
// second approval then.
func (g Gate) liftsProtection(step plan.Step) bool {
	if !guard.IsProtectionLifted(g.Remembered[step.Guest.VMID]) {
		return false
	}
	lifts := false
	for _, c := range step.Changes {
		switch {
		case c.Key == "protection":
			lifts = true
		case c.Class == guest.Disruptive, c.Class == guest.Destructive:
			return false
		}
	}
	return lifts
}

// approvalsOf returns the approvals with those of a step: also those that name it with the protection of its guest, which the guest has no longer. An approval
// that names more guards than stand now covers what is left. The reverse is not true: a protection that appeared since needs another approval.
func (g Gate) approvalsOf(step plan.Step, digest string) Approvals {
	if step.Protected || step.Weakens != nil || digest != step.Digest(g.Cluster, g.identity(step)) {
		return g.Approvals
	}
	step.Protected = true
	more := g.Approvals[step.Digest(g.Cluster, g.identity(step))]
	if len(more) == 0 {
		return g.Approvals
	}
	return Approvals{digest: slices.Concat(g.Approvals[digest], more)}
}

// destroyApprovals returns how many approvals the destruction of a guest needs, and at least one: as many as the guards require, or more if a policy asks for
// them.
func (g Gate) destroyApprovals(ref guest.Ref) int {
	return max(g.RequiredApprovals, policy.Approvals(g.findingsOfDestroy(ref)), 1)
}
