package remote

import (
	"errors"
	"io"
	"net"
	"strings"
	"testing"

	"gitops-agent/gitsource/packs"
)

// TestSidebandOverhead: packets of one byte, and progress, are bounded in relation to the pack. Packets as git sends them are not.
func TestSidebandOverhead(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		packet    string
		isTooMuch bool
	}{
		"of_a_byte": {"0006\x01x", true}, "progress": {"000d\x02counting", true}, "of_a_kilobyte": {"03ed\x01" + strings.Repeat("x", 1000), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &sideband{from: newPackets(strings.NewReader(strings.Repeat(test.packet, 10) + flushPacket)), overhead: maxOverhead - packetHeader}
			if _, err := io.ReadAll(s); errors.Is(err, packs.ErrTooLarge) != test.isTooMuch {
				t.Errorf("got %v, want an error: %t", err, test.isTooMuch)
			}
		})
	}
}

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
	text, err := io.ReadAll(&budgetReader{strings.NewReader("x"), &remaining, m})
	if !errors.Is(err, packs.ErrTooLarge) || string(text) != "x" {
		t.Errorf("got %q and %v for a reply that is cut, want %v", text, err, packs.ErrTooLarge)
	}
}
