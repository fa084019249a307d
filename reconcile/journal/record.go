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
// guarded, ordered or event.
func (r Record) Kind() string { return r.Body.kind() }

// MarshalJSON writes the record as it stands in the journal: seq, time, and the body under the name of its kind.
func (r Record) MarshalJSON() ([]byte, error) { return json.Marshal(toWire(r)) }

// payloadVersion is that of the JSON inside a frame. A new kind or a new field is a new version: an agent that does not
// know a fact must not act as if it were not there.
const payloadVersion = 1

// ErrNewerFormat says that a newer release wrote this journal. Nothing was changed.
var ErrNewerFormat = errors.New("journal was written by a newer gitops-agent: run that release, or restore the state directory kept from before the upgrade")

// wireCommit is a frame's payload: the records that became durable together.
type wireCommit struct {
	Version int          `json:"v"`
	Records []wireRecord `json:"records"`
}

// wireRecord has exactly one body set. One struct for all kinds lets a payload be decoded in one strict pass.
type wireRecord struct {
	Seq        uint64      `json:"seq"`
	Time       time.Time   `json:"time"`
	Accepted   *Accepted   `json:"accepted,omitempty"`
	Begun      *Begun      `json:"begun,omitempty"`
	Dispatched *Dispatched `json:"dispatched,omitempty"`
	Ended      *Ended      `json:"ended,omitempty"`
	Assigned   *Assigned   `json:"assigned,omitempty"`
	Owned      *Owned      `json:"owned,omitempty"`
	Disowned   *Disowned   `json:"disowned,omitempty"`
	Guarded    *Guarded    `json:"guarded,omitempty"`
	Ordered    *Ordered    `json:"ordered,omitempty"`
	Event      *Event      `json:"event,omitempty"`
}

func toWire(r Record) wireRecord {
	w := wireRecord{Seq: r.Seq, Time: r.Time}
	switch b := r.Body.(type) {
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
	case Ordered:
		w.Ordered = &b
	case Event:
		w.Event = &b
	}
	return w
}

// fromWire refuses a record with no body or with several: neither was ever written.
func fromWire(w wireRecord) (Record, error) {
	r := Record{Seq: w.Seq, Time: w.Time.UTC()}
	bodies := 0
	take := func(b Body) { r.Body = b; bodies++ }
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
	if w.Ordered != nil {
		w.Ordered.ProvenTime = w.Ordered.ProvenTime.UTC()
		take(*w.Ordered)
	}
	if w.Event != nil {
		take(*w.Event)
	}
	if bodies != 1 {
		return Record{}, fmt.Errorf("decode record %d: got %d bodies, want 1", w.Seq, bodies)
	}
	return r, nil
}

func encodeCommit(records []Record) ([]byte, error) {
	c := wireCommit{Version: payloadVersion, Records: make([]wireRecord, len(records))}
	for i, r := range records {
		c.Records[i] = toWire(r)
	}
	b, err := json.Marshal(c)
	if err != nil {
		return nil, fmt.Errorf("encode records: %w", err)
	}
	return b, nil
}

func decodeCommit(payload []byte) ([]Record, error) {
	var c wireCommit
	dec := json.NewDecoder(bytes.NewReader(payload))
	dec.DisallowUnknownFields()
	err := dec.Decode(&c)
	if c.Version > payloadVersion || err != nil && newerPayload(payload) {
		return nil, ErrNewerFormat
	}
	if err != nil {
		return nil, fmt.Errorf("decode records: %w", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("decode records: bytes follow the JSON value")
	}
	if c.Version != payloadVersion || len(c.Records) == 0 {
		return nil, fmt.Errorf("decode records: got version %d with %d records", c.Version, len(c.Records))
	}
	records := make([]Record, len(c.Records))
	for i, w := range c.Records {
		if records[i], err = fromWire(w); err != nil {
			return nil, err
		}
	}
	return records, nil
}

// newerPayload asks a payload that does not decode for its version alone.
func newerPayload(payload []byte) bool {
	var v struct {
		Version int `json:"v"`
	}
	return json.Unmarshal(payload, &v) == nil && v.Version > payloadVersion
}
