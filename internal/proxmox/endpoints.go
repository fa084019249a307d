package proxmox

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"sync/atomic"
)

// endpoints sends requests to the member of the cluster that answered last. Any member answers for every node.
//
// Only reads move on to the next member: when the first one cannot be reached, breaks off, or says that it reaches nobody
// itself. A write goes to one member, once. As reads keep coming, writes follow them to a member that is up; a member that
// could not be reached, or kept silent to the end, is left by either.
type endpoints struct {
	urls    []*url.URL
	current atomic.Int64
	next    http.RoundTripper
	log     *slog.Logger
}

// RoundTrip sends req. Where no member has an answer, what the first one tried said stands.
func (e *endpoints) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Method != http.MethodGet {
		at := int(e.current.Load())
		res, err := e.next.RoundTrip(addressed(req, e.urls[at]))
		if isDialError(err) || isSilence(req, err) {
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
	if isSilence(req, err) {
		e.move(req, first, first+1)
	}
	return res, err
}

// move makes another member the current one, unless somebody else has moved on meanwhile.
func (e *endpoints) move(req *http.Request, from, to int) {
	to %= len(e.urls)
	if from != to && e.current.CompareAndSwap(int64(from), int64(to)) {
		e.log.WarnContext(req.Context(), "proxmox endpoint changed", "from", e.urls[from].Host, "to", e.urls[to].Host)
	}
}

// needsAnother reports whether a read may find at another member what it did not find at this one: there was no whole reply
// head, or 595, 502 or 503, by which the member says that the daemon behind it, or another node, is not there. It is not worth asking
// again after a 596 or 504, for which somebody has waited long.
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

// discard closes a reply that nobody will read.
func discard(res *http.Response) {
	if res != nil {
		_ = res.Body.Close()
	}
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

// isSilence reports whether our own time limit ended the exchange. A member that works gives up on other nodes before that.
func isSilence(req *http.Request, err error) bool {
	return err != nil && errors.Is(context.Cause(req.Context()), errTimeout)
}
