package remote

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
)

// A stream is a session over the standard input and output of one upload-pack, through ssh or as a program on this machine.
type stream struct {
	in        io.WriteCloser
	out       *budgetReader
	stderr    *bytes.Buffer // read only after stop
	stop      func()        // ends the program or connection and waits for it
	requested bool
}

const maxMessage = 1 << 10 // bytes of a remote's stderr that are kept

func (s *stream) refs(context.Context) (io.Reader, error) { return s.out, nil }

func (s *stream) send(_ context.Context, request []byte, last bool) (io.Reader, error) {
	s.requested = s.requested || last
	if _, err := s.in.Write(request); err != nil {
		return nil, fmt.Errorf("write to the remote: %w", err)
	}
	if last {
		// Upload-pack has the whole request. It may have sent its reply and ended by now: package ssh then returns io.EOF. The pack is checked in any case.
		_ = s.in.Close()
	}
	return s.out, nil
}

// End stops upload-pack and returns what it wrote to stderr. If no pack was requested, end sends a flush packet first, so that
// upload-pack ends without an error.
func (s *stream) End() string {
	if !s.requested {
		_, _ = s.in.Write([]byte("0000")) // an error does not matter: upload-pack ends in any case
	}
	_ = s.in.Close()
	s.stop()
	return strings.TrimSpace(s.stderr.String())
}
