package journal

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
)

// A payload is the JSON in a frame: {"v":3,"records":[{"begun":{...}},{"ended":{...}}]}, the bodies that became durable together. Each
// element has one key, the name of the kind.
//
// The version v is the lowest one that contains every kind, and every field that is set, in the payload. A new kind or a new field needs a new version: a release
// that cannot read a fact must not act as if the fact did not exist. With the lowest version, an older release can read the journal
// until the journal holds something that the release does not support.

// element is one encoded element of a payload's records.
type element struct {
	version int // that the body needs
	json    []byte
}

func encodeBody(b Body) (element, error) {
	k := kindOf(b)
	body, err := json.Marshal(b)
	if err != nil {
		return element{}, fmt.Errorf("encode %s: %w", k.name, err)
	}
	return element{k.needs(b), underName(k, body)}, nil
}

// underName returns an encoded body under the name of its kind.
func underName(k *kind, body []byte) []byte {
	out := make([]byte, 0, len(k.name)+len(body)+len(`{"":}`))
	out = fmt.Appendf(out, `{"%s":`, k.name)
	out = append(out, body...)
	return append(out, '}')
}

// payloadOf joins elements to a payload.
func payloadOf(elements []element) []byte {
	version, size := 1, payloadRoom
	for _, e := range elements {
		version = max(version, e.version)
		size += len(e.json) + 1
	}
	b := fmt.Appendf(make([]byte, 0, size), `{"v":%d,"records":[`, version)
	for i, e := range elements {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, e.json...)
	}
	return append(b, "]}"...)
}

// payloadRoom is more than the bytes of a payload outside its elements.
const payloadRoom = 64

// decodePayload returns the bodies of a payload. It is strict: a payload that no release would have written is an error.
func decodePayload(payload []byte) ([]Body, error) {
	bodies, err := decodeRecords(payload)
	if err == nil {
		return bodies, nil
	}
	if newerPayload(payload) {
		return nil, ErrNewerFormat
	}
	return nil, fmt.Errorf("decode records: %w", err)
}

// decodeRecords reads the elements one by one. Its memory is at most a small multiple of the payload for any content.
func decodeRecords(payload []byte) ([]Body, error) {
	dec := json.NewDecoder(bytes.NewReader(payload))
	dec.DisallowUnknownFields()
	if err := expect(dec, json.Delim('{'), "v"); err != nil {
		return nil, err
	}
	var version int
	if err := dec.Decode(&version); err != nil {
		return nil, err
	}
	if err := expect(dec, "records", json.Delim('[')); err != nil {
		return nil, err
	}
	var bodies []Body
	lowest, firewalls := 1, firewallsBefore{}
	for dec.More() {
		k, body, err := decodeElement(dec)
		if err != nil {
			return nil, err
		}
		body, needs, err := firewalls.whole(k, body)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", k.name, err)
		}
		bodies = append(bodies, body)
		lowest = max(lowest, needs)
	}
	if err := expect(dec, json.Delim(']'), json.Delim('}')); err != nil {
		return nil, err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("bytes follow the JSON value")
	}
	if version != lowest {
		return nil, fmt.Errorf("got version %d, want %d", version, lowest)
	}
	return bodies, nil
}

// decodeElement reads one body under the name of its kind.
func decodeElement(dec *json.Decoder) (*kind, Body, error) {
	if err := expect(dec, json.Delim('{')); err != nil {
		return nil, nil, err
	}
	name, err := dec.Token()
	if err != nil {
		return nil, nil, err
	}
	text, _ := name.(string)
	k := kindByName[text]
	if k == nil {
		return nil, nil, fmt.Errorf("got %v, want the name of a kind of record", name)
	}
	body, err := k.decode(dec)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", k.name, err)
	}
	return k, body, expect(dec, json.Delim('}'))
}

// expect reads the given tokens: delimiters, and keys as strings.
func expect(dec *json.Decoder, want ...json.Token) error {
	for _, w := range want {
		got, err := dec.Token()
		if err != nil {
			return err
		}
		if got != w {
			return fmt.Errorf("got %v, want %v", got, w)
		}
	}
	return nil
}

// newerPayload reports whether a payload has a version of a newer release.
func newerPayload(payload []byte) bool {
	var v struct {
		Version int `json:"v"`
	}
	return json.Unmarshal(payload, &v) == nil && v.Version > payloadVersion
}

// MarshalJSON writes seq, time, and the body as in the journal: under the name of its kind.
func (r Record) MarshalJSON() ([]byte, error) {
	head, err := json.Marshal(struct {
		Seq  uint64    `json:"seq"`
		Time time.Time `json:"time"`
	}{r.Seq, r.Time})
	if err != nil {
		return nil, fmt.Errorf("encode record %d: %w", r.Seq, err)
	}
	body, err := encodeBody(r.Body)
	if err != nil {
		return nil, fmt.Errorf("encode record %d: %w", r.Seq, err)
	}
	return append(append(head[:len(head)-1], ','), body.json[1:]...), nil
}
