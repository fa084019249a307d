package plan

import (
	"fmt"
	"slices"
	"strings"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/ownership"
	"gitops-agent/reconcile/reason"
)

// planGuest plans one guest that a manifest names.
func planGuest(want Desired, d *guest.Desired, got cluster.Snapshot, volumes holders) Guest {
	p := Guest{Ref: d.Ref, Node: d.Node, WhyNode: d.WhyNode, Wave: d.Wave, Origin: d.Origin, Managed: true}
	if d.Invalid != nil {
		return planInvalid(p, d, got)
	}
	if d.VMID == 0 {
		if found := Candidates(d, want, got.Inventory); len(found) > 0 {
			p.Conditions = append(p.Conditions, candidatesCondition(found))
			return p
		}
		return planCreate(p, want, d, got, volumes)
	}
	live, seen := got.Guests[d.VMID]
	if !seen || got.Absent[d.VMID] == cluster.Unknown {
		return planAbsent(p, want, d, got, volumes)
	}
	if p.Node = live.Node; live.Node != d.Node {
		p.WhyNode = ""
	}
	if cluster.PartlyCreated(live) {
		p.Conditions = append(p.Conditions, lockCondition(live))
		return p
	}
	owned, isOwned := want.Owned[d.VMID]
	proof := ownership.Compare(owned, live)
	if isOwned && proof.Creating && d.Adopt && proof.Conflict(d.Kind) != "" {
		// Another guest got the vmid before the agent created its own, and the manifest now asks to adopt that guest.
		owned, isOwned = journal.Owned{}, false
		proof = ownership.Compare(owned, live)
	}
	if c := identityConflict(d, live, owned, isOwned, proof); c != nil {
		p.Conditions = append(p.Conditions, *c)
		return p
	}
	p.Present, p.Started = true, owned.Unstarted && (live.Status == guest.StatusRunning || live.Status == guest.StatusPaused)
	former := formerVolumes(want, d, recordOf(owned, isOwned), live, volumes)
	later := d
	d = WantedNow(d, owned)
	changes, blocked := differences(want, d, live, owned, former)
	p.Changes = withBoots(volumes.blockTakenVolumes(changes, live), d, want.Applied[d.VMID], owned, live)
	p.Conditions = append(append(p.Conditions, blocked...), atCreation(want, later, owned)...)
	if isOwned && isFreshClone(d, live, owned, proof) {
		p.Changes = adjustFreshClone(p.Changes, d, live)
	}
	if isOwned && ownership.HasClaimNote(live.Keys["description"].Text, owned.Tag) {
		p.Changes = removeClaimNote(p.Changes, d, live)
	}
	if !isOwned || !proof.IsNew() { // the first configuration of a clone also sets the uuid of its manifest
		p.Changes = guest.KeepUUID(p.Changes, knownUUID(owned, isOwned, live))
		p.Changes = markBackupLosses(p.Changes, d, live) // a new guest has no backup that could lose a volume
	}
	p.Conditions = append(p.Conditions, lostVolumes(p.Changes, former, live)...)
	p = withFirewall(p, d, live, got)
	row, _ := got.Inventory.Row(d.VMID)
	p = withRules(withHAState(p, d, live, got), want, d, live, got)
	if owned.Configuring && proof.HasTag {
		stays := !CloneLeaves(d, live) || !isFreshClone(d, live, owned, proof) || p.ruling != ""
		p.Configured = stays && (later == d || holdsIgnored(want, later, live, owned, former, changes, blocked))
	}
	if live.Lock != "" {
		p.Conditions = append(p.Conditions, lockCondition(live))
		return p
	}
	if row.HAMoves() {
		if p.byHA() == "" {
			p.Conditions = append(p.Conditions, Condition{Type: WaitsFor, Reason: reason.WaitsFor, Message: "the HA manager moves the guest"})
		}
		return p
	}
	p = planExisting(p, d, live, !isOwned)
	if proof.IsNew() {
		p.Steps = identityBeforeMove(p.Steps, live)
	}
	p.hindrance = hindranceOf(p, want, d, live, owned, got.Inventory)
	withHindrance(p.Steps, p.hindrance, live)
	holdGrowth(p.Steps, live, got.Inventory)
	return p
}

