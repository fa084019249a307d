package lane

import (
	"context"
	"sync"
	"sync/atomic"

	"gitops-agent/reconcile/cluster"
)

// inventoryReader reads Proxmox's list of guests for several lanes. Lanes that wait for the list at the same time share one reading.
type inventoryReader struct {
	reader cluster.Reader
	begun  atomic.Uint64 // readings that have begun

	mu    sync.Mutex // held during a reading
	shown uint64     // the number of the newest reading that succeeded
	list  cluster.Inventory
}

// read returns the list of guests by a reading that began after the call.
func (r *inventoryReader) read(ctx context.Context) (cluster.Inventory, error) {
	before := r.begun.Load()
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.shown > before:
		return r.list, nil
	case ctx.Err() != nil:
		return cluster.Inventory{}, ctx.Err()
	}
	number := r.begun.Add(1)
	list, err := r.reader.Inventory(ctx)
	if err != nil {
		return cluster.Inventory{}, err
	}
	r.shown, r.list = number, list
	return list, nil
}
