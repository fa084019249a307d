package gitsource

import (
	"errors"
	"fmt"
	"strings"
)

// A RemoteError is the failure of one remote. It matches ErrUnreachable.
type RemoteError struct {
	Remote string // the URL without secrets
	Err    error
}

// ErrUnreachable means that no remote could serve the branch. The cause may be the network, the credentials, a missing
// branch, or a malformed or incomplete reply. The objects of earlier fetches stay valid. Errors that do not match
// ErrUnreachable concern this machine: the disk, the store, or a cancelled context.
var ErrUnreachable = errors.New("no remote can serve the branch")

// Error returns the message on one line. It replaces control characters, because the text of a remote can be part of it.
func (e *RemoteError) Error() string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, fmt.Sprintf("fetch %s: %v", e.Remote, e.Err))
}

// Unwrap returns the cause and ErrUnreachable, for errors.Is and errors.As.
func (e *RemoteError) Unwrap() []error { return []error{e.Err, ErrUnreachable} }
