package model_test

import (
	"path/filepath"
	"testing"

	"gitops-agent/internal/gooverlay"
)

// mutation removes one protection from the source.
type mutation struct {
	gooverlay.Mutation
	scenario string // that finds it
	want     string // in the violation
}

func off(name, file, code, instead string) gooverlay.Mutation {
	return gooverlay.Mutation{Name: name, File: file, Code: code, Instead: instead}
}

// mutations removes each protection that the small world needs.
func mutations() []mutation {
	const lane, gate, slots = "reconcile/lane/", "reconcile/gate/gate.go", "reconcile/slots/"
	return []mutation{
		{off("last check of a destroy", lane+"last_check.go", "	if !isRisky(step, call) && isRefusedByDigest(call) {", "	if OFF || !isRisky(step, call) && isRefusedByDigest(call) {"), "destroy", "not the agent's"},
		{off("epoch at the last check", lane+"superseded.go", "{ return w.epochs.Now() != basis.Epoch }", "{ return !OFF && w.epochs.Now() != basis.Epoch }"), "destroy", "superseded"},
		{off("confirmation of ownership", lane+"identify.go", "owned, confirmed := ownership.Confirm(before, t.Seen)", "owned, confirmed := ownership.Confirm(before, t.Seen)\n	if OFF {\n		owned, confirmed = before, false\n	}"), "create", "does not converge"},
		{off("settling repeats nothing", lane+"settle.go", "	if open.UPID != \"\" && !partial(open) {", "	if OFF {\n		return journal.NotRun, nil\n	}\n	if open.UPID != \"\" && !partial(open) {"), "restart", "restarted already"},
		{off("destroys in flight count", lane+"basis.go", "		if open.Op == string(cluster.OpDestroy) {", "		if !OFF && open.Op == string(cluster.OpDestroy) {"), "limit", "with a limit of 1"},
		{off("destroys that were sent count", lane+"outcome.go", "Sent: c.sent && begun.Op == journal.OpDestroy", "Sent: !OFF && c.sent && begun.Op == journal.OpDestroy"), "limit", "with a limit of 1"},
		{off("history of slots", slots+"former.go", "	if recorded && !hasEmptySlot(record, live) {", "	if OFF || recorded && !hasEmptySlot(record, live) {"), "disk", "instead of"},
		{off("users of volumes", lane+"volumes.go", "	if len(step.Touches) == 0 {\n		return nil\n	}\n	owned", "	if OFF || len(step.Touches) == 0 {\n		return nil\n	}\n	owned"), "volume", "which [900] uses"},
		{off("approval of a destroy", gate, "	case permission == guest.Allow && step.Doubt == \"\" && !step.Protected:", "	case OFF || permission == guest.Allow && step.Doubt == \"\":"), "approval", "without approval"},
		{off("a missing task is no outcome of an order", lane+"order.go", "	if len(tasks) == 0 && time.Now().Before(d.late) {", "	if OFF && len(tasks) == 0 {\n		return settled(open, journal.NotRun, cluster.ErrNotReady), nil\n	}\n	if len(tasks) == 0 && time.Now().Before(d.late) {"), "order", "has a second effect"},
		{off("last check of an object", lane+"object.go", "	case exists != (seen != nil) || exists && (", "	case !OFF && (exists != (seen != nil)) || !OFF && exists && ("), "pool-removal", "not the agent's"},
		{off("marker of an object that is removed", "reconcile/plan/object_removal.go", "	case !exists || !IsOwnedObject(k, owned, live):", "	case !exists || !OFF && !IsOwnedObject(k, owned, live):"), "pool-removal", "not the agent's"},
		{off("marker of an object that is changed", "reconcile/plan/object.go", "	case isOwned && (marker == o.owned.Marker || claims):", "	case isOwned && (OFF || marker == o.owned.Marker || claims):"), "pool", "not the agent's"},
		{off("the record of an object ends with the object", lane+"object.go", "known && k.Mark.Key != \"\" {", "!OFF && known && k.Mark.Key != \"\" {"), "replication-removal", "no record any more"},
		{off("an object that is being removed is not removed again", "reconcile/plan/object_removal.go", "	case k.Leaving(live) != \"\":\n		p.Present", "	case !OFF && k.Leaving(live) != \"\":\n		p.Present"), "replication-removal", "Proxmox is removing"},
		{off("an object that is being removed is not changed", "reconcile/plan/object.go", "	case k.Leaving(o.live) != \"\":", "	case !OFF && k.Leaving(o.live) != \"\":"), "replication-removal", "Proxmox is removing"},
		{off("approval to create again", gate, "	case step.Recreates:", "	case !OFF && step.Recreates:"), "gone", "creates a guest again"},
		{off("the error of the HA manager is no health", "reconcile/plan/ha_state.go", "	case row.HAFailed():\n		p.Conditions", "	case !OFF && row.HAFailed():\n		p.Conditions"), "ha-start", "is green"},
		{off("an entry that is written is no guest that runs", "reconcile/plan/ha_state.go", "	if asked == \"\" || !live.Resource", "	if OFF || asked == \"\" || !live.Resource"), "ha-start", "before guest 201 has run"},
		{off("a long move of the HA manager is no failure", lane+"move.go", "	case seen && row.HAMoves():", "	case !OFF && seen && row.HAMoves():"), "ha-order", "the guest is on its way"},
		{off("a request that the HA manager drops is noticed", lane+"move.go", "	case master.RoundAt.After(m.round):", "	case !OFF && master.RoundAt.After(m.round):"), "ha-drop", "waits for it without a word"},
		{off("a request may lie in the queue of the HA manager", lane+"move.go", "		if m.rounds >= actsWithin {", "		if OFF || m.rounds >= actsWithin {"), "ha-move", "lies in the queue"},
		{off("placement moves no guest against a rule", "reconcile/plan/ha_rules.go", "	case p.ruling != \"\":\n		p.Conditions", "	case !OFF && p.ruling != \"\":\n		p.Conditions"), "ha-move", "was moved"},
		{off("a lock that no task holds is named", "reconcile/locks.go", "	case look.isLeft(listed):", "	case !OFF && look.isLeft(listed):"), "ha-lock", "says nothing else"},
		{off("the tasks of a silent node are unknown", "reconcile/locks.go", "			look.silent = append(look.silent, node.Node)", "			look.silent = map[bool][]string{true: look.silent, false: append(look.silent, node.Node)}[OFF]"), "ha-lock", "not every node has answered"},
	}
}

// TestMutationsFitTheSource checks that the code which each mutation changes is there, once. The tests with the build tag mutation change it.
func TestMutationsFitTheSource(t *testing.T) {
	for _, m := range mutations() {
		m.Fit(t, filepath.Join("..", ".."))
	}
}
