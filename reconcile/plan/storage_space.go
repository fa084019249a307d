package plan

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/reason"
)

// storageLacksSpace returns the hindrance of a step that takes bytes of storages on a node, by storage. A storage that takes what is written and no more hinders only when it is
// full. What is not known hinders nothing.
func storageLacksSpace(needs map[string]int64, node string, inventory cluster.Inventory) Hindrance {
	for _, storage := range slices.Sorted(maps.Keys(needs)) {
		c, listed := inventory.Capacity.Storage(node, storage)
		left, need := max(c.Size-c.Used, 0), needs[storage]
		if !listed || !c.Available || c.Size == 0 || need <= 0 || left > 0 && (!c.Thick || need <= left) {
			continue
		}
		return Hindrance{
			Reason: reason.Impossible, Hint: reason.FreeStorage.Text,
			Message: fmt.Sprintf("the storage %s has %s left on %s, and this takes %s", storage, cluster.InGiB(left), node, cluster.InGiB(need)),
		}
	}
	return Hindrance{}
}

// spaceOfNew returns what creating a guest takes, by storage. Of a template the list of guests has one size. What an image or a backup contains is not known.
func spaceOfNew(d *guest.Desired, inventory cluster.Inventory) map[string]int64 {
	clone := d.Source.Clone
	if clone == nil {
		return d.DiskSpace()
	}
	if template, err := FindTemplate(d, inventory); err == nil && clone.Full && clone.Storage != "" {
		return map[string]int64{clone.Storage: template.MaxDisk}
	}
	return nil
}

// holdGrowth notes in the steps that grow a disk, or copy one to another storage, that the storage lacks the space for it.
func holdGrowth(steps []Step, live guest.Observed, inventory cluster.Inventory) {
	for i := range steps {
		s := &steps[i]
		if s.Op != cluster.OpResize && s.Op != cluster.OpMove || s.Hindrance.IsSet() {
			continue
		}
		c := s.Changes[0]
		volume, need := guest.LiveDisk(live, c.Key)
		storage, _, _ := strings.Cut(volume, ":")
		switch {
		case need == 0:
			continue
		case s.Op == cluster.OpMove:
			storage = c.Value
		default:
			need = guest.DiskSize(c.Value) - need
		}
		s.Hindrance = storageLacksSpace(map[string]int64{storage: need}, live.Node, inventory)
	}
}
