package gate

import (
	"fmt"
	"strings"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/reason"
)

// judgeWeakening releases a weaker guard with the approvals that the guards in force require. Neither mode: observe nor a suspension holds it, since
// both may be what is weakened, and the step changes nothing in the cluster.
func (g Gate) judgeWeakening(step plan.Step) Verdict {
	w := step.Weakens
	why := "the manifest weakens " + w.String()
	if at := w.Origin.String(); at != "" {
		why += " (" + at + ")"
	}
	if others := w.Others(step.Guest.VMID); others != "" {
		why += ", " + others
	}
	least := 1
	if w.Field == guest.GuardProtection { // afterwards nothing but the present approvals stands against the end of the protection
		for _, o := range w.Guests {
			least = max(least, g.destroyApprovals(o.Ref))
		}
	}
	return g.judgeDigest(reason.Guard, step, w.Digest, why+"; the old value stays in force", least)
}

// judgeLoss releases a step that takes something from guests with guards, with the approvals that the guards in force require.
func (g Gate) judgeLoss(step plan.Step) Verdict {
	why := "it weakens guards of guests: " + lossesOf(step)
	if step.AfterAdoption {
		return held(reason.Guard, why+": the guest is adopted first", reason.AfterAdoption.Text)
	}
	v := g.judgeDigest(reason.Guard, step, step.Digest(g.Cluster, g.identity(step)), why, 1)
	if v.Held {
		v.Hint += otherWays(step)
	}
	return v
}

// lossesOf names what a step takes from guests with guards.
func lossesOf(step plan.Step) string {
	var parts []string
	for i, w := range step.Loses {
		if i == maxWeakenings {
			parts = append(parts, fmt.Sprintf("%d more", len(step.Loses)-i))
			break
		}
		parts = append(parts, w.String())
	}
	return strings.Join(parts, "; ")
}

// otherWays says what people can do about a held step that takes something from guests, besides approving it.
func otherWays(step plan.Step) string {
	switch {
	case step.Op == cluster.OpObjectRemove:
		return ", or restore the manifest"
	case step.Op.IsObject(), step.Op == cluster.OpConfig:
		return "; or revert the commit that asks for it; or, if somebody changed it in Proxmox, undo that there, or write it into the manifest"
	}
	return ", or revert the commit that asks for it"
}

// maxWeakenings bounds the guests that a text names.
const maxWeakenings = 5
