package wire

import (
	"context"
	"sync"
)

// slots bounds the exchanges in flight for each node, separately for reads and writes. A node has three single-threaded
// workers, and a slow write occupies one of them for seconds.
type slots struct {
	reads, writes int // per node

	mu    sync.Mutex
	inUse map[slotKey]chan struct{}
}

type slotKey struct {
	node   string
	writes bool
}

func newSlots(reads, writes int) *slots {
	return &slots{reads: reads, writes: writes, inUse: make(map[slotKey]chan struct{})}
}

// acquire waits for a free slot, and returns the function that frees the slot.
func (s *slots) acquire(ctx context.Context, x *Exchange) (release func(), err error) {
	slot := s.of(slotKey{node: x.Node, writes: x.Writes()})
	select {
	case slot <- struct{}{}:
		return func() { <-slot }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func (s *slots) of(key slotKey) chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	slot, ok := s.inUse[key]
	if !ok {
		size := s.reads
		if key.writes {
			size = s.writes
		}
		slot = make(chan struct{}, size)
		s.inUse[key] = slot
	}
	return slot
}
