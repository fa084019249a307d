package pvesim

import (
	"fmt"
	"net/http"
)

// Transport answers requests in process. It starts goroutines only for calls under way, and Close ends those, so it works in a
// synctest bubble. The host of a URL does not matter.
func (s *Sim) Transport() http.RoundTripper { return transport{s} }

type transport struct{ sim *Sim }

func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := readAll(r)
	if err != nil {
		return nil, err
	}
	ctx := r.Context()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if ctx.Done() == nil {
		return t.sim.answer(r, body).httpResponse(r)
	}
	// a client that gives up does not stop the server: the call goes on by itself
	out := make(chan response, 1)
	if !t.sim.goTracked(func() { out <- t.sim.answer(r, body) }) {
		return nil, errConnectionLost
	}
	select {
	case resp := <-out:
		return resp.httpResponse(r)
	case <-ctx.Done():
		return nil, fmt.Errorf("wait for the simulator: %w", ctx.Err())
	}
}
