package status

import (
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// CloseReason states why a connection was closed early. It is a label of metrics.
type CloseReason string

// Reasons for which a connection is closed early.
const (
	CloseIdle    CloseReason = "idle"    // it carried no request, and a new connection needed its place
	CloseRefused CloseReason = "refused" // all other connections carried requests
)

// CloseReasons lists every reason, for metrics that start at zero.
func CloseReasons() []CloseReason { return []CloseReason{CloseIdle, CloseRefused} }

// Connections bounds the open connections of the status page, so that clients cannot use up the file descriptors that the agent needs for the cluster,
// the repository and the journal. If there are too many, the one closes that has carried no request for the longest time.
type Connections struct {
	limit   int
	onOpen  func(open int)
	onClose func(CloseReason)
	log     *slog.Logger
	logs    *rate.Limiter

	mu   sync.Mutex
	open map[net.Conn]time.Time // when the connection began to wait for a request; zero while it carries one
}

// ConnectionOptions configures Connections.
type ConnectionOptions struct {
	Limit   int               // of open connections; 0 is 256
	OnOpen  func(open int)    // is called with the number of open connections when it changes; nil does nothing
	OnClose func(CloseReason) // is called for each connection that is closed early; nil does nothing
	Logger  *slog.Logger      // logs, at a bounded rate, that connections are closed early; nil logs nothing
}

// DefaultConnections is the default limit of open connections.
const DefaultConnections = 256

// NewConnections returns a limit without open connections.
func NewConnections(opts ConnectionOptions) *Connections {
	c := &Connections{
		limit: opts.Limit, onOpen: opts.OnOpen, onClose: opts.OnClose, log: opts.Logger, logs: rate.NewLimiter(rate.Every(time.Minute), 1), open: make(map[net.Conn]time.Time),
	}
	if c.limit <= 0 {
		c.limit = DefaultConnections
	}
	if c.onOpen == nil {
		c.onOpen = func(int) {}
	}
	if c.onClose == nil {
		c.onClose = func(CloseReason) {}
	}
	if c.log == nil {
		c.log = slog.New(slog.DiscardHandler)
	}
	return c
}

// changed is the ConnState of an http.Server. The server calls it for a new connection before it accepts the next one.
func (c *Connections) changed(conn net.Conn, state http.ConnState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch state {
	case http.StateNew:
		if len(c.open) < c.limit || c.makeRoom(conn) {
			c.open[conn] = time.Now()
		}
	case http.StateActive:
		c.open[conn] = time.Time{}
	case http.StateIdle:
		c.open[conn] = time.Now()
	case http.StateClosed, http.StateHijacked:
		delete(c.open, conn)
	}
	c.onOpen(len(c.open))
}

// makeRoom closes the connection that has waited for the longest time, or the new one if none waits. It reports whether the new one stays open.
func (c *Connections) makeRoom(added net.Conn) (stays bool) {
	reason, closing := CloseRefused, added
	var since time.Time
	for conn, waits := range c.open {
		if !waits.IsZero() && (since.IsZero() || waits.Before(since)) {
			reason, closing, since = CloseIdle, conn, waits
		}
	}
	delete(c.open, closing)
	c.onClose(reason) // before the client notices
	_ = closing.Close()
	if c.logs.Allow() {
		c.log.Warn("status page has too many connections, one was closed", "limit", c.limit, "reason", reason)
	}
	return reason == CloseIdle
}
