package plan

import (
	"cmp"
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

// Taking is what a step of a guest that exists takes of a storage.
type Taking struct {
	Ref     guest.Ref
	Key     string
	Origin  guest.Origin
	Node    string
	Storage string
	Size    int64 // bytes
}

// takings returns what the steps of a guest take of storages, by the index of the step: new disks, the growth of disks, and copies on other storages. What a move leaves behind
// stays there, and a disk that grows after a move grows where it is then.
func takings(steps []Step, live guest.Observed) map[int][]Taking {
	at, size := make(map[string]string), make(map[string]int64) // of the disks that earlier steps change
	found := make(map[int][]Taking)
	for i := range steps {
		for _, c := range steps[i].Changes {
			volume, now := guest.LiveDisk(live, c.Key)
			storage, _, _ := strings.Cut(volume, ":")
			storage, now = cmp.Or(at[c.Key], storage), cmp.Or(size[c.Key], now)
			need := int64(0)
			switch steps[i].Op { //nolint:exhaustive // the others take no space
			case cluster.OpConfig:
				storage, need = guest.Allocated(c.Key, c.Value)
			case cluster.OpMove:
				storage, need = c.Value, now
				at[c.Key] = storage
			case cluster.OpResize:
				if to := guest.DiskSize(c.Value); now > 0 {
					need, size[c.Key] = to-now, to
				}
			}
			if need > 0 {
				found[i] = append(found[i], Taking{Ref: live.Ref, Key: c.Key, Origin: c.Origin, Node: live.Node, Storage: storage, Size: need})
			}
		}
	}
	return found
}

// Takings returns what the steps of a plan take of storages for guests that exist.
func Takings(p Plan, got cluster.Snapshot) []Taking {
	var all []Taking
	for _, g := range p.Guests {
		live, exists := got.Guests[g.Ref.VMID]
		if !exists || !g.Managed {
			continue
		}
		byStep := takings(g.Steps, live)
		for i := range g.Steps {
			for _, one := range byStep[i] {
				one.Ref = g.Ref
				all = append(all, one)
			}
		}
	}
	return all
}

// holdGrowth notes in the steps that make or grow a disk, or copy one to another storage, that the storage lacks the space for it.
func holdGrowth(steps []Step, live guest.Observed, inventory cluster.Inventory) {
	for i, list := range takings(steps, live) {
		needs := make(map[string]int64)
		for _, one := range list {
			needs[one.Storage] += one.Size
		}
		if !steps[i].Hindrance.IsSet() {
			steps[i].Hindrance = storageLacksSpace(needs, live.Node, inventory)
		}
	}
}
