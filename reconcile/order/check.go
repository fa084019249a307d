package order

import (
	"fmt"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
)

// Check returns what a request means under the accepted manifests, and why it is refused, "" if it is not. It is called once, when the commit of the
// request is accepted. Later the order means this guest, by vmid and identity, and no other one.
func Check(r Request, guests []guest.Desired, state journal.State) (d *guest.Desired, refused string) {
	for i := range guests {
		if guests[i].Kind == r.Guest.Kind && guests[i].Name == r.Guest.Name {
			d = &guests[i]
		}
	}
	if d == nil {
		return nil, fmt.Sprintf("no manifest names %s, or it is that of another cluster", r.Guest.Label())
	}
	owned, isOwned := state.Owned[d.VMID]
	switch {
	case d.VMID == 0 || !isOwned:
		return d, fmt.Sprintf("the agent does not own %s yet: sign the order again when the guest exists", r.Guest.Label())
	case owned.Kind != string(d.Kind):
		return d, fmt.Sprintf("vmid %d belongs to %s/%s", d.VMID, owned.Kind, owned.Name)
	case d.Invalid != nil:
		return d, "this release refuses the manifest of " + r.Guest.Label()
	case d.Template && !AllowsTemplate(r.Op):
		return d, "the guest is a template"
	}
	return d, Contradiction(r, d)
}

// Contradiction returns why a manifest forbids a request, since the agent would undo it; "" if it does not.
func Contradiction(r Request, d *guest.Desired) string {
	if r.Op == cluster.OpMigrate {
		if target := r.Params[KeyTarget]; guest.LeavesNode(*d, target) {
			return fmt.Sprintf("the manifest allows no node %s, so the agent would move the guest away again: change spec.placement", target)
		}
		return ""
	}
	state := d.WantedState()
	_, overrides := r.Params[KeyFor]
	reaches := r.Reaches()
	contradicts := reaches != "" && state != reaches && (state == guest.Running || state == guest.Stopped)
	switch {
	case overrides && !contradicts:
		return fmt.Sprintf("for= overrides nothing: the manifest has state: %s; leave it out", stateText(state))
	case contradicts && r.Op == cluster.OpSuspend:
		return fmt.Sprintf("the manifest has state: %s, and nothing would resume the guest; set state: ignored before", state)
	case contradicts && !overrides && takesOverride(r.Op):
		return fmt.Sprintf("the manifest has state: %s, so the agent would undo it; change the manifest, or add for=2h for a temporary override", state)
	case contradicts && !overrides:
		return fmt.Sprintf("the manifest has state: %s", state)
	}
	return ""
}

// stateText returns the run state of a manifest as it is written.
func stateText(state guest.RunState) string {
	if state == "" {
		return "ignored"
	}
	return string(state)
}

func takesOverride(op cluster.Op) bool {
	row, _ := find(string(op))
	_, takes := row.param(KeyFor, guest.VirtualMachine)
	return takes
}

// Reaches returns the run state that the guest has after the operation, "" if the operation does not set one. A suspended guest is neither
// running nor stopped, so it contradicts both.
func (r Request) Reaches() guest.RunState {
	switch r.Op { //nolint:exhaustive // the table of operations has the others
	case cluster.OpSuspend:
		return paused
	case cluster.OpResume, cluster.OpReset:
		return guest.Running
	}
	return guest.RunState(r.Op.Reaches())
}

// paused is a run state that no manifest asks for.
const paused guest.RunState = "paused"
