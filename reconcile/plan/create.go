package plan

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/edge"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/kinds"
	"gitops-agent/reconcile/object"
	"gitops-agent/reconcile/ownership"
	"gitops-agent/reconcile/reason"
)

// planCreate plans a guest whose vmid is free, or not assigned yet. Changes that a clone call cannot carry are planned when the clone can be
// read.
func planCreate(p Guest, want Desired, d *guest.Desired, got cluster.Snapshot, volumes holders) Guest {
	left, impossible := neverWritten(d, got)
	written := withSecrets(withRootOnly(intendedChanges(d), left), intendedSecrets(d))
	p.Changes = append(withChangesOutsideConfig(written, d, got.Inventory), newFirewall(d)...)
	owned, isOwned := want.Owned[d.VMID]
	creating := owned.Claiming && owned.Origin == journal.Created && owned.Task == "" // with a task it was created, and is gone
	existed := isOwned && !creating
	gone := journal.Guarded{}
	if !isOwned {
		gone, existed = want.gone.As(d.Ref)
	}
	if existed {
		p.Lost = []string{KeyExists}
	}
	isOwned = isOwned && creating
	mine := *d
	if isOwned {
		mine.Marker = owned.Tag
		if d.Kind == guest.VirtualMachine {
			mine.UUID = owned.UUID
		}
	}
	secrets, blocked := createSecrets(want, d)
	if len(blocked) > 0 {
		p.Conditions = append(p.Conditions, blocked...)
		return p
	}
	if c := volumes.createBlockedBy(d, want.Remembered); c != nil {
		p.Conditions = append(p.Conditions, *c)
		return p
	}
	if d.Placement != nil && d.Node == "" {
		p.Conditions = append(p.Conditions, noNode(want.Unplaced[d.Label()]))
		return p
	}
	if template, why := want.awaitedTemplate(d, got.Inventory); why != "" {
		p.awaits = template.Ref
		p.Conditions = append(p.Conditions, Condition{Type: WaitsFor, Reason: reason.WaitsFor, Message: fmt.Sprintf("it is cloned from %s, which %s", template.Label(), why)})
		return p
	}
	call, err := createCall(&mine, got.Inventory)
	if err != nil {
		p.Conditions = append(p.Conditions, cannotCreate(d, err))
		return p
	}
	if len(impossible) > 0 {
		p.Conditions = append(p.Conditions, Condition{Type: Blocked, Reason: reason.Impossible, Message: describeImpossible(impossible), Hint: reason.ChangeTemplate.Text})
		return p
	}
	if why := CloneMisses(d, got); why != "" {
		p.Conditions = append(p.Conditions, Condition{Type: Blocked, Reason: reason.Impossible, Message: why, Hint: reason.CloneReaches.Text})
		return p
	}
	call.Secrets = secrets
	if c, needed := needsRoot(left, d.Ref, nodeAfterCreation(d, call.Node)); needed {
		if d.Source.Backup != nil {
			c.Message += "; not needed where the backup contains it"
		}
		p.Conditions = append(p.Conditions, c)
	}
	step := Step{
		Guest: d.Ref, Op: cluster.OpCreate, Class: guest.Live, Wave: d.Wave, Changes: slices.DeleteFunc(slices.Clone(written), func(c guest.Change) bool { return c.RootOnly }),
		Calls: []cluster.Call{call}, CopyTargets: copyTargets(d, call), TakesOwnership: !isOwned, Recreates: existed, Reason: "does not exist",
	}
	if existed {
		step.Reason, step.GoneVMID = "existed, and is gone", gone.VMID
	}
	step.Hindrance = storageLacksSpace(spaceOfNew(d, got.Inventory), call.Node, got.Inventory)
	p.Node = call.Node
	if call.CloneOf != 0 {
		p.Changes = takenOver(p.Changes, d, got.Guests[call.CloneOf])
	}
	if clear, needed := leftoverStep(d, call.Node, got.Leftover[d.VMID]); needed {
		p.Steps = append(p.Steps, clear)
	}
	p.Steps = append(p.Steps, step)
	if d.State == guest.Running {
		start := cluster.Call{Op: cluster.OpStart, Kind: d.Kind, Node: call.Node, VMID: d.VMID}
		p.Steps = append(p.Steps, Step{Guest: d.Ref, Op: cluster.OpStart, Class: guest.Live, Wave: d.Wave, Calls: []cluster.Call{start}, Reason: "state: running"})
		if h := nodeIsTooSmall(d, guest.Observed{}, nodeAfterCreation(d, call.Node), got.Inventory); h.IsSet() {
			withHindrance(p.Steps, h, guest.Observed{})
		} else if d.Source.Backup == nil { // what the backup contains is not known
			withHindrance(p.Steps, lacksRoot(d, p.Changes, nodeAfterCreation(d, call.Node)), guest.Observed{})
		}
	}
	return p
}

