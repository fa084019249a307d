package pvesim

import (
	"context"
	"fmt"
)

// HeldCall describes a call that a fault holds.
type HeldCall struct {
	Method string    `json:"method"`
	Path   string    `json:"path"`
	Stage  FaultKind `json:"stage"` // HoldBefore or HoldAfter
}

type heldCall struct {
	HeldCall
	release chan struct{}
}

// holdCall blocks the call until Release. It returns false if the Sim is closed first.
func (s *Sim) holdCall(c *call, stage FaultKind) bool {
	h := &heldCall{HeldCall: HeldCall{Method: c.method, Path: c.path, Stage: stage}, release: make(chan struct{})}
	s.mu.Lock()
	s.held = append(s.held, h)
	close(s.heldChanged)
	s.heldChanged = make(chan struct{})
	s.mu.Unlock()
	select {
	case <-h.release:
		return true
	case <-s.closed:
		return false
	}
}

// Release lets all held calls continue.
func (s *Sim) Release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, h := range s.held {
		close(h.release)
	}
	s.held = nil
}

// Held returns the calls that are held now, oldest first.
func (s *Sim) Held() []HeldCall {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]HeldCall, 0, len(s.held))
	for _, h := range s.held {
		out = append(out, h.HeldCall)
	}
	return out
}

// WaitHeld waits until at least n calls are held. It returns an error if ctx ends or the Sim is closed first.
func (s *Sim) WaitHeld(ctx context.Context, n int) error {
	for {
		s.mu.Lock()
		enough, news := len(s.held) >= n, s.heldChanged
		s.mu.Unlock()
		if enough {
			return nil
		}
		select {
		case <-news:
		case <-s.closed:
			return fmt.Errorf("wait for %d held calls: simulator closed", n)
		case <-ctx.Done():
			return fmt.Errorf("wait for %d held calls: %w", n, ctx.Err())
		}
	}
}
