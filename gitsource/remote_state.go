package gitsource

import (
	"errors"
	"slices"
	"time"

	"github.com/go-git/go-git/v5/plumbing"

	"gitops-agent/gitsource/fault"
)

// RemoteState states how a remote replied last. It is a label of metrics.
type RemoteState string

// States of a remote.
const (
	RemoteUnknown RemoteState = "unknown" // it was not asked yet
	RemoteAnswers RemoteState = "answers"
	RemoteLate    RemoteState = "late"   // it had not replied when the next remote was asked
	RemoteFailed  RemoteState = "failed" // it could not serve the branch
	RemoteBehind  RemoteState = "behind" // it served a commit that is older than what another remote served
)

// RemoteStates lists every state, for metrics that start at zero.
func RemoteStates() []RemoteState {
	return []RemoteState{RemoteUnknown, RemoteAnswers, RemoteLate, RemoteFailed, RemoteBehind}
}

// RemoteStatus describes one remote.
type RemoteStatus struct {
	URL      string // without secrets
	State    RemoteState
	Since    time.Time   // when the state began
	Answered time.Time   // when it last served the branch
	Err      error       // of the newest failure
	Fault    fault.Fault // of Err
}

// repliesUntilPreferred is how many good replies in a row bring a remote back to its place in the configured order.
const repliesUntilPreferred = 3

// ErrBehind means that a remote serves a commit that the store already has, while another remote has served a newer one. Such a remote does not move the
// branch back: its own copy may be old.
var ErrBehind = errors.New("the remote is behind: another remote has served a newer commit")

// remoteHealth is what is known about a remote. Source.stateMu protects it.
type remoteHealth struct {
	status RemoteStatus
	inRow  int  // good replies since the last bad one
	bad    bool // other remotes are preferred
	asked  bool // a request of an earlier fetch is still in flight
	newer  bool // its late reply named a commit that the store does not have
}

// note sets the state of a remote, and logs a change.
func (s *Source) note(at int, state RemoteState, err error) {
	s.stateMu.Lock()
	defer s.stateMu.Unlock()
	h, now := &s.health[at], time.Now()
	if state == RemoteAnswers {
		h.status.Answered = now
		if h.inRow++; h.bad && h.inRow >= repliesUntilPreferred {
			h.bad = false
		}
	} else {
		h.inRow, h.bad, h.status.Err, h.status.Fault = 0, true, err, FaultOf(&RemoteError{h.status.URL, err})
	}
	if h.status.State == state {
		return
	}
	if h.status.State != RemoteUnknown || state != RemoteAnswers {
		s.opts.Logger.Warn("remote changed", "remote", h.status.URL, "state", state, "error", err)
	}
	h.status.State, h.status.Since = state, now
}

// Remotes returns the state of each remote, in the configured order.
func (s *Source) Remotes() []RemoteStatus {
	s.stateMu.Lock()
	defer s.stateMu.Unlock()
	list := make([]RemoteStatus, 0, len(s.health))
	for _, h := range s.health {
		list = append(list, h.status)
	}
	return list
}

// FetchBegan returns when the fetch of the branch began that is under way, the zero time without one. It does not wait for the fetch.
func (s *Source) FetchBegan() time.Time {
	s.stateMu.Lock()
	defer s.stateMu.Unlock()
	return s.began
}

func (s *Source) setBegan(at time.Time) {
	s.stateMu.Lock()
	defer s.stateMu.Unlock()
	s.began = at
}

// order returns the remotes in the order in which a fetch asks them, without those that are still being asked: the good ones in the configured order, and
// then the others. first is the remote whose late reply named a newer commit, or -1; its reply is waited for.
func (s *Source) order() (order []int, first int) {
	s.stateMu.Lock()
	defer s.stateMu.Unlock()
	first = -1
	for at := range s.health {
		if !s.health[at].asked {
			order = append(order, at)
		}
		if s.health[at].newer && first < 0 {
			first = at
		}
	}
	rank := func(at int) int {
		switch {
		case at == first:
			return 0
		case !s.health[at].bad:
			return 1
		}
		return 2
	}
	slices.SortStableFunc(order, func(a, b int) int { return rank(a) - rank(b) })
	return order, first
}

// isBad reports whether other remotes are preferred to a remote.
func (s *Source) isBad(at int) bool {
	s.stateMu.Lock()
	defer s.stateMu.Unlock()
	return s.health[at].bad
}

// setAsked notes whether a request to a remote is in flight.
func (s *Source) setAsked(at int, asked bool) {
	s.stateMu.Lock()
	defer s.stateMu.Unlock()
	s.health[at].asked = asked
}

// setNewer notes whether a remote's late reply named a commit that the store does not have.
func (s *Source) setNewer(at int, newer bool) {
	s.stateMu.Lock()
	defer s.stateMu.Unlock()
	s.health[at].newer = newer
}

// isBehind reports whether a remote serves an old commit: the store has it, it is not the head, and another remote served the head. A remote that served the
// head itself may move the branch back, which package verify judges.
func (s *Source) isBehind(at int, tip plumbing.Hash) bool {
	return s.servedBy >= 0 && s.servedBy != at && tip != s.head && s.repo.has(tip)
}