func recordOf(owned journal.Owned, isOwned bool) *journal.Owned {
	if !isOwned {
		return nil
	}
	return &owned
}

// knownUUID returns the uuid in the record of the guest, or the uuid that the record will contain after adoption; "" if it is not known yet.
func knownUUID(owned journal.Owned, isOwned bool, live guest.Observed) string {
	if !isOwned {
		return guest.SMBIOSUUID(live)
	}
	return owned.UUID
}

// planAbsent plans a guest that was not read in full.
func planAbsent(p Guest, want Desired, d *guest.Desired, got cluster.Snapshot, volumes holders) Guest {
	switch got.Absent[d.VMID] {
	case cluster.Gone:
		return planCreate(p, want, d, got, volumes)
	case cluster.Hidden:
		p.Conditions = append(p.Conditions, Condition{
			Type: Blocked, Reason: reason.Denied, Message: fmt.Sprintf("vmid %d belongs to a guest that the token may not see", d.VMID),
			Hint: reason.GrantAudit.With(d.VMID),
		})
	case cluster.Unknown:
		p.Conditions = append(p.Conditions, notObserved(d.VMID, got))
	default:
		p.Conditions = append(p.Conditions, notObserved(d.VMID, got))
	}
	return p
}

// identityConflict returns why the agent must not change the live guest for this manifest, or nil.
func identityConflict(d *guest.Desired, live guest.Observed, owned journal.Owned, isOwned bool, proof ownership.Evidence) *Condition {
	if isOwned && live.Kind == d.Kind && proof.Conflict(d.Kind) == "" {
		return nil
	}
	c := Condition{Type: IdentityConflict}
	switch {
	case live.Kind != d.Kind:
		c.Reason, c.Message = reason.DifferentGuest, fmt.Sprintf("vmid %d is a %s", d.VMID, live.Kind)
		c.Hint = reason.OtherVMIDOrKind.Text
	case isOwned:
		c.Reason, c.Message = reason.DifferentGuest, proof.Conflict(d.Kind)
		c.Hint = reason.RestoreIdentity.With(proof.Missing(owned))
	case !d.Adopt:
		c.Reason, c.Message = reason.NotManaged, fmt.Sprintf("vmid %d exists and is not managed by this agent", d.VMID)
		c.Hint = reason.Adopt.Text
		if len(proof.ForeignMarkers) > 0 {
			c.Message += ", and has the marker " + proof.ForeignMarkers[0]
			c.Hint = reason.AdoptMarked.With(proof.ForeignMarkers[0])
		}
	default:
		if len(proof.ForeignMarkers) == 0 {
			return nil
		}
		c.Reason, c.Message = reason.NotManaged, "it has the marker "+proof.ForeignMarkers[0]+" of another owner"
		c.Hint = reason.RemoveForeignTag.With(proof.ForeignMarkers[0])
	}
	return &c
}

// removeClaimNote adds the removal of a clone's claim note, unless the manifest sets a description, even the same text.
func removeClaimNote(changes []guest.Change, d *guest.Desired, live guest.Observed) []guest.Change {
	described := slices.ContainsFunc(d.Intents, func(in guest.Intent) bool { return in.Key == "description" })
	if described && !slices.Contains(d.Ignore, "description") {
		return changes
	}
	return append(changes, guest.Change{
		Key: "description", From: strings.TrimSpace(live.Keys["description"].Text), Class: guest.Live, Write: guest.WriteDelete,
		Note: "the note of the fresh clone is no longer needed",
	})
}

