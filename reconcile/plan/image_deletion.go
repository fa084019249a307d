package plan

import (
	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
)

// DetailVolume is the key of journal.Begun.Detail with the id of the file that a step is about.
const DetailVolume = "volume"

// OpenDeletions returns the files that a step of this agent may still delete on a node, although a list of files contains them: the call may act late. A
// deletion on another node counts unless the inventory shows that the node has the storage for itself.
func OpenDeletions(open []journal.OpenStep, node string, inventory cluster.Inventory) []string {
	var volumes []string
	for _, step := range open {
		volume := step.Detail[DetailVolume]
		if cluster.Op(step.Op) == cluster.OpDeleteFile && (step.Node == node || !isLocal(node, guest.VolumeStorage(volume), inventory)) {
			volumes = append(volumes, volume)
		}
	}
	return volumes
}
