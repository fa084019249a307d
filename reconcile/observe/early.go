package observe

import (
	"context"
	"slices"
	"time"

	"gitops-agent/reconcile/cluster"
)

// Early is one reading of all guests that begins before all of them are known: while manifests are parsed, Proxmox already answers for the
// guests that the agent owns.
type Early struct {
	observer *Observer
	vmids    []int // that the first round reads, sorted
	cancel   context.CancelFunc
	ended    chan struct{}
	err      error // of the first round, once ended is closed
}

// ReadEarly begins to read the list of guests, and the guests of vmids in full. The caller calls Stop in the end.
func ReadEarly(ctx context.Context, reader cluster.Reader, vmids []int) *Early {
	ctx, cancel := context.WithCancel(ctx)
	vmids = slices.Sorted(slices.Values(vmids))
	e := &Early{observer: New(reader, time.Second, time.Minute), vmids: vmids, cancel: cancel, ended: make(chan struct{})}
	go func() {
		defer close(e.ended)
		e.err = e.observer.Observe(ctx, vmids, nil)
	}()
	return e
}

// All returns the guests of vmids, as ReadAll does. It reads again only what the first round did not: other guests, and HA for the guests of
// underHA, with a second list.
func (e *Early) All(ctx context.Context, vmids, underHA []int) (cluster.Snapshot, error) {
	<-e.ended
	wanted := slices.Compact(slices.Sorted(slices.Values(vmids)))
	if e.err != nil || len(underHA) == 0 && slices.Equal(wanted, e.vmids) {
		return e.observer.Snapshot(), e.err
	}
	err := e.observer.Observe(ctx, vmids, underHA)
	return e.observer.Snapshot(), err
}

// Stop ends the reading, and returns when no call is in flight.
func (e *Early) Stop() {
	e.cancel()
	<-e.ended
	e.observer.Wait()
}
