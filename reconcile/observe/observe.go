package observe

import (
	"context"
	"time"

	"gitops-agent/reconcile/cluster"
)

// Observe takes the inventory and reads those of vmids that are due. It fails only if the inventory cannot be read; a guest that cannot be
// read is reported in Snapshot.Trouble. HA is read for the guests of underHA, if there are any.
func (o *Observer) Observe(ctx context.Context, vmids, underHA []int) error {
	if o.list != nil {
		o.list.look(time.Now())
	}
	inventory, err := o.reader.Inventory(ctx)
	if err != nil {
		return err
	}
	o.markChanged(inventory)
	o.inventory = inventory
	o.markListed(vmids)
	o.forget(vmids)
	o.read(ctx, o.choose(vmids, time.Now()))
	o.readHA(ctx, underHA)
	return nil
}

// ReadAll reads the inventory and the guests of vmids in full, once, and HA for the guests of underHA. A guest that could not be read is
// Unknown in the snapshot.
func ReadAll(ctx context.Context, reader cluster.Reader, vmids, underHA []int) (cluster.Snapshot, error) {
	o := New(reader, time.Second, time.Second)
	err := o.Observe(ctx, vmids, underHA)
	return o.Snapshot(), err
}