// noNode returns the condition of a guest for which no node was chosen.
func noNode(u Unplaced) Condition {
	c := Condition{Type: Blocked, Reason: reason.Impossible, Message: cmp.Or(u.Why, "no node was chosen yet")}
	if u.Why != "" && !u.Fits {
		c.Hint = reason.MakeRoom.Text
	}
	return c
}

// errKeys marks an error for keys that the create call cannot carry.
var errKeys = errors.New("not all of it can be set at creation")

// cannotCreate returns the condition of a guest that does not exist and cannot be created.
func cannotCreate(d *guest.Desired, err error) Condition {
	c := Condition{Type: Blocked, Reason: reason.Impossible, Message: err.Error(), Hint: reason.CorrectSource.Text}
	switch {
	case d.Source == (guest.Source{}):
		c.Hint = reason.AddSource.Text
	case errors.Is(err, errKeys):
		c.Hint = reason.LeaveOutAtCreation.Text
	}
	return c
}

// withChangesOutsideConfig adds the changes that a new guest gets in addition to its keys, for people: its pool, its HA resource, the conversion to a
// template, and the node to which a clone migrates from its template's node. They are not changes of the create step: later plans write all except the pool.
func withChangesOutsideConfig(written []guest.Change, d *guest.Desired, inventory cluster.Inventory) []guest.Change {
	all := slices.Concat(written, guest.ChangesOutsideConfig(*d))
	if d.Source.Clone != nil && d.Node != "" {
		template, err := FindTemplate(d, inventory)
		if err == nil && template.Node != d.Node && !slices.Contains(d.Nodes, template.Node) {
			all = append(all, guest.Change{
				Key: "node", From: template.Node, To: d.Node, Class: guest.Live, Write: guest.WriteMigrate, Value: d.Node,
				Note: "moves to its node", Origin: d.Origin,
			})
		}
	}
	slices.SortStableFunc(all, func(a, b guest.Change) int { return cmp.Compare(a.Key, b.Key) })
	return all
}

// copyTargets returns the storages to which creating a guest writes whole volumes. A linked clone and an empty disk write none.
func copyTargets(d *guest.Desired, call cluster.Call) []string {
	switch s := d.Source; {
	case s.Clone != nil && !s.Clone.Full, s.Blank, s.ISO != nil:
		return nil
	case s.Clone != nil:
		return []string{cmp.Or(s.Clone.Storage, "@"+call.Node)}
	case s.Backup != nil:
		return []string{cmp.Or(s.Backup.Storage, "@"+call.Node)}
	}
	var storages []string
	for _, in := range d.Intents {
		if storage := in.Sub["storage"]; storage != "" {
			storages = append(storages, storage)
		}
	}
	slices.Sort(storages)
	return slices.Compact(storages)
}

// createCall returns the call that creates the guest.
func createCall(d *guest.Desired, inventory cluster.Inventory) (cluster.Call, error) {
	if d.Source.Clone != nil {
		return cloneCall(d, inventory)
	}
	if d.Source == (guest.Source{}) {
		return cluster.Call{}, fmt.Errorf("%s does not exist, and the manifest has no source to create it from", d.Label())
	}
	if d.Node == "" {
		return cluster.Call{}, fmt.Errorf("%s does not exist, and the manifest names no node to create it on", d.Label())
	}
	params, err := guest.CreateParamsOn(*d, inventory.Version)
	if err != nil {
		return cluster.Call{}, fmt.Errorf("create %s: %w: %w", d.Label(), errKeys, err)
	}
	params["vmid"] = strconv.Itoa(d.VMID)
	return cluster.Call{Op: cluster.OpCreate, Kind: d.Kind, Node: d.Node, VMID: d.VMID, Params: params}, nil
}

