package journal

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
)

// Record is one entry of the journal. Seq counts from 1 without gaps as records are appended; compaction leaves gaps.
// Time is the host's clock in UTC and may step back.
type Record struct {
	Seq  uint64
	Time time.Time
	Body Body
}

// Kind names the record's body as the format does: accepted, begun, dispatched, ended, assigned, owned, disowned,
// guarded, applied, futile, ordered or event.
func (r Record) Kind() string { return r.Body.kind() }

// MarshalJSON writes seq, time, and the body as it stands in the journal: under the name of its kind.
func (r Record) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Seq  uint64    `json:"seq"`
		Time time.Time `json:"time"`
		wireBody
	}{r.Seq, r.Time, toWire(r.Body)})
}

// payloadVersion is the newest of the JSON inside a frame. A new kind or a new field is a new version: an agent that does not
// know a fact must not act as if it were not there. A payload bears the lowest version that knows all that is in it, so that
// going back to an older agent is possible until it would miss something.
const payloadVersion = 3

// versionOf returns the first version that knows the body.
func versionOf(b Body) int {
	switch b.(type) {
	case Applied:
		return 2
	case Futile:
		return 3
	}
	return 1
}

// ErrNewerFormat says that a newer release wrote this journal. Nothing was changed.
var ErrNewerFormat = errors.New("journal was written by a newer gitops-agent: run that release, or restore the state directory kept from before the upgrade")

// wirePayload is the JSON of a frame: the bodies that became durable together.
type wirePayload struct {
	Version int        `json:"v"`
	Records []wireBody `json:"records"`
}

// wireBody has exactly one field set. One struct for all kinds lets a payload be decoded in one strict pass.
type wireBody struct {
	Accepted   *Accepted   `json:"accepted,omitempty"`
	Begun      *Begun      `json:"begun,omitempty"`
	Dispatched *Dispatched `json:"dispatched,omitempty"`
	Ended      *Ended      `json:"ended,omitempty"`
	Assigned   *Assigned   `json:"assigned,omitempty"`
	Owned      *Owned      `json:"owned,omitempty"`
	Disowned   *Disowned   `json:"disowned,omitempty"`
	Guarded    *Guarded    `json:"guarded,omitempty"`
	Applied    *Applied    `json:"applied,omitempty"`
	Futile     *Futile     `json:"futile,omitempty"`
	Ordered    *Ordered    `json:"ordered,omitempty"`
	Event      *Event      `json:"event,omitempty"`
}

func toWire(body Body) wireBody {
	var w wireBody
	switch b := body.(type) {
	case Accepted:
		w.Accepted = &b
	case Begun:
		w.Begun = &b
	case Dispatched:
		w.Dispatched = &b
	case Ended:
		w.Ended = &b
	case Assigned:
		w.Assigned = &b
	case Owned:
		w.Owned = &b
	case Disowned:
		w.Disowned = &b
	case Guarded:
		w.Guarded = &b
	case Applied:
		w.Applied = &b
	case Futile:
		w.Futile = &b
	case Ordered:
		w.Ordered = &b
	case Event:
		w.Event = &b
	}
	return w
}

// fromWire refuses no body and several: neither was ever written.
func fromWire(w wireBody) (Body, error) {
	var body Body
	bodies := 0
	take := func(b Body) { body = b; bodies++ }
	if w.Accepted != nil {
		w.Accepted.ProvenTime = w.Accepted.ProvenTime.UTC()
		take(*w.Accepted)
	}
	if w.Begun != nil {
		take(*w.Begun)
	}
	if w.Dispatched != nil {
		take(*w.Dispatched)
	}
	if w.Ended != nil {
		take(*w.Ended)
	}
	if w.Assigned != nil {
		take(*w.Assigned)
	}
	if w.Owned != nil {
		take(*w.Owned)
	}
	if w.Disowned != nil {
		take(*w.Disowned)
	}
	if w.Guarded != nil {
		take(*w.Guarded)
	}
	if w.Applied != nil {
		take(*w.Applied)
	}
	if w.Futile != nil {
		take(*w.Futile)
	}
	if w.Ordered != nil {
		w.Ordered.ProvenTime = w.Ordered.ProvenTime.UTC()
		take(*w.Ordered)
	}
	if w.Event != nil {
		take(*w.Event)
	}
	if bodies != 1 {
		return nil, fmt.Errorf("got %d bodies in a record, want 1", bodies)
	}
	return body, nil
}

// encoded is one element of a payload's records.
type encoded struct {
	version int // the first that knows it
	json    []byte
}

func encodeBody(b Body) (encoded, error) {
	out, err := json.Marshal(toWire(b))
	if err != nil {
		return encoded{}, fmt.Errorf("encode %s: %w", b.kind(), err)
	}
	return encoded{versionOf(b), out}, nil
}

// payloadOf joins encoded bodies into a payload.
func payloadOf(bodies []encoded) []byte {
	version := 1
	for _, body := range bodies {
		version = max(version, body.version)
	}
	b := fmt.Appendf(nil, `{"v":%d,"records":[`, version)
	for i, body := range bodies {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, body.json...)
	}
	return append(b, "]}"...)
}

// decodePayload is strict: a payload that this version would not have written is an error.
func decodePayload(payload []byte) ([]Body, error) {
	var p wirePayload
	dec := json.NewDecoder(bytes.NewReader(payload))
	dec.DisallowUnknownFields()
	err := dec.Decode(&p)
	if p.Version > payloadVersion || err != nil && newerPayload(payload) {
		return nil, ErrNewerFormat
	}
	if err != nil {
		return nil, fmt.Errorf("decode records: %w", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("decode records: bytes follow the JSON value")
	}
	version := 1
	bodies := make([]Body, len(p.Records))
	for i, w := range p.Records {
		if bodies[i], err = fromWire(w); err != nil {
			return nil, fmt.Errorf("decode records: %w", err)
		}
		version = max(version, versionOf(bodies[i]))
	}
	if p.Version != version {
		return nil, fmt.Errorf("decode records: got version %d, want %d", p.Version, version)
	}
	return bodies, nil
}

// newerPayload asks a payload that does not decode for its version alone.
func newerPayload(payload []byte) bool {
	var v struct {
		Version int `json:"v"`
	}
	return json.Unmarshal(payload, &v) == nil && v.Version > payloadVersion
}
