package gitsource

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
)

// A stream is a session over the standard input and output of one upload-pack: behind ssh, or a program of this
// machine.
type stream struct {
	in     io.WriteCloser
	out    *meter
	stderr *bytes.Buffer // read only after stop
	stop   func()        // ends the program or connection and waits for it
	asked  bool
}

const maxSaid = 1 << 10 // of what a remote writes for people, bytes

func (s *stream) refs(context.Context) (io.Reader, error) { return s.out, nil }

func (s *stream) pack(_ context.Context, request []byte) (io.Reader, error) {
	s.asked = true
	if _, err := s.in.Write(request); err != nil {
		return nil, fmt.Errorf("write to the remote: %w", err)
	}
	return s.out, s.in.Close()
}

// end says goodbye if no pack was asked for, so that upload-pack does not complain, and stops it.
func (s *stream) end() string {
	if !s.asked {
		_, _ = s.in.Write([]byte("0000")) // it is leaving anyway
	}
	_ = s.in.Close()
	s.stop()
	return strings.TrimSpace(s.stderr.String())
}
