package wire

import (
	"errors"
	"net/http"
)

// GetOnly returns a transport that rejects every method except GET, also for requests of the library.
func GetOnly(next http.RoundTripper) http.RoundTripper { return getOnly{next} }

type getOnly struct{ next http.RoundTripper }

// ErrReadOnly is the error of a request that is not a GET.
var ErrReadOnly = errors.New("this client is read-only")

// RoundTrip sends GET requests to the next transport.
func (g getOnly) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Method != http.MethodGet {
		closeBody(req)
		return nil, ErrReadOnly
	}
	return g.next.RoundTrip(req)
}
