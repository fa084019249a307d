package lane

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/epoch"
	"gitops-agent/reconcile/gate"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/kind"
	"gitops-agent/reconcile/kinds"
	"gitops-agent/reconcile/object"
	"gitops-agent/reconcile/observe"
	"gitops-agent/reconcile/ownership"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/writer"
)

// plannedObject returns the plan of the objects of a label, from a reading of their kind.
func (b *Basis) plannedObject(objects plan.Objects, read map[guest.Kind]cluster.Objects) (plan.Guest, bool) {
	want := plan.Desired{Cluster: b.Cluster, Revision: b.Revision, Others: b.Guests, Objects: objects, NoRevision: b.Revision == ""}
	planned := plan.New(want, cluster.Snapshot{Inventory: b.Inventory, Guests: b.Seen, Objects: read})
	if len(planned.Guests) != 1 {
		return plan.Guest{}, false
	}
	return planned.Guests[0], true
}

// advanceObject executes the next released step of an object that is no guest. It returns whether another step may follow.
func (w *Worker) advanceObject(ctx context.Context, t *turn) (again bool, err error) {
	basis, state := w.basis(), w.journal.State()
	all := plan.NewObjects(basis.Objects, basis.Guests, state)
	objects := all.For(t.Key.Label)
	if len(objects.Wanted)+len(objects.Owned) == 0 || isOpenElsewhere(state, t, objects) {
		return false, nil
	}
	t.Objects = w.readObjects(ctx, basis, all, objects, guest.Kind(t.Key.Kind()))
	planned, ok := basis.plannedObject(objects, t.Objects)
	if !ok {
		return false, nil
	}
	t.rememberObject(state, objects, planned)
	step, verdict, ok := basis.Gate(state, time.Now()).Next(planned)
	if !ok {
		return false, w.endTurn(ctx, t)
	}
	if step.TakesOwnership {
		return true, w.takeObject(ctx, basis, step, objects)
	}
	if t.Steps > 0 && sameEffect(t.last, step) {
		return false, fmt.Errorf("%s of %s: Proxmox accepted it, and nothing changed", step.Op, step.Guest)
	}
	return true, w.runObject(ctx, basis, t, step, verdict)
}

// runObject executes a step that concerns no guest.
func (w *Worker) runObject(ctx context.Context, basis *Basis, t *turn, step plan.Step, verdict gate.Verdict) error {
	t.Step = step
	calls, err := w.vault.Fill(step.Calls, nil, "")
	if err != nil {
		return fmt.Errorf("%s of %s: %w", step.Op, step.Guest, err)
	}
	warnings, err := w.run(ctx, basis, step, verdict, calls, t)
	t.Warnings = append(t.Warnings, warnings...)
	if err != nil {
		return err
	}
	t.Steps++
	t.noteRepair(step)
	t.last = step
	return nil
}

// readObjects reads what a step on one object of a kind needs: all ids of the kind if that costs no call for each of them, and the object's own otherwise. If guests
// guard their firewalls, it is also what decides whether a change of the datacenter's firewall opens them.
func (w *Worker) readObjects(ctx context.Context, basis *Basis, all, one plan.Objects, name guest.Kind) map[guest.Kind]cluster.Objects {
	if kind.IsOfFirewall(name) && all.GuardFirewalls() {
		return w.readFirewallObjects(ctx, basis, all, one)
	}
	if k, known := kinds.Of(name); !known || !k.AsksEach {
		reads := all.Reads()
		now := map[guest.Kind][]string{name: reads[name]}
		if ids, matter := reads[cluster.Storages]; matter && name == kinds.BackupJobs {
			now[cluster.Storages] = ids
		}
		return observe.ReadObjects(ctx, w.cluster, now)
	}
	return w.readParts(ctx, name, one.IDs(name))
}

// readFirewallObjects reads an object of the datacenter's firewall, all aliases, and the groups and sets that guarded firewalls reach. A group says which sets it
// names, so groups are read before sets. What is not read counts as not known, and a change that it could make unsafe is held.
func (w *Worker) readFirewallObjects(ctx context.Context, basis *Basis, all, one plan.Objects) map[guest.Kind]cluster.Objects {
	reach := all.ReachOfGuards(basis.Seen)
	read := w.readParts(ctx, kind.FirewallGroups, append(one.IDs(kind.FirewallGroups), reach.Groups...))
	maps.Copy(read, w.readParts(ctx, kind.FirewallSets, append(one.IDs(kind.FirewallSets), reach.Sets(read[kind.FirewallGroups])...)))
	if reach.Aliases != nil {
		maps.Copy(read, observe.ReadObjects(ctx, w.cluster, map[guest.Kind][]string{kind.FirewallAliases: reach.Aliases})) // one call lists all
	}
	return read
}

