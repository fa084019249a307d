package journal

import (
	"errors"
	"fmt"
)

// ErrRefused says that a record contradicts what the journal already holds or lacks what it must name. Nothing of the
// call was written, and the journal stays healthy.
var ErrRefused = errors.New("record refused")

// maxCall bounds the records of one Append call, in bytes as written.
const maxCall = 1 << 20

// newRequest encodes bodies and keeps them as a reader will find them: times in UTC, text in UTF-8, empty maps as nil. The
// state that is folded now is therefore the state that is folded after a restart.
func newRequest(bodies []Body) (*request, error) {
	req := &request{encoded: make([]encoded, len(bodies)), done: make(chan error, 1)}
	for i, b := range bodies {
		if err := check(b); err != nil {
			return nil, err
		}
		var err error
		if req.encoded[i], err = encodeBody(b); err != nil {
			return nil, err
		}
		req.size += len(req.encoded[i].json) + 1
	}
	if req.size > maxCall {
		return nil, fmt.Errorf("%w: got %d bytes in one call, want at most %d", ErrRefused, req.size, maxCall)
	}
	var err error
	req.bodies, err = decodePayload(payloadOf(req.encoded))
	return req, err
}

// check says whether a body names what its kind must name.
func check(b Body) error {
	ok := false
	switch b := b.(type) {
	case Accepted:
		ok = b.Commit != ""
	case Begun:
		ok = b.Step != "" && b.VMID > 0 && b.Op != ""
	case Dispatched:
		ok = b.Step != ""
	case Ended:
		ok = b.Step != "" && b.Result.valid()
	case Assigned:
		ok = b.Kind != "" && b.Name != "" && b.VMID >= 0
	case Owned:
		ok = b.VMID > 0 && b.Identity != "" && b.Origin.valid()
	case Disowned:
		ok = b.VMID > 0
	case Guarded:
		ok = b.VMID > 0
	case Applied:
		ok = b.VMID > 0 && b.Identity != ""
	case Futile:
		ok = b.VMID > 0 && b.Revision != "" && b.StepDigest != ""
	case Ordered:
		ok = b.Key != "" && (b.State.final() || b.State == OrderSeen || b.State == OrderReleased)
	case Event:
		ok = b.Name != ""
	default:
		return fmt.Errorf("%w: got %T, want one of the bodies as a value", ErrRefused, b)
	}
	if !ok {
		return fmt.Errorf("%w: incomplete %s record: %+v", ErrRefused, b.kind(), b)
	}
	return nil
}

func (r Result) valid() bool {
	switch r {
	case Done, Failed, Unknown, NotRun:
		return true
	}
	return false
}

func (o Origin) valid() bool { return o == Created || o == Adopted }

// admission keeps the two promises that a mistake in the callers must not break: a step is begun once and ended once, and an
// order that came to its end does not come back. It belongs to the writer and is ahead of the durable state by one commit.
type admission struct {
	open    map[string]bool // step ids
	settled map[string]bool // order keys
}

// admit takes the records of one call, or none of them.
func (a *admission) admit(bodies []Body) error {
	open, settled := map[string]bool{}, map[string]bool{}
	isOpen := func(step string) bool {
		if now, changed := open[step]; changed {
			return now
		}
		return a.open[step]
	}
	for _, b := range bodies {
		switch b := b.(type) {
		case Begun:
			if isOpen(b.Step) {
				return fmt.Errorf("%w: step %s is open already", ErrRefused, b.Step)
			}
			open[b.Step] = true
		case Dispatched:
			if !isOpen(b.Step) {
				return fmt.Errorf("%w: dispatched step %s is not open", ErrRefused, b.Step)
			}
		case Ended:
			if !isOpen(b.Step) {
				return fmt.Errorf("%w: ended step %s is not open", ErrRefused, b.Step)
			}
			open[b.Step] = false
		case Ordered:
			if (a.settled[b.Key] || settled[b.Key]) && !b.State.final() {
				return fmt.Errorf("%w: order %s has ended and cannot be %s again", ErrRefused, b.Key, b.State)
			}
			if b.State.final() {
				settled[b.Key] = true
			}
		}
	}
	a.merge(open, settled)
	return nil
}

func (a *admission) merge(open, settled map[string]bool) {
	for step, is := range open {
		if is {
			a.open[step] = true
		} else {
			delete(a.open, step)
		}
	}
	for key := range settled {
		a.settled[key] = true
	}
}
