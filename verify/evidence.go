package verify

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"

	protobundle "github.com/sigstore/protobuf-specs/gen/pb-go/bundle/v1"
	protocommon "github.com/sigstore/protobuf-specs/gen/pb-go/common/v1"
	protorekor "github.com/sigstore/protobuf-specs/gen/pb-go/rekor/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"gitops-agent/gitsource"
)

const (
	// MaxEvidence is the largest accepted evidence about one object, in bytes. A bundle has about 5,000.
	MaxEvidence = 64 << 10
	// maxBundles is how many bundles the evidence about one object may have.
	maxBundles = 8
	// BundleType is the media type of the accepted bundles.
	BundleType = "application/vnd.dev.sigstore.bundle.v0.3+json"
)

// Evidence holds what a transparency log knows of objects that gitsign signed in its online mode, which writes nothing of the log into the object. What
// it returns is not trusted: it is verified like the log entry in a signature.
type Evidence interface {
	// Bundles returns Sigstore bundles about an object, one JSON document on each line, or nothing if there are none. An error means that they
	// could not be read.
	Bundles(ctx context.Context, id gitsource.ID) ([]byte, error)
}

// WithEvidence returns the policy with evidence about objects that were signed in gitsign's online mode. A source is asked only if those before it do not
// prove the object. Without a source such objects are refused.
func (p *Policy) WithEvidence(sources ...Evidence) *Policy {
	changed := *p
	changed.prover = p.prover.withEvidence(sources)
	return &changed
}

// WithEvidence returns the identifier with evidence about objects that were signed in gitsign's online mode, as Policy.WithEvidence does.
func (i *Identifier) WithEvidence(sources ...Evidence) *Identifier {
	return &Identifier{i.prover.withEvidence(sources)}
}

func (p *prover) withEvidence(sources []Evidence) *prover {
	changed := *p
	changed.evidence = sources
	return &changed
}

// proveOnline verifies an object whose signature s has no log entry. In the online mode, gitsign signs and logs the id of the object as text, with the
// key of s. So two signatures are verified: s is about the content of the object, and the logged one proves the time, and that the certificate of
// both was valid then. The evidence is of the first source that has a valid bundle.
func (p *prover) proveOnline(ctx context.Context, id gitsource.ID, s signature) (proof, error) {
	switch {
	case p.timestamps == TimestampRequired:
		return proof{}, refuse(ReasonOnlineOnly, "signed in gitsign's online mode, and timestamps are required, which evidence does not have")
	case len(p.evidence) == 0:
		return proof{}, refuse(ReasonOnlineOnly, "signed in gitsign's online mode, which cannot be verified offline without evidence")
	case !s.matchesCertificateKey():
		return proof{}, refuse(ReasonBadSignature, "the key of the certificate did not make the signature of the object")
	}
	refused := refusal(ReasonEvidenceMissing, nil)
	for _, source := range p.evidence {
		proven, err := p.proveFrom(ctx, source, id, s)
		switch {
		case err == nil:
			return proven, nil
		case !isRefusal(err):
			return proof{}, err
		case IsMissingEvidence(refused):
			refused = err
		}
	}
	return proof{}, refused
}

// IsMissingEvidence reports whether an error is the refusal of an object of gitsign's online mode about which there is no evidence, which may still come.
func IsMissingEvidence(err error) bool {
	var rejected *RejectedError
	return errors.As(err, &rejected) && rejected.Reason == ReasonEvidenceMissing
}

// proveFrom verifies an object with the evidence of one source. Of several valid bundles the one with the earliest time counts: the others say that the
// signature was logged again.
func (p *prover) proveFrom(ctx context.Context, source Evidence, id gitsource.ID, s signature) (proof, error) {
	text, err := source.Bundles(ctx, id)
	if err != nil {
		return proof{}, fmt.Errorf("read evidence of %s: %w", id, err)
	}
	bundles, err := splitBundles(text)
	if err != nil {
		return proof{}, err
	}
	var earliest proof
	var first error
	for _, raw := range bundles {
		proven, err := p.proveBundle(id, s, raw)
		switch {
		case err != nil && first == nil:
			first = err
		case err == nil && (earliest.evidence == nil || proven.provenTime.Before(earliest.provenTime)):
			earliest = proven
		}
	}
	if earliest.evidence == nil {
		return proof{}, first
	}
	return earliest, nil
}

// splitBundles returns the bundles in the evidence about one object.
func splitBundles(text []byte) ([][]byte, error) {
	if len(text) > MaxEvidence {
		return nil, refuse(ReasonBadEvidence, "got %d bytes, want at most %d", len(text), MaxEvidence)
	}
	var bundles [][]byte
	for line := range bytes.Lines(text) {
		if line = bytes.TrimSpace(line); len(line) > 0 {
			bundles = append(bundles, line)
		}
	}
	if len(bundles) == 0 {
		return nil, refusal(ReasonEvidenceMissing, nil)
	}
	if len(bundles) > maxBundles {
		return nil, refuse(ReasonBadEvidence, "got %d bundles, want at most %d", len(bundles), maxBundles)
	}
	return bundles, nil
}

