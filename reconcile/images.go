package reconcile

import (
	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/image"
	"gitops-agent/reconcile/plan"
)

// images returns the Images of the revision in force.
func (e *Engine) images() []image.Desired {
	if !e.force.Accepted.Valid() {
		return nil
	}
	return e.force.Accepted.Set().Images
}

// filePlaces returns the function that chooses the places whose files are read; nil without Images, which then cost no call.
func (e *Engine) filePlaces() func(cluster.Inventory) []cluster.FilePlace {
	wanted := e.images()
	if len(wanted) == 0 {
		return nil
	}
	return func(inventory cluster.Inventory) []cluster.FilePlace { return plan.ImagePlaces(wanted, inventory) }
}
