package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"gitops-agent/reconcile/journal"
)

// Memory is a service in memory that keeps one journal. Each Process is a process that uses it.
type Memory struct {
	mu      sync.Mutex
	leader  *Process
	head    *journal.BlockHead
	base    []byte
	commits []memoryCommit
	changed chan struct{} // closed and replaced at each change of the head

	silent bool

	// Before is called before each change, without a lock. An error is that of a lost connection; with done, the change is made all the same.
	Before func() (done bool, err error)
}

type memoryCommit struct {
	first uint64
	bytes []byte
}

// ErrCut is the error of a connection that a test cuts.
var ErrCut = errors.New("connection lost")

// Process is a process that uses a Memory. It implements journal.Blocks.
type Process struct{ service *Memory }

// Lead returns a process that leads from now on. The process that led before changes nothing any more.
func (m *Memory) Lead() *Process {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.leader = &Process{m}
	return m.leader
}

// Watch returns a process that only reads.
func (m *Memory) Watch() *Process { return &Process{m} }

// Silence lets the service answer nothing, or lets it answer again.
func (m *Memory) Silence(silent bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.silent = silent
	m.tell()
}

// tell wakes those who follow. The caller has locked mu.
func (m *Memory) tell() {
	if m.changed != nil {
		close(m.changed)
		m.changed = nil
	}
}

func (m *Memory) isSilent() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.silent
}

// Copy returns the service as it is now, as a backup keeps it.
func (m *Memory) Copy() *Memory {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := &Memory{base: m.base, commits: slices.Clone(m.commits)}
	if m.head != nil {
		head := *m.head
		c.head = &head
	}
	return c
}

// Flip changes one bit of the newest commit.
func (m *Memory) Flip() {
	m.mu.Lock()
	defer m.mu.Unlock()
	last := &m.commits[len(m.commits)-1]
	last.bytes = slices.Clone(last.bytes)
	last.bytes[len(last.bytes)/2] ^= 1
}

// Load implements journal.Blocks.
func (p *Process) Load(_ context.Context, to journal.BlockVisitor) error {
	if p.service.isSilent() {
		return fmt.Errorf("%w: %w", journal.ErrUnreachable, ErrCut)
	}
	m := p.service.Copy()
	if m.head == nil {
		return nil
	}
	if err := to.Head(*m.head); err != nil {
		return err
	}
	if m.base != nil {
		if err := to.Base(m.base); err != nil {
			return err
		}
	}
	for _, c := range m.commits {
		if err := to.Commit(c.bytes); err != nil {
			return err
		}
	}
	return nil
}

// Begin implements journal.Blocks.
func (p *Process) Begin(_ context.Context, head journal.BlockHead) (int, error) {
	return 0, p.change(func(m *Memory) {
		if m.head == nil {
			m.head = &head
		}
	})
}

// Append implements journal.Blocks.
func (p *Process) Append(_ context.Context, first uint64, commit []byte, head journal.BlockHead) error {
	return p.change(func(m *Memory) {
		m.commits, m.head = append(m.commits, memoryCommit{first, slices.Clone(commit)}), &head
	})
}

// Replace implements journal.Blocks.
func (p *Process) Replace(_ context.Context, base []byte, head journal.BlockHead) (bool, error) {
	err := p.change(func(m *Memory) { m.base, m.commits, m.head = slices.Clone(base), nil, &head })
	return err == nil, err
}

func (p *Process) change(do func(*Memory)) error {
	m := p.service
	done, cut := true, error(nil)
	if m.Before != nil {
		done, cut = m.Before()
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if cut == nil && m.leader != p {
		return journal.ErrNotLeader
	}
	if cut == nil || done && m.leader == p {
		do(m)
		m.tell()
	}
	if cut != nil {
		return fmt.Errorf("%w: %w", journal.ErrUnreachable, cut)
	}
	return nil
}

// Follow implements journal.Blocks.
func (p *Process) Follow(ctx context.Context, first uint64, commit func([]byte) error) error {
	m := p.service
	for {
		m.mu.Lock()
		if m.changed == nil {
			m.changed = make(chan struct{})
		}
		changed, head, commits, silent := m.changed, m.head, slices.Clone(m.commits), m.silent
		m.mu.Unlock()
		if silent {
			return fmt.Errorf("%w: %w", journal.ErrUnreachable, ErrCut)
		}
		for _, c := range commits {
			if c.first > first {
				return journal.ErrCompacted
			}
			if c.first == first {
				if err := commit(c.bytes); err != nil {
					return err
				}
				first = nextOf(commits, c.first, head.Next)
			}
		}
		if head != nil && head.Next != first {
			return journal.ErrCompacted
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// nextOf returns the first record after the commit that begins with first.
func nextOf(commits []memoryCommit, first, end uint64) uint64 {
	for _, c := range commits {
		if c.first > first {
			return c.first
		}
	}
	return end
}
