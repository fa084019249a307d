package reconcile

import (
	"slices"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/image"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/object"
	"gitops-agent/reconcile/plan"
)

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
func (e *Engine) fileChanges(state journal.State) []journal.Body {
	images := e.images(state)
	if !images.HasFormers() {
		return nil
	}
	var records []journal.Body
	snapshot := e.readings.observer.Snapshot()
	for _, record := range images.Formers(snapshot.Inventory) {
		key := object.KeyOf(0, string(image.Kind)+"/"+record.Name)
		if e.queue.Busy(key) || e.lanes.holds(key) || isKeyOpen(state, key) { // in this order: a lane posts its result before it ends
			continue
		}
		if plan.IsGone(record, snapshot) {
			record.Gone = true
			records = append(records, record.Downloaded)
		}
	}
	return records
}

// isKeyOpen reports whether a step of an object is open in the journal.
func isKeyOpen(state journal.State, key object.Key) bool {
	return slices.ContainsFunc(state.Open, func(open journal.OpenStep) bool { return open.Key() == key })
}