func cloneCall(d *guest.Desired, inventory cluster.Inventory) (cluster.Call, error) {
	template, err := FindTemplate(d, inventory)
	if err != nil {
		return cluster.Call{}, err
	}
	params := guest.CloneParams(*d)
	if d.Marker != "" {
		params["description"] = ownership.ClaimNote(d.Marker)
	}
	return cluster.Call{Op: cluster.OpCreate, Kind: d.Kind, Node: template.Node, VMID: d.VMID, CloneOf: template.VMID, Params: params}, nil
}

// FindTemplate returns the clone's template by vmid or name. Two templates of one name are an error, since the manifest could mean either.
func FindTemplate(d *guest.Desired, inventory cluster.Inventory) (cluster.Row, error) {
	clone := d.Source.Clone
	var found []cluster.Row
	for _, row := range inventory.Rows {
		if row.Kind == d.Kind && (row.VMID == clone.VMID || clone.VMID == 0 && row.Template && row.Name == clone.Name) {
			found = append(found, row)
		}
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		var ids []string
		for _, row := range found {
			ids = append(ids, strconv.Itoa(row.VMID))
		}
		return cluster.Row{}, fmt.Errorf("%d templates are called %s (vmids %s): name the template by its vmid", len(found), clone.Name, strings.Join(ids, ", "))
	case clone.VMID != 0:
		return cluster.Row{}, noTemplateError(strconv.Itoa(clone.VMID))
	default:
		return cluster.Row{}, noTemplateError(clone.Name)
	}
}

// ErrNoTemplate means that the inventory has no template of the name or vmid of a clone.
var ErrNoTemplate = errors.New("is not on the cluster, or the token may not see it")

func noTemplateError(name string) error { return fmt.Errorf("template %s %w", name, ErrNoTemplate) }

// planUnnamed plans an owned guest that no manifest names. Without a revision in force the guest keeps its state.
func planUnnamed(want Desired, owned journal.Owned, got cluster.Snapshot, volumes holders) Guest {
	if !want.NoRevision {
		return planRemoval(want, owned, got, volumes)
	}
	ref := guest.Ref{Kind: guest.Kind(owned.Kind), Name: owned.Name, VMID: owned.VMID}
	return Guest{Ref: ref, Node: got.Guests[owned.VMID].Node, Conditions: []Condition{{
		Type: NotObserved, Reason: reason.WritesStopped, Message: "no revision is in force, so the wanted state of this guest is unknown",
	}}}
}

// planRemoval plans an owned guest that no manifest names any more. If a manifest still has the guest's label, the guest is not destroyed
// without an approval, even if its lifecycle allows the destroy.
func planRemoval(want Desired, owned journal.Owned, got cluster.Snapshot, volumes holders) Guest {
	ref := guest.Ref{Kind: guest.Kind(owned.Kind), Name: owned.Name, VMID: owned.VMID}
	p := Guest{Ref: ref}
	live, seen := got.Guests[owned.VMID]
	if !seen || got.Absent[owned.VMID] == cluster.Unknown {
		// A guest that is gone needs no step; the engine removes its record.
		if got.Absent[owned.VMID] != cluster.Gone {
			p.Conditions = append(p.Conditions, notObserved(owned.VMID, got))
		}
		return p
	}
	p.Node = live.Node
	evidence := ownership.Compare(owned, live)
	conflict := evidence.Conflict(live.Kind)
	if conflict == "" && live.Kind != ref.Kind {
		conflict = fmt.Sprintf("the recorded guest was a %s, and the guest under the vmid is a %s", ref.Kind, live.Kind)
	}
	if conflict != "" {
		p.Conditions = append(p.Conditions, Condition{
			Type: IdentityConflict, Reason: reason.DifferentGuest, Message: conflict + "; the agent leaves the guest alone",
			Hint: reason.RemoveStranger.Text,
		})
		return p
	}
	if live.Lock != "" {
		p.Conditions = append(p.Conditions, lockCondition(live))
		return p
	}
	orphaned := Condition{Type: Orphaned, Reason: reason.LeftOver, Message: "no manifest names this guest any more"}
	step := destroyStep(ref, live, evidence)
	if why := want.stillNamed(owned); why != "" {
		orphaned.Message, orphaned.Hint = why, reason.NameAgain.With(owned.VMID)
		step.Doubt = cmp.Or(step.Doubt, why)
	}
	p.Conditions = append(p.Conditions, orphaned)
	for _, c := range []*Condition{volumes.destroyBlockedBy(live), keptByReplication(want, owned.VMID, got)} {
		if c != nil {
			p.Conditions = append(p.Conditions, *c)
			return p
		}
	}
	p.Steps = []Step{step}
	return p
}