// planExisting plans a guest that exists and is owned, or will be adopted.
func planExisting(p Guest, d *guest.Desired, live guest.Observed, claims bool) Guest {
	p.Conditions = append(p.Conditions, changeConditions(p.Changes, d.Lifecycle.RebootPolicy)...)
	if c, needed := needsRoot(p.Changes, live.Ref, live.Node); needed {
		p.Conditions = append(p.Conditions, c)
	}
	moves := slices.ContainsFunc(p.Changes, func(c guest.Change) bool { return c.Write == guest.WriteMigrate })
	if !moves && guest.OnOtherNode(*d, live) {
		p.Conditions = append(p.Conditions, otherNodeCondition(p, d, live))
	}
	p.Steps = changeSteps(p, d, live)
	if step, ok := firewallStep(p, d, live); ok {
		p.Steps = sortSteps(append(p.Steps, step))
	}
	if claims {
		p.Steps = adoptFirst(p, d)
	}
	if p.byHA() == "" {
		if step, ok := rebootStep(p, d, live); ok {
			p.Steps = append(p.Steps, step)
		}
		if step, ok := runStateStep(p, d, live); ok {
			p.Steps = append(p.Steps, step)
		}
	}
	if !claims {
		p.Steps = keepProtection(p, live)
	}
	for i := range p.Steps {
		p.Steps[i] = withWaitingRemovals(p.Steps[i], live)
		p.Steps[i].AfterAdoption = claims && !p.Steps[i].TakesOwnership
	}
	return p
}

// isFreshClone reports whether a guest is a clone that the agent has just created, and that was neither started nor seen configured.
func isFreshClone(d *guest.Desired, live guest.Observed, owned journal.Owned, proof ownership.Evidence) bool {
	return d.Source.Clone != nil && live.Status == guest.StatusStopped && (proof.IsNew() || owned.Configuring && owned.Unstarted && proof.HasTag)
}

// CloneLeaves reports whether a fresh clone leaves its node: it was created on the node of its template, and its manifest names another one.
func CloneLeaves(d *guest.Desired, live guest.Observed) bool {
	return d.Source.Clone != nil && d.Node != "" && live.Node != d.Node && !slices.Contains(d.Nodes, live.Node)
}

// identityKeys are the keys by which the agent recognises a guest: its marker, the note of a fresh clone, the uuid of a virtual machine.
var identityKeys = []string{"description", "smbios1", "tags"}

// identityBeforeMove puts the identity of a new guest before the first step if that moves the guest, so that a clone that cannot reach its node can be removed as a
// guest of the agent. Changes of discs come before the move too, since Proxmox moves no guest with a disc of a local storage. The rest of the configuration follows the
// move: it may name what only the other node has.
func identityBeforeMove(steps []Step, live guest.Observed) []Step {
	if len(steps) == 0 || steps[0].Op != cluster.OpMigrate {
		return steps
	}
	i := slices.IndexFunc(steps, func(s Step) bool {
		return s.Op == cluster.OpConfig && slices.ContainsFunc(s.Changes, func(c guest.Change) bool { return c.Key == "tags" })
	})
	if i < 0 {
		return steps
	}
	first, rest := splitConfig(steps[i], func(key string) bool { return slices.Contains(identityKeys, key) || guest.DiscIn(live, key) != "" })
	out := append([]Step{first}, steps[:i]...)
	if len(rest.Changes) > 0 {
		out = append(out, rest)
	}
	return append(out, steps[i+1:]...)
}

// splitConfig splits a config step into its changes of some keys, and the others.
func splitConfig(step Step, isOf func(key string) bool) (of, rest Step) {
	of, rest = step, step
	of.Changes, rest.Changes = nil, nil
	for _, c := range step.Changes {
		if isOf(c.Key) {
			of.Changes = append(of.Changes, c)
		} else {
			rest.Changes = append(rest.Changes, c)
		}
	}
	call := step.Calls[0]
	one, other := call, call
	one.Params, one.Delete, one.Secrets = map[string]string{}, nil, nil
	other.Params, other.Delete = map[string]string{}, nil
	for key, value := range call.Params {
		if isOf(key) {
			one.Params[key] = value
		} else {
			other.Params[key] = value
		}
	}
	for _, key := range call.Delete {
		if isOf(key) {
			one.Delete = append(one.Delete, key)
		} else {
			other.Delete = append(other.Delete, key)
		}
	}
	of.Calls, rest.Calls = []cluster.Call{one}, append([]cluster.Call{other}, step.Calls[1:]...)
	of.DetachedVolumes, of.Loses = nil, nil
	return of, rest
}

