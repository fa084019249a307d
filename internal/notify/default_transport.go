package notify

import (
	"context"
	"net"
	"net/http"
	"sync"
	"time"
)

// maxAnswer bounds what a connection of http.DefaultTransport reads, in bytes, with headers and certificates.
const maxAnswer = 1 << 20

// defaultTransport is http.DefaultTransport at the start of the program.
var defaultTransport = http.DefaultTransport.(*http.Transport) //nolint:gochecknoglobals,forcetypeassert // it is a variable of net/http

// boundAnswers bounds the replies that most services of shoutrrr read: their clients use http.DefaultTransport, and read a reply of any length into memory. Each request
// takes a connection of its own, and no reply is unpacked. Nothing else in the agent uses this transport.
//
// Source: shoutrrr 0.13.2; mattermost, gotify, ntfy and smtp have connections of their own.
var boundAnswers = sync.OnceFunc(func() { //nolint:gochecknoglobals // it changes a variable of net/http, once
	transport := defaultTransport
	dialer := net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}
	transport.DisableCompression, transport.DisableKeepAlives, transport.MaxResponseHeaderBytes = true, true, 64<<10
	transport.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dialer.DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return &boundedConn{conn, maxAnswer}, nil
	}
})
