package plan

import (
	"fmt"
	"slices"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/kinds"
	"gitops-agent/reconcile/reason"
)

// withRules takes the move away that placement asks for if a rule decides where the HA manager runs the guest, made by anybody: the HA manager would undo the move, and the
// agent would repeat it. The move waits while the rules are not known. A signed order is sent all the same.
func withRules(p Guest, want Desired, d *guest.Desired, live guest.Observed, got cluster.Snapshot) Guest {
	if !got.UnderHA(d.VMID) {
		return p
	}
	isMove := func(c guest.Change) bool { return c.Write == guest.WriteMigrate }
	moves := slices.ContainsFunc(p.Changes, isMove)
	if !moves && !guest.OnOtherNode(*d, live) {
		return p
	}
	p.ruling = want.derived.rulingOn(d, live)
	list := got.Objects[kinds.AffinityRules]
	switch {
	case !moves:
		return p
	case p.ruling != "":
		p.Conditions = append(p.Conditions, otherNodeCondition(p, d, live))
	case list.Err != "":
		p.Conditions = append(p.Conditions, Condition{Type: WaitsFor, Reason: reason.WaitsFor, Message: "it does not move, since the rules of the HA manager, which may decide where it runs, cannot be read: " + list.Err})
	case d.HA != nil && d.HA.Absent:
		p.Conditions = append(p.Conditions, Condition{Type: WaitsFor, Reason: reason.WaitsFor, Message: "it does not move before the HA manager has forgotten it"})
	case list.ReadAt.IsZero():
		p.Conditions = append(p.Conditions, Condition{Type: WaitsFor, Reason: reason.WaitsFor, Message: "it does not move before the rules of the HA manager, which may decide where it runs, are read"})
	default:
		return p
	}
	p.Changes = slices.DeleteFunc(slices.Clone(p.Changes), isMove)
	return p
}

// otherNodeCondition returns the condition of a guest that stays on another node than its manifest names.
func otherNodeCondition(p Guest, d *guest.Desired, live guest.Observed) Condition {
	c := Condition{Type: Warned, Reason: reason.OtherNode, Message: fmt.Sprintf("it is on %s, and its manifest names %s", live.Node, d.Node), Hint: reason.CorrectNode.Text}
	if p.ruling != "" {
		c.Message, c.Hint = c.Message+"; "+p.ruling, reason.RuleDecides.Text
		if p.ruling == balances {
			c.Hint = reason.PinByRule.Text
		}
	}
	return c
}

// balances says that the HA manager moves the guests that it keeps running as the load of the nodes asks for: it would move a guest away again that placement moves back.
const balances = "the HA manager balances the nodes (crs: ha-auto-rebalance), and decides where it runs"

// rulingOn says what decides where a guest runs that its manifest wants on another node, "" if placement does: a rule that Proxmox has, one of a manifest that contradicts
// the placement, or the balancing of the HA manager.
func (d *derived) rulingOn(want *guest.Desired, live guest.Observed) string {
	for _, r := range d.rules() {
		if r.Decides(live.HAName(), want.Node, func(name string) string { return d.nodesByHA()[name] }) {
			return r.Label + " decides where the HA manager runs it"
		}
	}
	for _, c := range d.conflicts() {
		if c.Guest == want.Label() {
			return fmt.Sprintf("%s (%s) %s", c.Rule, c.Origin, c.Says)
		}
	}
	if d.got.Objects[kinds.AffinityRules].Balanced && (live.Resource == nil || live.Resource.Asks() == guest.StatusRunning) {
		return balances
	}
	return ""
}

// nodesByHA returns the nodes of the guests that the HA manager runs, by its names.
func nodesByHA(got cluster.Snapshot) map[string]string {
	nodes := make(map[string]string)
	for _, row := range got.Inventory.Rows {
		if got.UnderHA(row.VMID) {
			nodes[guest.Ref{Kind: row.Kind, VMID: row.VMID}.HAName()] = row.Node
		}
	}
	return nodes
}
