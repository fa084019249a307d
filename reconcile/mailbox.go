package reconcile

import (
	"gitops-agent/reconcile/lane"
	"sync"
)

// mailbox carries findings from lanes to the engine without ever blocking a lane. The bell rings when a lane has ended, so
// that whoever hears it finds the lane free.
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

func (m *mailbox) empty() []lane.Result {
	m.mu.Lock()
	defer m.mu.Unlock()
	items := m.items
	m.items = nil
	return items
}