// readParts reads some objects of a kind. Without ids it reads nothing, since the reading would be of all objects.
func (w *Worker) readParts(ctx context.Context, name guest.Kind, ids []string) map[guest.Kind]cluster.Objects {
	if len(ids) == 0 {
		return make(map[guest.Kind]cluster.Objects)
	}
	slices.Sort(ids)
	read := observe.ReadObjects(ctx, w.cluster, map[guest.Kind][]string{name: slices.Compact(ids)})
	for name, objects := range read {
		objects.Part = true
		read[name] = objects
	}
	return read
}

// isOpenElsewhere reports whether a step of one of the objects is open under another label, as after a manifest got another name. That lane settles it first.
func isOpenElsewhere(state journal.State, t *turn, objects plan.Objects) bool {
	return slices.ContainsFunc(state.Open, func(open journal.OpenStep) bool {
		id, isObject := open.Object()
		if open.Key() == t.Key || !isObject {
			return false
		}
		_, owned := objects.Owned[id]
		return owned || slices.ContainsFunc(objects.Wanted, func(d kind.Desired) bool { return string(d.Kind) == id.Kind && d.ID == id.ID })
	})
}

// takeObject journals the ownership of an object before the first call is made for it.
func (w *Worker) takeObject(ctx context.Context, basis *Basis, step plan.Step, objects plan.Objects) error {
	origin := journal.Adopted
	if step.Op == cluster.OpObjectAdd {
		origin = journal.Created
	}
	record := ownership.NewObjectRecord(basis.Cluster, journal.ObjectID{Kind: string(step.Guest.Kind), ID: step.Object.ID}, step.Guest.Name, origin)
	record.Destroy, record.File = string(objects.Wanted[0].Destroy), objects.Wanted[0].Origin.File
	if former, isOwned := objects.Owned[record.Object()]; isOwned {
		record.Destroy = ownership.StrongerDestroy(former.Destroy, record.Destroy)
	}
	return w.appendIfCurrent(ctx, basis, record)
}

// detailEffect is the key of journal.Begun.Detail with what a step on an object that is no guest does: the keys that it sets, with their texts, as JSON; "" for a
// key that it removes.
const detailEffect = "effect"

// noteObject adds to an intent what settling needs: which object it is, and how it looks when the calls had their effect.
func noteObject(b journal.Begun, step plan.Step) {
	b.Detail[journal.DetailObject] = step.Object.ID
	text, _ := json.Marshal(step.Object.Effect) // marshalling texts cannot fail
	b.Detail[detailEffect] = string(text)
}

// beginObject returns the record with which a step begins that changes a key on which guards depend: the text until now is none to go back to.
func beginObject(step plan.Step, state journal.State) []journal.Body {
	if step.Object == nil {
		return nil
	}
	owned, isOwned := state.Objects[journal.ObjectID{Kind: string(step.Guest.Kind), ID: step.Object.ID}]
	if !isOwned {
		return nil
	}
	if changed, differs := step.Object.Begin(owned); differs {
		return []journal.Body{changed}
	}
	return nil
}

// closingObject returns the records about the ownership of an object that follow from the end of a step.
func closingObject(begun journal.Begun, c conclusion, state journal.State) []journal.Body {
	id, isObject := begun.Object()
	if !isObject || c.result != journal.Done {
		return nil
	}
	if cluster.Op(begun.Op) == cluster.OpObjectRemove {
		if k, known := kinds.Of(guest.Kind(begun.Kind)); known && k.Mark.Key != "" {
			return nil // the record ends when the object is gone
		}
		return []journal.Body{journal.DisownedObject{Kind: id.Kind, ID: id.ID, Reason: "removed"}}
	}
	owned, isOwned := state.Objects[id]
	if !isOwned || !owned.Claiming && owned.Name == begun.Name {
		return nil
	}
	owned.Claiming, owned.Name = false, begun.Name // the call wrote the marker
	return []journal.Body{owned}
}

