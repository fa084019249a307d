package remote

import (
	"context"
	"fmt"
	"net"
	"sync/atomic"

	"gitops-agent/gitsource/packs"
)

// maxOverhead is how many bytes a connection may read above nine eighths of what its replies contain: handshakes, headers, packets that say nothing, what is read
// ahead. Without this bound a server could send such bytes until the time of the fetch is over, and each one costs processor time.
const maxOverhead = 16 << 20

// A meter compares what the connections of one session have read with what was read from the replies.
type meter struct {
	read atomic.Int64
	used atomic.Int64
}

// err returns an error if the connections have read too much.
func (m *meter) err() error {
	if m == nil || m.read.Load() <= maxOverhead+m.used.Load()/8*9 {
		return nil
	}
	return fmt.Errorf("what the remote sends beside its replies is %w of %d MiB", packs.ErrTooLarge, maxOverhead>>20)
}

// dial connects within the connectTimeout.
func (m *meter) dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := (&net.Dialer{Timeout: connectTimeout}).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return &meteredConn{conn, m}, nil
}

type meteredConn struct {
	net.Conn
	meter *meter
}

// Read implements net.Conn.
func (c *meteredConn) Read(p []byte) (int, error) {
	if err := c.meter.err(); err != nil {
		return 0, err
	}
	n, err := c.Conn.Read(p)
	c.meter.read.Add(int64(n))
	return n, err
}
