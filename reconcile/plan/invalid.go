package plan

import (
	"fmt"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/reason"
)

// planInvalid returns the guest of a manifest that an older release accepted and this one refuses. It has no step: it is neither changed nor created,
// and since a manifest names it, not destroyed either.
func planInvalid(p Guest, d *guest.Desired, got cluster.Snapshot) Guest {
	in := d.Invalid
	hint := reason.CorrectField.Text
	if in.Hint != "" {
		hint = in.Hint + "; " + hint
	}
	p.Conditions = append(p.Conditions, Condition{
		Type: Blocked, Reason: reason.Impossible, Hint: hint,
		Message: fmt.Sprintf("this release refuses the manifest, which was accepted before: %s: %s: %s", in.Origin, in.Field, in.Message),
	})
	live, seen := got.Guests[d.VMID]
	switch absent := got.Absent[d.VMID]; {
	case d.VMID != 0 && seen && absent != cluster.Unknown:
		p.Node, p.Present = live.Node, true
	case d.VMID == 0 || absent == cluster.Gone:
		p.Conditions = append(p.Conditions, Condition{
			Type: Blocked, Reason: reason.Impossible, Message: "the guest does not exist, and its manifest is not valid", Hint: hint,
		})
	default:
		p.Conditions = append(p.Conditions, notObserved(d.VMID, got))
	}
	return p
}
