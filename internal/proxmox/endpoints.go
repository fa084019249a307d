package proxmox

import (
	"errors"
	"net"
	"net/http"
	"net/url"
	"sync/atomic"
)

// endpoints sends requests to the member of the cluster that answered last. Any member answers for every node.
//
// Only reads move on to the next member, and only when no connection could be made: a write goes to one member, once.
// As reads keep coming, writes follow them to a member that is up.
type endpoints struct {
	urls    []*url.URL
	current atomic.Int64
	next    http.RoundTripper
}

// RoundTrip sends req. The error is that of the last member tried.
func (e *endpoints) RoundTrip(req *http.Request) (*http.Response, error) {
	first := int(e.current.Load())
	attempts := 1
	if req.Method == http.MethodGet {
		attempts = len(e.urls)
	}
	var res *http.Response
	var err error
	for i := range attempts {
		at := (first + i) % len(e.urls)
		res, err = e.next.RoundTrip(addressed(req, e.urls[at]))
		if err == nil {
			e.current.Store(int64(at))
			return res, nil
		}
		if !isDialError(err) {
			return nil, err
		}
	}
	return nil, err
}

// addressed returns req addressed to endpoint.
func addressed(req *http.Request, endpoint *url.URL) *http.Request {
	if req.URL.Host == endpoint.Host && req.URL.Scheme == endpoint.Scheme {
		return req
	}
	target := *req.URL
	target.Scheme, target.Host = endpoint.Scheme, endpoint.Host
	moved := req.WithContext(req.Context())
	moved.URL, moved.Host = &target, endpoint.Host
	return moved
}

// isDialError reports whether no connection was made, so that nothing can have been sent.
func isDialError(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial"
}
