package policy

import (
	"sync"
	"sync/atomic"

	"cel.dev/cel-go/cel"
)

// Bounds of a memo.
const (
	maxRemembered = 1000 // results of one policy
	tried         = 256  // guests after which a memo that seldom helps is switched off
)

// memo remembers what a policy about guests says, or whether its condition is true, by what its expressions read of guests: the members of a set differ in
// little that policies read. A nil memo remembers nothing.
type memo[T any] struct {
	reads reads
	off   atomic.Bool // most guests differ in what the policy reads, such as the name

	mu          sync.Mutex
	known       map[string]T
	asked, hits int
}

// newMemo returns the memo of a policy with these expressions, nil if it is not known all that they read.
func newMemo[T any](expressions ...*cel.Ast) *memo[T] {
	m := &memo[T]{reads: reads{}, known: make(map[string]T)}
	for _, e := range expressions {
		if e != nil && !m.reads.note(e) {
			return nil
		}
	}
	return m
}

// fields returns the number of fields that are read.
func (r reads) fields() int {
	n := 0
	for _, fields := range r {
		n += len(fields)
	}
	return n
}

// isOn reports whether the memo may know something.
func (m *memo[T]) isOn() bool { return m != nil && !m.off.Load() }

// result returns what judge says of a guest with a key, or said of another one.
func (m *memo[T]) result(key []byte, judge func() T) T {
	if m.off.Load() {
		return judge()
	}
	m.mu.Lock()
	f, found := m.known[string(key)]
	if m.asked++; found {
		m.hits++
	}
	if m.asked%tried == 0 && m.hits < m.asked/2 {
		m.off.Store(true)
		m.known = nil
	}
	m.mu.Unlock()
	if found {
		return f
	}
	f = judge()
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.known != nil && len(m.known) < maxRemembered {
		m.known[string(key)] = f
	}
	return f
}
