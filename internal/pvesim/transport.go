package pvesim

import (
	"fmt"
	"net/http"
)

// Transport returns a RoundTripper that answers requests in process. It starts goroutines only for calls in flight, and Close ends them, so it
// works in a synctest bubble. The host of a URL only selects faults.
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
	// the call continues when the client gives up
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
