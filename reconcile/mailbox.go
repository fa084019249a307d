package reconcile

import (
	"slices"
	"sync"

	"gitops-agent/reconcile/lane"
	"gitops-agent/reconcile/object"
)

// mailbox carries the results of lanes to the engine and never blocks a lane. The bell rings after a lane has ended, so the engine finds the
// lane free when it receives from the bell.
type mailbox struct {
	mu    sync.Mutex
	items []lane.Result
	bell  chan struct{}
}

func (m *mailbox) post(f lane.Result) {
	m.mu.Lock()
	m.items = append(m.items, f)
	m.mu.Unlock()
}

func (m *mailbox) ring() {
	select {
	case m.bell <- struct{}{}:
	default:
	}
}

func (m *mailbox) isEmpty() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.items) == 0
}

// holds reports whether a result of the object's lane was not taken yet.
func (m *mailbox) holds(key object.Key) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.ContainsFunc(m.items, func(r lane.Result) bool { return r.Key == key })
}

// keys returns the objects of results that were not taken yet.
func (m *mailbox) keys() []object.Key {
	m.mu.Lock()
	defer m.mu.Unlock()
	keys := make([]object.Key, 0, len(m.items))
	for _, r := range m.items {
		keys = append(keys, r.Key)
	}
	return keys
}

func (m *mailbox) empty() []lane.Result {
	m.mu.Lock()
	defer m.mu.Unlock()
	items := m.items
	m.items = nil
	return items
}
