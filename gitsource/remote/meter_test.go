package remote

import (
	"errors"
	"io"
	"net"
	"strings"
	"testing"

	"gitops-agent/gitsource/packs"
)

// TestMeter: a connection may read some more than the replies that it carries, and a reply whose connection has read too much ends with the reason.
func TestMeter(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		read, used int64
		isTooMuch  bool
	}{
		"nothing":         {},
		"handshake":       {read: maxOverhead},
		"more":            {read: maxOverhead + 1, isTooMuch: true},
		"large_reply":     {read: maxOverhead + 9<<20, used: 8 << 20},
		"larger_overhead": {read: maxOverhead + 9<<20 + 1, used: 8 << 20, isTooMuch: true},
		"compressed":      {read: 1 << 20, used: 1 << 30},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client, server := net.Pipe()
			defer func() { _, _ = client.Close(), server.Close() }()
			go func() { _, _ = server.Write([]byte("x")) }()
			conn := &meteredConn{client, new(meter)}
			conn.meter.read.Store(test.read)
			conn.meter.used.Store(test.used)
			if _, err := conn.Read(make([]byte, 1)); errors.Is(err, packs.ErrTooLarge) != test.isTooMuch {
				t.Errorf("got %v, want an error: %t", err, test.isTooMuch)
			}
		})
	}
	m, remaining := new(meter), int64(100)
	m.read.Store(maxOverhead + 1)
	_, err := io.ReadAll(&budgetReader{strings.NewReader(""), &remaining, m})
	if err != nil { // a reply that is complete is used
		t.Errorf("got %v at the end of a reply, want none", err)
	}
	_, err = io.ReadAll(&budgetReader{io.MultiReader(strings.NewReader("x"), brokenReader{}), &remaining, m})
	if !errors.Is(err, packs.ErrTooLarge) {
		t.Errorf("got %v for a reply that is cut, want %v", err, packs.ErrTooLarge)
	}
}

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }
