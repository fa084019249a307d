package proxmox

import (
	"crypto/tls"
	"net"
	"net/http"
	"time"
)

// Connections. Proxmox closes a connection that was idle for 5 seconds; ours end before.
const (
	idleTimeout  = 4 * time.Second
	dialTimeout  = 5 * time.Second
	tlsTimeout   = 10 * time.Second
	connsPerHost = 6
)

// network sends reads over connections that are kept, and each write over one of its own. A kept connection may have been
// closed at the other end, which shows only once a request is under way; for a write that would be an unknown outcome
// for no reason, as often as Proxmox renews its workers.
type network struct {
	reads, writes *http.Transport
}

func newNetwork(trust *tls.Config) network {
	n := network{reads: newTransport(trust), writes: newTransport(trust.Clone())}
	n.writes.DisableKeepAlives = true
	return n
}

// RoundTrip sends req over a connection of its kind.
func (n network) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Method == http.MethodGet {
		return n.reads.RoundTrip(req)
	}
	return n.writes.RoundTrip(req)
}

// newTransport returns a transport without proxies, HTTP/2 and compression: Proxmox speaks HTTP/1.1, and the token must go
// nowhere else.
func newTransport(trust *tls.Config) *http.Transport {
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