// proveBundle verifies one bundle about an object with the signature s.
func (p *prover) proveBundle(id gitsource.ID, s signature, raw []byte) (proof, error) {
	logged, body, err := parseBundle(raw, id, s)
	if err != nil {
		return proof{}, err
	}
	e, err := newEntity(logged)
	if err != nil {
		return proof{}, asEvidence(err)
	}
	// The body is rebuilt, so that the proof is about this id, signature and certificate. A bundle with another one was altered.
	if !bytes.Equal(body, e.entry.TransparencyLogEntry().GetCanonicalizedBody()) {
		return proof{}, refuse(ReasonBadEvidence, "the log entry is about another object, signature or certificate")
	}
	proven, err := p.verify(logged, e)
	if err != nil {
		return proof{}, asEvidence(err)
	}
	proven.evidence = raw
	return proven, nil
}

// parseBundle reads a bundle about an object with the signature s. It returns the logged signature, with the log entry in the form that signatures
// contain, and the body of the entry. It verifies no cryptography.
func parseBundle(raw []byte, id gitsource.ID, s signature) (logged signature, body []byte, err error) {
	var b protobundle.Bundle
	if err := protojson.Unmarshal(raw, &b); err != nil {
		return signature{}, nil, refuse(ReasonBadEvidence, "not a Sigstore bundle: %w", err)
	}
	message, material := b.GetMessageSignature(), b.GetVerificationMaterial()
	digest := sha256.Sum256([]byte(id))
	switch {
	case b.GetMediaType() != BundleType:
		return signature{}, nil, refuse(ReasonBadEvidence, "got media type %.80q, want %s", b.GetMediaType(), BundleType)
	case !bytes.Equal(material.GetCertificate().GetRawBytes(), s.leaf.Raw):
		return signature{}, nil, refuse(ReasonBadEvidence, "the certificate is not that of the object's signature")
	case message.GetMessageDigest().GetAlgorithm() != protocommon.HashAlgorithm_SHA2_256 || !bytes.Equal(message.GetMessageDigest().GetDigest(), digest[:]):
		return signature{}, nil, refuse(ReasonBadEvidence, "the bundle is about another object")
	case len(material.GetTlogEntries()) != 1:
		return signature{}, nil, refuse(ReasonBadEvidence, "got %d log entries, want 1", len(material.GetTlogEntries()))
	case len(material.GetTimestampVerificationData().GetRfc3161Timestamps()) != 0:
		return signature{}, nil, refuse(ReasonBadEvidence, "got timestamps, want the time of the log only")
	}
	entry := material.GetTlogEntries()[0]
	body = entry.GetCanonicalizedBody()
	encoded, err := encodeEntry(entry)
	return signature{leaf: s.leaf, signed: []byte(id), value: message.GetSignature(), logEntry: encoded}, body, err
}

// encodeEntry returns a log entry in the form that signatures contain: without its body.
func encodeEntry(entry *protorekor.TransparencyLogEntry) ([]byte, error) {
	bare := &protorekor.TransparencyLogEntry{
		LogIndex: entry.GetLogIndex(), LogId: entry.GetLogId(), KindVersion: entry.GetKindVersion(), IntegratedTime: entry.GetIntegratedTime(),
		InclusionPromise: entry.GetInclusionPromise(), InclusionProof: entry.GetInclusionProof(),
	}
	encoded, err := proto.MarshalOptions{Deterministic: true}.Marshal(bare)
	if err != nil {
		return nil, fmt.Errorf("encode log entry: %w", err)
	}
	return encoded, nil
}

// asEvidence says in a refusal that it is about the evidence and not about the signature of the object. A form that is refused in a signature is
// the fault of the evidence.
func asEvidence(err error) error {
	var rejected *RejectedError
	if !errors.As(err, &rejected) {
		return err
	}
	about := *rejected
	if rejected.Reason == ReasonMalformedSignature {
		about.Reason, about.Hint = ReasonBadEvidence, ReasonBadEvidence.Hint()
	}
	about.Err = fmt.Errorf("evidence: %w", rejected.Err)
	return &about
}

// OnlineCertificate returns the certificate, as DER, of a commit or an annotated tag that gitsign signed in its online mode, and nil for every other one,
// which needs no evidence. It verifies nothing.
func OnlineCertificate(ctx context.Context, repo *gitsource.Repository, id gitsource.ID) ([]byte, error) {
	o, err := readCommit(ctx, repo, id)
	var rejected *RejectedError
	if errors.As(err, &rejected) && rejected.Reason == ReasonIncompleteHistory {
		o, err = readTag(ctx, repo, id)
	}
	switch {
	case isRefusal(err):
		return nil, nil
	case err != nil:
		return nil, err
	}
	der, err := unarmor(o.signature)
	if err != nil {
		return nil, nil //nolint:nilerr // not signed by gitsign
	}
	s, err := parseSignature(der)
	if err != nil || len(s.logEntry) > 0 {
		return nil, nil //nolint:nilerr // see above
	}
	return s.leaf.Raw, nil
}
