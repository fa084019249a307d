package wire

import (
	"crypto/tls"
	"net"
	"net/http"
	"time"
)

// Limits of connections. Proxmox closes a connection that was idle for 5 seconds; this client closes it earlier.
const (
	idleTimeout  = 4 * time.Second
	dialTimeout  = 5 * time.Second
	tlsTimeout   = 10 * time.Second
	connsPerHost = 6
)

// Network sends reads over kept connections, and each write over a new connection. Proxmox may have closed a kept connection, for example when
// it renews its workers, and the client notices only while it sends the next request. For a write this would be an unknown outcome.
//
// Source: measured, go-proxmox with http.DefaultClient: EOF for a POST on a reused connection.
type Network struct {
	reads, writes *http.Transport
}

// NewNetwork returns a network that connects only to servers that trust accepts.
func NewNetwork(trust *tls.Config) Network {
	n := Network{reads: newHTTPTransport(trust), writes: newHTTPTransport(trust.Clone())}
	n.writes.DisableKeepAlives = true
	return n
}

// CloseIdle closes idle connections.
func (n Network) CloseIdle() { n.reads.CloseIdleConnections() }

// RoundTrip sends req.
func (n Network) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Method == http.MethodGet {
		return n.reads.RoundTrip(req)
	}
	return n.writes.RoundTrip(req)
}

// newHTTPTransport returns a transport without proxies, HTTP/2 and compression. Proxmox supports HTTP/1.1, and a proxy must not get the
// token.
func newHTTPTransport(trust *tls.Config) *http.Transport {
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	return &http.Transport{
		DialContext:            (&net.Dialer{Timeout: dialTimeout}).DialContext,
		TLSClientConfig:        trust,
		TLSHandshakeTimeout:    tlsTimeout,
		Protocols:              &protocols,
		DisableCompression:     true,
		MaxConnsPerHost:        connsPerHost,
		MaxIdleConnsPerHost:    connsPerHost,
		IdleConnTimeout:        idleTimeout,
		MaxResponseHeaderBytes: 64 << 10,
	}
}