// keptByReplication returns the condition that blocks destroying a guest that has a replication job, or may have one, nil if it has none. Proxmox refuses to destroy it,
// after the step has stopped it.
//
// Source: PVE::ReplicationConfig check_for_existing_jobs, which also counts a job that is marked for removal.
func keptByReplication(want Desired, vmid int, got cluster.Snapshot) *Condition {
	for e := range want.derived.live().To(object.Guest(vmid), edge.KeepsFromRemoval) {
		return &Condition{Type: Blocked, Reason: reason.InUse, Message: "it is neither stopped nor destroyed: " + e.Text, Hint: e.Hint}
	}
	list := got.Objects[kinds.Replications]
	switch {
	case list.Err != "":
		return &Condition{Type: NotObserved, Reason: reason.NotObserved, Message: "it is not known whether it has a replication job, with which Proxmox does not destroy it: " + list.Err}
	case want.Objects.whole().Orphans[vmid] && list.ReadAt.IsZero():
		return &Condition{Type: NotObserved, Reason: reason.NotObserved, Message: "it was not read yet whether it has a replication job, with which Proxmox does not destroy it"}
	}
	return nil
}

// destroyStep returns the step that destroys a guest: lift the protection, remove the guest from the HA manager, which would start it again, stop,
// destroy. The protection is lifted first, so that a guest whose protection cannot be lifted is not stopped without effect. Nothing is
// purged: backup jobs, replication jobs and volumes outside the guest's configuration do not belong to the agent.
func destroyStep(ref guest.Ref, live guest.Observed, e ownership.Evidence) Step {
	step := Step{Guest: ref, Op: cluster.OpDestroy, Class: guest.Destructive, Volumes: guest.Volumes(live), Reason: "removed from the repository", Doubt: e.Doubt(), Unproven: !e.IsCertain(), Protected: live.IsProtected()}
	if step.Protected {
		step.Calls = append(step.Calls, liftCall(live))
	}
	if live.HA {
		step.Calls = append(step.Calls, newCall(cluster.OpHARemove, live))
	}
	if live.Status != guest.StatusStopped {
		step.Calls = append(step.Calls, newCall(cluster.OpStop, live))
	}
	step.Calls = append(step.Calls, newCall(cluster.OpDestroy, live))
	return step
}

// intendedChanges returns the effects of a create, as changes from nothing.
func intendedChanges(d *guest.Desired) []guest.Change {
	var list []guest.Change
	for _, in := range d.Intents {
		if in.Verb == guest.Absent {
			continue
		}
		change := guest.Change{Key: in.Key, To: describeIntent(in), Class: guest.Live, Write: guest.WriteSet, Origin: in.Origin}
		if in.Key == "smbios1" && d.Source.Backup != nil && d.WantedUUID() != "" {
			change.Note = "the uuid stays the one in the backup, which identifies the guest"
		}
		list = append(list, change)
	}
	return list
}

// describeIntent returns the value of an intent for people: "bridge=vmbr0,tag=20".
func describeIntent(in guest.Intent) string {
	if in.Sub == nil {
		return in.Text
	}
	var parts []string
	for _, key := range slices.Sorted(maps.Keys(in.Sub)) {
		parts = append(parts, key+"="+in.Sub[key])
	}
	return strings.Join(parts, ",")
}
