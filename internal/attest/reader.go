package attest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"gitops-agent/gitsource"
)

// Source has envelopes about commits. They are not trusted.
type Source interface {
	envelopes(ctx context.Context, commit gitsource.ID) ([]envelope, error)
}

// envelope is a text that should be an envelope, and where it is from.
type envelope struct {
	where string
	text  []byte
}

// Reader finds what agents stated about commits. It is safe for concurrent use.
type Reader struct {
	Source Source
	Keys   Keys
}

// Attestation is a statement about a commit, or why it counts for nothing.
type Attestation struct {
	Cluster  string    `json:"cluster,omitempty"`
	Branch   string    `json:"branch,omitempty"`
	Time     time.Time `json:"convergedAt,omitzero"`
	Guests   int       `json:"guests,omitempty"`
	Observed string    `json:"observedState,omitempty"` // SHA-256
	Problem  string    `json:"problem,omitempty"`       // the other fields are empty then: nothing of an unproven statement is shown
}

// About returns the attestations about a commit, by cluster. Its error means that they could not be read.
func (r Reader) About(ctx context.Context, commit gitsource.ID) ([]Attestation, error) {
	envelopes, err := r.Source.envelopes(ctx, commit)
	if err != nil {
		return nil, err
	}
	var found []Attestation
	for _, e := range envelopes {
		a, err := r.read(ctx, commit, e.text)
		if err != nil {
			a = Attestation{Problem: fmt.Sprintf("%s: %v", e.where, err)}
		}
		found = append(found, a)
	}
	return found, nil
}

// errOtherCommit means that a statement was stored for another commit than the one that it is about.
var errOtherCommit = errors.New("the statement is about another commit")

func (r Reader) read(ctx context.Context, commit gitsource.ID, text []byte) (Attestation, error) {
	payload, err := r.Keys.verify(ctx, bytes.TrimSpace(text))
	if err != nil {
		return Attestation{}, err
	}
	s, err := parseConvergence(payload)
	if err != nil {
		return Attestation{}, err
	}
	if s.Subject[0].Digest[GitCommit] != string(commit) {
		return Attestation{}, errOtherCommit
	}
	p := s.Predicate
	return Attestation{Cluster: p.Cluster, Branch: p.Branch, Time: p.Time, Guests: p.Guests, Observed: p.Observed[digestOfState]}, nil
}
