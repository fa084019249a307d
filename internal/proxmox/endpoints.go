package proxmox

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"sync/atomic"
)

// endpoints sends requests to the current endpoint. Each endpoint is a node of the cluster, and answers for every node.
//
// A read is sent to the next endpoint if the current one cannot be reached, breaks the connection, or reports that it cannot reach its own
// daemon or another node. A write is sent to one endpoint once. The endpoint that answers a read becomes the current one, also for
// writes. The next endpoint also becomes the current one after a write to an endpoint that could not be reached, and after a request that an
// endpoint did not answer within the time limit.
type endpoints struct {
	urls    []*url.URL
	current atomic.Int64
	next    http.RoundTripper
	log     *slog.Logger
}

// RoundTrip sends req. If no endpoint answers a read, RoundTrip returns the result of the first endpoint.
func (e *endpoints) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Method != http.MethodGet {
		at := int(e.current.Load())
		res, err := e.next.RoundTrip(addressed(req, e.urls[at]))
		if isDialError(err) || isTimeout(req, err) {
			e.move(req, at, at+1)
		}
		return res, err
	}
	first := int(e.current.Load())
	res, err := e.next.RoundTrip(addressed(req, e.urls[first]))
	for i := 1; i < len(e.urls) && needsAnother(req, res, err); i++ {
		other, otherErr := e.next.RoundTrip(addressed(req, e.urls[(first+i)%len(e.urls)]))
		if needsAnother(req, other, otherErr) {
			discard(other)
			continue
		}
		discard(res)
		e.move(req, first, first+i)
		return other, otherErr
	}
	if isTimeout(req, err) {
		e.move(req, first, first+1)
	}
	return res, err
}

// move makes another endpoint the current one, unless a concurrent request has changed the current endpoint.
func (e *endpoints) move(req *http.Request, from, to int) {
	to %= len(e.urls)
	if from != to && e.current.CompareAndSwap(int64(from), int64(to)) {
		e.log.WarnContext(req.Context(), "proxmox endpoint changed", "from", e.urls[from].Host, "to", e.urls[to].Host)
	}
}

// needsAnother reports whether another endpoint may answer a read that this endpoint did not answer. It does so without a complete
// header of a reply, and after 595, 502 or 503: the endpoint cannot reach its daemon or another node. It does not after 596 or 504, which come
// after a long wait.
func needsAnother(req *http.Request, res *http.Response, err error) bool {
	if err != nil {
		return req.Context().Err() == nil
	}
	switch res.StatusCode {
	case statusUnconnected, http.StatusBadGateway, http.StatusServiceUnavailable:
		return true
	default:
		return false
	}
}

// discard closes a reply that is not used.
func discard(res *http.Response) {
	if res != nil {
		_ = res.Body.Close()
	}
}

// addressed returns req with the address of endpoint.
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

// isTimeout reports whether this client's time limit ended the exchange. A working endpoint stops waiting for other nodes before that.
func isTimeout(req *http.Request, err error) bool {
	return err != nil && errors.Is(context.Cause(req.Context()), errTimeout)
}
