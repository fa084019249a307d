package lane

import (
	"fmt"
	"strings"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/volumes"
)

// checkOpenDeletions refuses a call that gives a guest a file that an open step may still delete. It is the counterpart of checkOpenWrites: both steps are in the
// journal before their last check, so at least one of them sees the other.
func (w *Worker) checkOpenDeletions(basis *Basis, call cluster.Call) error {
	if call.VMID == 0 {
		return nil
	}
	for _, volume := range plan.OpenDeletions(w.journal.State().Open, call.Node, basis.Inventory) {
		if namesFile(call, volume) {
			return &volumes.UnknownError{
				Cause: volumes.BeingDeleted, What: fmt.Sprintf("the deletion of %s has not ended", volume), Fix: "wait until it has ended; the agent tries again by itself",
			}
		}
	}
	return nil
}

// namesFile reports whether a parameter of a call names a file, by its id or by a path.
func namesFile(call cluster.Call, volume string) bool {
	for key, text := range call.Params {
		if key != "description" && strings.Contains(text, guest.VolumeFile(volume)) {
			return true
		}
	}
	return false
}
