package gitsource

import (
	"errors"
	"fmt"

	"github.com/go-git/go-git/v5/plumbing"
)

// refOfRemote is a ref at one remote.
type refOfRemote struct{ remote, ref string }

// refusedPack is a pack that was above a limit. The remote would send it again at each fetch, so it is not requested again while the ref points there, and
// the store has what it had. Nothing else is remembered: a connection that ended, a reply that was cut or a full disk may be over at the next fetch.
type refusedPack struct {
	tip, known plumbing.Hash
	err        error
}

// refusedBefore returns why the pack of a transfer was refused before, nil if it was not.
func (s *Source) refusedBefore(t transfer, known plumbing.Hash) error {
	r := s.refused[refOfRemote{t.remote, t.ref}]
	if r.err == nil || r.tip != t.tip || r.known != known {
		return nil
	}
	return fmt.Errorf("%w; the pack is not requested again until %s moves or the agent is restarted", r.err, t.ref)
}

// noteReceived remembers a pack that was above a limit, and forgets the one that was refused before.
func (s *Source) noteReceived(t transfer, known plumbing.Hash, err error) {
	at := refOfRemote{t.remote, t.ref}
	delete(s.refused, at)
	var local storeError
	if errors.Is(err, ErrTooLarge) && !errors.As(err, &local) {
		s.refused[at] = refusedPack{t.tip, known, err}
	}
}
