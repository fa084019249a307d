package reconcile

import (
	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/image"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/kind"
	"gitops-agent/reconcile/kinds"
	"gitops-agent/reconcile/object"
	"gitops-agent/reconcile/plan"
)

// objects returns the objects of package kinds that the revision in force describes.
func (e *Engine) objects() []kind.Desired {
	if !e.revision.force.Accepted.Valid() {
		return nil
	}
	return e.revision.force.Accepted.Set().Objects
}

// objectReads returns the kinds that have to be read, with the ids that matter. Without a manifest or a record of a kind, and without a guest with its guard, it costs
// no call.
func (e *Engine) objectReads() map[guest.Kind][]string {
	return plan.NewObjects(e.objects(), e.guests, e.opts.Journal.State()).Reads()
}

// objectChanges keeps the records of objects that are no guests: under the name of a manifest that was renamed, and no longer if no manifest describes an object
// that is gone, or that lost its marker and may be another one.
func (e *Engine) objectChanges(look rest) []journal.Body {
	state, snapshot := look.state, look.read
	if len(state.Objects) == 0 {
		return nil
	}
	named := make(map[journal.ObjectID]kind.Desired)
	for _, d := range e.objects() {
		named[journal.ObjectID{Kind: string(d.Kind), ID: d.ID}] = d
	}
	var records []journal.Body
	objects := plan.NewObjects(e.objects(), e.guests, state)
	scope := e.basis.Load().Scope(state)
	for id, owned := range state.Objects {
		key := object.KeyOf(0, owned.Kind+"/"+owned.Name)
		d, isNamed := named[id]
		list := snapshot.Objects[guest.Kind(id.Kind)]
		live, exists := list.ByID[id.ID]
		k, known := kinds.Of(guest.Kind(id.Kind))
		switch {
		case !look.has(key) || isObjectOpen(state, id):
		case isNamed && d.Name != owned.Name && scope.Object(owned, d.Ref()):
			owned.Name = d.Name
			records = append(records, owned)
		case isNamed && exists && list.Err == "" && !owned.Claiming && known && plan.IsOwnedObject(k, owned, live):
			if changed, differs := plan.WithAgreed(owned, d, live, objects); differs {
				records = append(records, changed)
			}
		case isNamed || !known || !e.revision.force.Accepted.Valid() || !list.Knows(id.ID):
		case !exists:
			records = append(records, journal.DisownedObject{Kind: id.Kind, ID: id.ID, Reason: "gone"})
		case !plan.IsOwnedObject(k, owned, live):
			records = append(records, journal.DisownedObject{Kind: id.Kind, ID: id.ID, Reason: "its comment lost the marker"})
		}
	}
	return records
}

// isObjectOpen reports whether a step of an object is open in the journal.
func isObjectOpen(state journal.State, id journal.ObjectID) bool {
	for _, open := range state.Open {
		if object, isObject := open.Object(); isObject && object == id {
			return true
		}
	}
	return false
}

// noun names what an object is, for people.
func noun(ref guest.Ref) string {
	if k, known := kinds.Of(ref.Kind); known {
		return k.Noun
	}
	if ref.Kind.IsGuest() {
		return "guest"
	}
	return "object"
}

// images returns the Images of the revision in force, and the files that were downloaded for Images; none without a revision.
func (e *Engine) images(state journal.State) plan.Images {
	if !e.revision.force.Accepted.Valid() {
		return plan.Images{}
	}
	return plan.Images{Wanted: e.revision.force.Accepted.Set().Images, Downloaded: state.Downloaded}
}

// filePlaces returns the function that chooses the places whose files are read; nil without Images and without files to delete, which then cost no call.
func (e *Engine) filePlaces() func(cluster.Inventory) []cluster.FilePlace {
	images := e.images(e.opts.Journal.State())
	if len(images.Wanted) == 0 && !images.HasFormers() {
		return nil
	}
	return images.Places
}

// fileChanges ends the records of former files that are not there any more.
func (e *Engine) fileChanges(look rest) []journal.Body {
	images := e.images(look.state)
	if !images.HasFormers() {
		return nil
	}
	var records []journal.Body
	for _, record := range images.Formers(look.read.Inventory) {
		if look.has(object.KeyOf(0, string(image.Kind)+"/"+record.Name)) && plan.IsGone(record, look.read) {
			record.Gone = true
			records = append(records, record.Downloaded)
		}
	}
	return records
}
