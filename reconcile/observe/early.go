package observe

import (
	"context"
	"slices"
	"time"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
)

// Early is one reading of all guests that begins before they are known: while the journal and the manifests are read, Proxmox already answers for the
// guests with an agent's marker.
type Early struct {
	observer *Observer
	vmids    []int // of the newest round, sorted, once ended is closed
	cancel   context.CancelFunc
	ended    chan struct{}
	err      error // of the first round, once ended is closed
}

// ReadEarly begins to read the list of guests, and in full the guests that have an agent's marker. The caller calls Stop in the end.
func ReadEarly(ctx context.Context, reader cluster.Reader) *Early {
	ctx, cancel := context.WithCancel(ctx)
	e := &Early{observer: New(reader, time.Second, time.Minute), cancel: cancel, ended: make(chan struct{})}
	go func() {
		defer close(e.ended)
		e.err = e.observer.run(ctx, Request{Select: func(list cluster.Inventory) []int {
			e.vmids = marked(list)
			return e.vmids
		}})
	}()
	return e
}

// marked returns the guests that have an agent's marker, sorted.
func marked(list cluster.Inventory) []int {
	var vmids []int
	for _, row := range list.Rows {
		if len(guest.Markers(row.Tags)) > 0 {
			vmids = append(vmids, row.VMID)
		}
	}
	slices.Sort(vmids)
	return vmids
}

// All returns the guests of vmids, as ReadAll does. It reads again only what the first round did not: other guests, HA for the guests of
// underHA, and firewalls, with a second list.
func (e *Early) All(ctx context.Context, vmids, underHA []int, firewalls map[int]bool) (cluster.Snapshot, error) {
	<-e.ended
	wanted := slices.Compact(slices.Sorted(slices.Values(vmids)))
	if e.err != nil || len(underHA)+len(firewalls) == 0 && slices.Equal(wanted, e.vmids) {
		return e.observer.Snapshot(), e.err
	}
	err := e.observer.run(ctx, Request{VMIDs: wanted, UnderHA: underHA, Firewalls: firewalls})
	e.vmids = wanted
	return e.observer.Snapshot(), err
}

// Stop ends the reading, and returns when no call is in flight.
func (e *Early) Stop() {
	e.cancel()
	<-e.ended
	e.observer.Wait()
}
