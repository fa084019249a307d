package plan

import (
	"cmp"
	"slices"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/reason"
)

// withHAState adds what the HA manager does with a guest. A guest that it gave up stays as it is: Proxmox refuses each call that would start or move it, and each change of its
// entry but the one to disabled, which is the repair.
//
// Source: PVE::HA::Manager, "error"; PVE::API2::HA::Resources, update.
func withHAState(p Guest, d *guest.Desired, live guest.Observed, got cluster.Snapshot) Guest {
	row, _ := got.Inventory.Row(live.VMID)
	c, waits := waitsForHA(d, live, row, got)
	if waits {
		p.Changes = append(p.Changes, c)
	}
	if unread, is := unreadHA(d, live, got); is {
		p.Conditions = append(p.Conditions, unread)
	}
	switch {
	case row.HAFailed():
		p.Conditions = append(p.Conditions, haCondition(live))
		if live.Resource != nil && live.Resource.State == "disabled" {
			p.Changes = slices.DeleteFunc(p.Changes, func(c guest.Change) bool { return c.Write == guest.WriteHA && c.Value == guest.HASet })
		}
		if live.Status == guest.StatusStopped && guest.RunsUnderHA(d) {
			p.missing, p.stands = "is not running: the HA manager has given it up", true
		}
	case waits:
		p.missing, p.stands = "is not running yet", got.HAStands != ""
		if c.To == string(guest.StatusStopped) {
			p.missing = "is still running"
		}
		message := "it waits for the HA manager to " + map[bool]string{true: "start it", false: "shut it down"}[c.To == string(guest.StatusRunning)]
		if row.HAState != "started" && row.HAState != "" {
			message += ", whose state of the guest is " + row.HAState
		}
		if why := cmp.Or(got.HAStands, got.HAUnread); why != "" {
			message += ": " + why
		}
		p.missing += ": " + message
		p.Conditions = append(p.Conditions, Condition{Type: WaitsFor, Reason: reason.WaitsFor, Message: message})
	case row.HAWorks():
		p.Conditions = append(p.Conditions, Condition{Type: WaitsFor, Reason: reason.WaitsFor, Message: "the HA manager is at work on the guest (" + row.HAState + ")"})
	}
	return p
}

// waitsForHA returns the change of the run state that the entry of a guest with the HA manager asks for already, and that the manager has not made yet. An entry that is written
// is not a guest that runs: the manager works in rounds of ten seconds, and a shutdown takes as long as the guest does. What a guest on an offline node does is not known, and a
// guest that the manager gave up stays as it is.
func waitsForHA(d *guest.Desired, live guest.Observed, row cluster.Row, got cluster.Snapshot) (guest.Change, bool) {
	asked := guest.AskedOfHA(d, &live)
	if asked == "" || !live.Resource.WaitsAt(live.Status) || row.HAFailed() || slices.Contains(got.Inventory.Offline, live.Node) {
		return guest.Change{}, false
	}
	c := guest.Change{
		Key: keyState, From: string(live.Status), To: string(asked), Class: guest.Live, Write: guest.WriteNone, ByHA: true,
		Note: "the HA manager starts the guest", Origin: d.HA.Origin,
	}
	if asked == guest.StatusStopped {
		c.Class, c.Note = guest.Disruptive, "the HA manager shuts the guest down"
	}
	return c, true
}

// AwaitsHA reports whether the HA manager is going to bring the guest to its run state.
func (g *Guest) AwaitsHA() bool { return g.byHA() != "" && !g.stands }

// byHA returns the run state to which the HA manager has to bring the guest, "" if it has none to make.
func (g *Guest) byHA() guest.Status {
	for _, c := range g.Changes {
		if c.ByHA {
			return guest.Status(c.To)
		}
	}
	return ""
}

// unreadHA returns why it is not known whether a guest is as its entry with the HA manager asks for.
func unreadHA(d *guest.Desired, live guest.Observed, got cluster.Snapshot) (Condition, bool) {
	c := Condition{Type: NotObserved, Reason: reason.NotObserved}
	switch asked := guest.AskedOfHA(d, &live); {
	case guest.HAUnread(d, &live):
		c.Message = "its entry with the HA manager was not read"
	case asked == "":
		return Condition{}, false
	case slices.Contains(got.Inventory.Offline, live.Node):
		c.Reason, c.Message, c.Hint = reason.NodeOffline, "its node "+live.Node+" is offline", reason.StartNode.Text
	case live.Status == guest.StatusUnknown:
		c.Message = "its run state is not known"
	default:
		return Condition{}, false
	}
	return c, true
}

// haCondition returns the condition of a guest that the HA manager gave up.
func haCondition(live guest.Observed) Condition {
	c := Condition{Type: Blocked, Reason: reason.HAError, Message: "the HA manager has given the guest up (its state is error): it stays as it is", Hint: reason.RepairHA.With(live.HAName())}
	if live.Resource != nil && live.Resource.State == "disabled" {
		c.Message, c.Hint = "the HA manager had given the guest up, and takes note of the repair: its entry is disabled", ""
	}
	return c
}
