package sigtest

import (
	"crypto/rand"
	"crypto/x509/pkix"
	"fmt"
	"sync"
	"time"
)

// Options describes a Sigstore. The zero value is a complete one with random keys.
type Options struct {
	// Name is the domain of the parts and the organization in their certificates. Default: "sigstore.test".
	Name string
	// Seed is the source of every key: equal seeds give equal keys. Default: random.
	Seed string
	// From and Until limit the validity of the first key of every part, both inclusive. Default: 2021-01-01 UTC, and no end.
	From, Until time.Time
	// CAKey is the kind of the certificate authority's keys: P384, the default, or P256.
	CAKey KeyType
	// RekorV2Key is the kind of the Rekor v2 log's keys: Ed25519, the default, or P256.
	RekorV2Key KeyType
	// Extensions are added to the certificates of authorities: "ca-root", "ca-intermediate" and "tsa-root".
	Extensions map[string][]pkix.Extension
}

// Part names one of the services that make up a Sigstore.
type Part string

// The parts, each with its own keys and windows.
const (
	CA      Part = "ca"       // certificate authority
	CTLog   Part = "ctlog"    // certificate transparency log
	RekorV1 Part = "rekor-v1" // transparency log that signs entry timestamps
	RekorV2 Part = "rekor-v2" // transparency log that signs checkpoints only
	TSA     Part = "tsa"      // timestamp authority
)

// Sigstore is a certificate authority, its logs and a timestamp authority. Create it with New or Load. Every method may be called from any
// goroutine.
type Sigstore struct {
	options Options

	mu      sync.Mutex // guards the slices and the windows of their elements
	cas     []*authority
	ctLogs  []*ctLog
	rekorV1 []*rekorLog
	rekorV2 []*rekorLog
	tsas    []*timestampAuthority
	online  []onlineEntry // of rekorV1, in the order of logging
}

// window is the time during which a key is valid, both ends inclusive; a zero end means no end.
type window struct {
	From  time.Time `json:"from"`
	Until time.Time `json:"until,omitzero"`
}

// New returns a Sigstore with one key for each part. It returns an error if the options name a kind of key that a part cannot have.
func New(opts Options) (*Sigstore, error) {
	if opts.Name == "" {
		opts.Name = "sigstore.test"
	}
	if opts.Seed == "" {
		opts.Seed = rand.Text()
	}
	if opts.From.IsZero() {
		opts.From = time.Date(2021, time.January, 1, 0, 0, 0, 0, time.UTC)
	}
	s := &Sigstore{options: opts}
	for _, part := range []Part{CA, CTLog, RekorV1, RekorV2, TSA} {
		if err := s.add(part, window{opts.From, opts.Until}); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// Rotate ends the validity of the current key of a part at a time. From then on the part signs with a new key, which is valid from that time
// without end. Signatures of the old key stay valid if they were made in its window. An unknown part panics.
func (s *Sigstore) Rotate(part Part, at time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.window(part).Until = at
	return s.add(part, window{From: at})
}

// Retire ends the validity of the current key of a part at a time, but the part continues to sign with it, as with a stolen key. An unknown
// part panics.
func (s *Sigstore) Retire(part Part, at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.window(part).Until = at
}

// window returns the window of the newest key of a part. The caller holds the lock.
func (s *Sigstore) window(part Part) *window {
	switch part {
	case CA:
		return &newest(s.cas).window
	case CTLog:
		return &newest(s.ctLogs).window
	case RekorV1:
		return &newest(s.rekorV1).window
	case RekorV2:
		return &newest(s.rekorV2).window
	case TSA:
		return &newest(s.tsas).window
	}
	panic("sigtest: unknown part " + string(part))
}

// add adds a new generation of a part. The caller holds the lock, or no other goroutine uses s yet.
func (s *Sigstore) add(part Part, w window) error {
	var err error
	switch part {
	case CA:
		s.cas, err = addGeneration(s.cas, s.source(part, len(s.cas)), w, newAuthority)
	case CTLog:
		s.ctLogs, err = addGeneration(s.ctLogs, s.source(part, len(s.ctLogs)), w, newCTLog)
	case RekorV1:
		s.rekorV1, err = addGeneration(s.rekorV1, s.source(part, len(s.rekorV1)), w, newRekorV1)
	case RekorV2:
		s.rekorV2, err = addGeneration(s.rekorV2, s.source(part, len(s.rekorV2)), w, newRekorV2)
	case TSA:
		s.tsas, err = addGeneration(s.tsas, s.source(part, len(s.tsas)), w, newTimestampAuthority)
	}
	if err != nil {
		return fmt.Errorf("add %s: %w", part, err)
	}
	return nil
}

// addGeneration appends the generation that build returns.
func addGeneration[T any](generations []T, src keySource, w window, build func(keySource, window) (T, error)) ([]T, error) {
	next, err := build(src, w)
	if err != nil {
		return generations, err
	}
	return append(generations, next), nil
}

func newest[T any](generations []T) T { return generations[len(generations)-1] }

// current returns the newest generation of one of the slices of s.
func current[T any](s *Sigstore, generations *[]T) T {
	s.mu.Lock()
	defer s.mu.Unlock()
	return newest(*generations)
}

// source returns the key source of one generation of a part.
func (s *Sigstore) source(part Part, generation int) keySource {
	return keySource{options: s.options, part: part, generation: generation}
}
