package verify

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"time"

	"github.com/sigstore/sigstore-go/pkg/fulcio/certificate"
	"github.com/sigstore/sigstore-go/pkg/tlog"
	sigstore "github.com/sigstore/sigstore-go/pkg/verify"

	"gitops-agent/gitsource"
)

// A proof states that the holder of this certificate signed this object at this time. It does not state that the holder
// may sign. The policy decides that when it matches the proof with its signers.
type proof struct {
	certificate certificate.Summary
	fingerprint [sha256.Size]byte // of the certificate's DER
	provenTime  time.Time
	logIndex    int64  // index of the entry in the transparency log
	log         string // address of the transparency log
	evidence    []byte // the bundle that proved it; nil if the log entry is in the signature
}

// A prover verifies signatures in a fixed sequence of steps. It is immutable and safe for concurrent use.
type prover struct {
	root       *trustedRoot
	verifier   *sigstore.Verifier
	timestamps TimestampRule
	evidence   []Evidence // about objects without a log entry, in the order in which they are asked
}

func newProver(tr *trustedRoot, timestamps TimestampRule) (*prover, error) {
	options := []sigstore.VerifierOption{
		sigstore.WithTransparencyLog(1),
		sigstore.WithObserverTimestamps(1),
		sigstore.WithSignedCertificateTimestamps(1),
	}
	if timestamps == TimestampRequired {
		options = append(options, sigstore.WithSignedTimestamps(1))
	}
	verifier, err := sigstore.NewVerifier(tr, options...)
	if err != nil {
		return nil, fmt.Errorf("make verifier: %w", err)
	}
	return &prover{root: tr, verifier: verifier, timestamps: timestamps}, nil
}

// prove verifies the signature of o offline, from the bytes of o, the evidence and the trusted root. The id is that of o. It checks the form of the signature
// first, then that the signature is about the content of o, and then lets sigstore-go check the rest. docs/verify.md
// describes the sequence.
func (p *prover) prove(ctx context.Context, id gitsource.ID, o object) (proof, error) {
	der, err := unarmor(o.signature)
	if err != nil {
		return proof{}, err
	}
	s, err := parseSignature(der)
	if err != nil {
		return proof{}, err
	}
	if content := o.digest(); content != s.content {
		return proof{}, refuse(ReasonContentMismatch, "signed content has SHA-256 %x, this object has %x", s.content[:6], content[:6])
	}
	if len(s.logEntry) == 0 {
		return p.proveOnline(ctx, id, s)
	}
	e, err := newEntity(s)
	if err != nil {
		return proof{}, err
	}
	return p.verify(s, e)
}

// verify calls sigstore-go to verify e. It does not compare identities: the policy compares the certificate verified here
// with several signers, each with its own time.
func (p *prover) verify(s signature, e entity) (proof, error) {
	result, err := p.verifier.Verify(e, sigstore.NewPolicy(sigstore.WithArtifact(bytes.NewReader(s.signed)), sigstore.WithoutIdentitiesUnsafe()))
	if err != nil {
		return proof{}, p.explain(s, e, err)
	}
	if err := p.checkMarker(s.leaf); err != nil {
		return proof{}, err
	}
	if err := p.checkTimestamp(e, result.VerifiedTimestamps); err != nil {
		return proof{}, err
	}
	entry := e.entry.TransparencyLogEntry()
	proven := proof{
		certificate: *result.Signature.Certificate,
		fingerprint: sha256.Sum256(s.leaf.Raw),
		provenTime:  result.VerifiedTimestamps[0].Timestamp.UTC(),
		logIndex:    entry.GetLogIndex(),
	}
	log, trusted := p.logAt(e, proven.provenTime)
	if !trusted {
		return proof{}, refuse(ReasonUntrustedLog, "%s", p.whyUntrusted(e, proven.provenTime))
	}
	proven.log = log
	return proven, nil
}

// checkTimestamp refuses a timestamp token that was not verified, or that contains other certificates than those of the trusted authorities. sigstore-go
// ignores both if the log proves the time, and then anyone could add such a token to a signature, or change it.
func (p *prover) checkTimestamp(e entity, verified []sigstore.TimestampVerificationResult) error {
	isStamp := func(t sigstore.TimestampVerificationResult) bool { return t.Type == "TimestampAuthority" }
	if len(e.tokens) > 0 && !slices.ContainsFunc(verified, isStamp) {
		return refuse(ReasonUntrustedTimestamp, "no authority of the trusted root made the timestamp of this signature")
	}
	for i, der := range e.stampers {
		isSame := func(other []byte) bool { return bytes.Equal(other, der) }
		if !slices.ContainsFunc(p.root.stampers, isSame) || slices.ContainsFunc(e.stampers[:i], isSame) {
			return refuse(ReasonUntrustedTimestamp, "certificate %d in the timestamp is not one of its authority, or occurs twice", i+1)
		}
	}
	return nil
}

