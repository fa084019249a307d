package journal

import "fmt"

// request is one Append call on its way through the writer.
type request struct {
	bodies   []Body
	elements []element
	size     int
	done     chan error // has room for the one result
}

// newRequest encodes bodies and keeps them as a reader will decode them: times in UTC, text in UTF-8, empty maps as nil. The state that
// is folded now is therefore the state that is folded after a restart.
func newRequest(bodies []Body) (*request, error) {
	for _, b := range bodies {
		if err := check(b); err != nil {
			return nil, err
		}
	}
	req := &request{done: make(chan error, 1)}
	var err error
	if req.elements, err = encodeBodies(bodies); err != nil {
		return nil, err
	}
	for _, e := range req.elements {
		req.size += len(e.json) + 1
	}
	if req.size > MaxAppend {
		return nil, fmt.Errorf("%w: got %d bytes of records in one call, want at most %d", ErrRefused, req.size, MaxAppend)
	}
	req.bodies, err = decodePayload(payloadOf(req.elements))
	return req, err
}
