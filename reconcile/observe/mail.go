package observe

import "sync"

// mail carries the replies of a round to the goroutine of the engine. It never blocks a reader. The bell rings for the list of guests, when the last
// reply of a round has arrived, and for every reply of a round that hurries.
type mail struct {
	mu      sync.Mutex
	items   []arrival
	newest  *round // the last one that expected a reply
	hurries bool
	bell    chan struct{}
}

// expect notes that a number of replies will arrive.
func (m *mail) expect(r *round, replies int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r.flying += replies
	if m.newest != r {
		m.newest, m.hurries = r, false
	}
}

func (m *mail) post(a arrival) {
	m.mu.Lock()
	m.items = append(m.items, a)
	a.round.flying--
	rings := a.part == PartList || a.round.flying == 0 || a.round != m.newest || m.hurries
	m.mu.Unlock()
	if rings {
		m.ring()
	}
}

func (m *mail) ring() {
	select {
	case m.bell <- struct{}{}:
	default:
	}
}

// hurry lets the bell ring for every further reply of the newest round.
func (m *mail) hurry() {
	m.mu.Lock()
	m.hurries = true
	m.mu.Unlock()
}

func (m *mail) empty() []arrival {
	m.mu.Lock()
	defer m.mu.Unlock()
	items := m.items
	m.items = nil
	return items
}