// logAt returns the address of the log that e comes from, and whether the trusted root trusts that log at the given time.
// This check is needed for entries without a time of their own, as in Rekor v2: sigstore-go does not compare these with
// the log's validity period.
func (p *prover) logAt(e entity, at time.Time) (string, bool) {
	id := hex.EncodeToString([]byte(e.entry.LogKeyID()))
	log, known := p.root.RekorLogs()[id]
	if !known {
		return id, false
	}
	inside := !at.Before(log.ValidityPeriodStart) && (log.ValidityPeriodEnd.IsZero() || !at.After(log.ValidityPeriodEnd))
	return log.BaseURL, inside
}

// explain finds the reason of a failed verification by running its steps separately. It only selects the reason: it
// returns a refusal even if no step fails alone.
func (p *prover) explain(s signature, e entity, cause error) error {
	if !s.matchesCertificateKey() {
		return refusal(ReasonBadSignature, cause)
	}
	integrated := e.entry.IntegratedTime()
	if _, trusted := p.logAt(e, integrated); !trusted && (!integrated.IsZero() || !p.hasLog(e)) {
		return refusal(ReasonUntrustedLog, fmt.Errorf("%w: %s", cause, p.whyUntrusted(e, integrated)))
	}
	if e.HasInclusionPromise() && tlog.VerifySET(e.entry, p.root.RekorLogs()) != nil {
		return refusal(ReasonBadLogEntry, cause)
	}
	if !integrated.IsZero() && !e.leaf.ValidAtTime(integrated, p.root) {
		return refusal(ReasonExpiredCertificate, cause)
	}
	logged, err := p.verifier.VerifyTransparencyLogInclusion(e)
	if err != nil {
		return refusal(ReasonBadLogEntry, cause)
	}
	times, err := p.verifier.VerifyObserverTimestamps(e, logged)
	if err != nil {
		return p.explainTime(len(logged), cause)
	}
	return p.explainCertificate(e, times, cause)
}

// whyUntrusted says why the log of e is not trusted at a time, and what helps.
func (p *prover) whyUntrusted(e entity, at time.Time) string {
	id := hex.EncodeToString([]byte(e.entry.LogKeyID()))
	why := "the trusted root has no log with the key " + id
	if log, known := p.root.RekorLogs()[id]; known {
		edge, limit := "until", log.ValidityPeriodEnd
		if at.Before(log.ValidityPeriodStart) {
			edge, limit = "only from", log.ValidityPeriodStart
		}
		why = "the trusted root has the key of " + log.BaseURL + " " + edge + " " + stamp(limit) + ", and the entry is of " + stamp(at)
	}
	return why + "; a newer one may have the right key: " + MakeRoot
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// hasLog reports whether the trusted root contains the log of e at any time.
func (p *prover) hasLog(e entity) bool {
	_, known := p.root.RekorLogs()[hex.EncodeToString([]byte(e.entry.LogKeyID()))]
	return known
}

// explainTime returns the reason if no trusted time was found; logged is the number of verified log entries.
func (p *prover) explainTime(logged int, cause error) error {
	if logged > 0 {
		return refusal(ReasonNoTimestamp, cause)
	}
	return refusal(ReasonNoTrustedTime, cause)
}

// explainCertificate returns the reason if the log entry and the times are valid.
func (p *prover) explainCertificate(e entity, times []sigstore.TimestampVerificationResult, cause error) error {
	leaf := e.leaf.Certificate()
	for _, t := range times {
		if !e.leaf.ValidAtTime(t.Timestamp, p.root) {
			return refusal(ReasonExpiredCertificate, cause)
		}
		chains, err := sigstore.VerifyLeafCertificate(t.Timestamp, leaf, p.root)
		if err != nil {
			return refusal(ReasonUntrustedCertificate, cause)
		}
		if err := sigstore.VerifySignedCertificateTimestamp(chains, 1, p.root); err != nil {
			return refusal(ReasonNoCertificateLog, cause)
		}
	}
	return refusal(ReasonBadSignature, cause)
}