// objectResult derives the outcome of a call without a reply from the object: it exists with the texts that the step set, or does not exist any more.
func objectResult(ctx context.Context, reader cluster.Reader, open journal.OpenStep) (journal.Result, error) {
	id := open.Detail[journal.DetailObject]
	objects, err := reader.Objects(ctx, guest.Kind(open.Kind), []string{id})
	if err != nil {
		return "", fmt.Errorf("read %s %s of step %s: %w", open.Kind, id, open.Step, err)
	}
	live, exists := objects[id]
	if cluster.Op(open.Op) == cluster.OpObjectRemove {
		k, known := kinds.Of(guest.Kind(open.Kind))
		return resultOf(!exists || known && k.Leaving(live) != ""), nil
	}
	var effect map[string]string
	if err := json.Unmarshal([]byte(open.Detail[detailEffect]), &effect); err != nil || len(effect) == 0 {
		return journal.Unknown, nil //nolint:nilerr // the next plan shows it
	}
	k, known := kinds.Of(guest.Kind(open.Kind))
	for key, text := range effect {
		switch {
		case live.Keys[key] == text:
		case known && key == k.ContentKey():
			return journal.Unknown, nil // a late call about an item is refused by its digest, or adds one that the next plan shows: no step waits for it
		default:
			return "", nil
		}
	}
	return resultOf(exists), nil
}

// errObjectChanged refuses a call to an object that is not as it was when the step was planned.
var errObjectChanged = fmt.Errorf("%w: the object is not as it was when the step was planned", cluster.ErrConflict)

// lastCheckObject reads an object again immediately before a call. Most objects have no digest with which Proxmox would refuse a call that was planned from an
// older reading. After the first call of a step, only the owner is compared: the step itself has changed the object.
func (w *Worker) lastCheckObject(ctx context.Context, basis *Basis, step plan.Step, call cluster.Call) error {
	objects, err := w.cluster.Objects(ctx, step.Guest.Kind, []string{step.Object.ID})
	if err != nil {
		return fmt.Errorf("read %s again before the call: %w", step.Guest, err)
	}
	live, exists := objects[step.Object.ID]
	isFirst := reflect.DeepEqual(call, step.Calls[0])
	switch seen := step.Object.Seen; {
	case w.superseded(basis):
		return epoch.ErrSuperseded
	case exists && !isFirst:
		if !w.ownsObject(step, live) || !step.IsEmptiedTo(live, call) {
			return errObjectChanged
		}
	case exists != (seen != nil) || exists && (!maps.Equal(live.Keys, seen.Keys) || live.Digest != seen.Digest):
		return errObjectChanged
	}
	if step.Op == cluster.OpObjectRemove && (isFirst || call.Op == cluster.OpObjectRemove) {
		if err := w.checkUnused(ctx, basis, step); err != nil {
			return err
		}
	}
	return w.confirmWriter(ctx, writer.Recent) // reads the mark again only if the reading above was slow
}

// checkUnused refuses the removal of an object that something uses and that Proxmox would remove all the same.
func (w *Worker) checkUnused(ctx context.Context, basis *Basis, step plan.Step) error {
	id := journal.ObjectID{Kind: string(step.Guest.Kind), ID: step.Object.ID}
	last, _ := w.users.Load(id)
	first, _ := last.(object.Key)
	err := w.cluster.CheckObject(ctx, step.Op, step.Guest.Kind, step.Object.ID, first)
	var used *cluster.UsedError
	switch {
	case errors.As(err, &used):
		w.users.Store(id, used.By.From)
		return err
	case err != nil:
		return err
	case w.superseded(basis):
		return epoch.ErrSuperseded
	}
	w.users.Delete(id)
	return nil
}

// ownsObject reports whether a live object has the marker of the record, or the record says that no call has written the marker yet.
func (w *Worker) ownsObject(step plan.Step, live cluster.Object) bool {
	owned, isOwned := w.journal.State().Objects[journal.ObjectID{Kind: string(step.Guest.Kind), ID: step.Object.ID}]
	k, known := kinds.Of(step.Guest.Kind)
	return isOwned && known && (owned.Claiming || plan.IsOwnedObject(k, owned, live))
}