// adjustFreshClone adapts the changes to a clone that the agent has just created and that was never started: no change interrupts it. The protection that it
// took over from its template is a guard all the same. The clone migrates to its node, since it was created on the node of its template.
func adjustFreshClone(changes []guest.Change, d *guest.Desired, live guest.Observed) []guest.Change {
	out := make([]guest.Change, 0, len(changes)+1)
	for _, c := range changes {
		if c.Write != guest.WriteNone && !lowersProtection(live, c) && c.Class != guest.Live && c.Class != guest.Destructive {
			c.Class, c.Note = guest.Live, ""
		}
		if c.Write != guest.WriteMigrate {
			out = append(out, c)
		}
	}
	if !CloneLeaves(d, live) {
		return out
	}
	return append(out, guest.Change{
		Key: "node", From: live.Node, To: d.Node, Class: guest.Live, Write: guest.WriteMigrate, Value: d.Node,
		Note: "moves to its node", Origin: d.Origin,
	})
}

// changeConditions returns the conditions for differences that no write removes.
func changeConditions(changes []guest.Change, policy guest.RebootPolicy) []Condition {
	var waiting, unsure, impossible []string
	for _, c := range changes {
		switch {
		case c.ByHA:
		case c.Unsure:
			unsure = append(unsure, c.Key)
		case c.Waits:
			waiting = append(waiting, c.Key)
		case c.Write == guest.WriteNone && !c.RootOnly:
			impossible = append(impossible, c.Key+": "+c.Note)
		}
	}
	var list []Condition
	if len(waiting)+len(unsure) > 0 {
		list = append(list, restartCondition(waiting, unsure, policy))
	}
	if len(impossible) > 0 {
		list = append(list, Condition{
			Type: Blocked, Reason: reason.Impossible, Message: strings.Join(impossible, "; "),
			Hint: reason.ChangeByHand.Text,
		})
	}
	return list
}

// restartCondition returns the condition of a guest with written values of which some wait for its next start, and of others it is not known whether they do.
func restartCondition(waiting, unsure []string, policy guest.RebootPolicy) Condition {
	c := Condition{Type: PendingRestart, Reason: reason.PendingRestart, Hint: restartHint(policy)}
	if len(waiting) > 0 {
		c.Message = "written, in effect after the next stop and start: " + strings.Join(waiting, ", ")
	} else {
		c.Hint = reason.RestartByHand.Text
	}
	if len(unsure) > 0 {
		c.Message = strings.TrimPrefix(c.Message+"; written, and not known to be in effect before the next stop and start: "+strings.Join(unsure, ", "), "; ")
	}
	return c
}

// restartHint returns how pending changes take effect under a rebootPolicy.
func restartHint(policy guest.RebootPolicy) string {
	if policy == "" || policy == guest.RebootNever {
		return reason.RestartByHand.Text
	}
	return reason.PolicyRestarts.With(policy)
}

// adoptFirst inserts adoption as the guest's first step. Its calls are planned when the identity is in the journal, together with the marker
// that derives from the identity.
func adoptFirst(p Guest, d *guest.Desired) []Step {
	claim := Step{
		Guest: d.Ref, Op: cluster.OpConfig, Class: guest.Live, Wave: d.Wave, TakesOwnership: true, Reason: "adopt",
		Changes: []guest.Change{{Key: "tags", To: "ownership marker", Class: guest.Live, Write: guest.WriteSet, Note: "adopt", Origin: d.Origin}},
	}
	return append([]Step{claim}, p.Steps...)
}
