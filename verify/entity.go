package verify

import (
	"crypto/sha256"
	"encoding/asn1"
	"encoding/base64"
	"encoding/hex"
	"fmt"

	protocommon "github.com/sigstore/protobuf-specs/gen/pb-go/common/v1"
	protorekor "github.com/sigstore/protobuf-specs/gen/pb-go/rekor/v1"
	"github.com/sigstore/sigstore-go/pkg/bundle"
	"github.com/sigstore/sigstore-go/pkg/tlog"
	sigstore "github.com/sigstore/sigstore-go/pkg/verify"
	"github.com/sigstore/sigstore/pkg/cryptoutils"
)

// An entity is a signature in the form that sigstore-go verifies. It equals a bundle of version 0.3: one certificate, one
// message signature, one log entry with an inclusion proof, at most one timestamp.
type entity struct {
	leaf    *bundle.Certificate
	message *bundle.MessageSignature
	entry   *tlog.Entry
	tokens  [][]byte
	// stampers are the certificates in the timestamp token, as DER.
	stampers [][]byte
}

var _ sigstore.SignedEntity = entity{}

// newEntity builds the entity of s. The body of the log entry is not in the signature. newEntity rebuilds the body from
// the digest, the signature and the certificate, so a proof of the entry is a proof about exactly these three.
func newEntity(s signature) (entity, error) {
	logged, err := parseLogEntry(s.logEntry)
	if err != nil {
		return entity{}, err
	}
	digest := sha256.Sum256(s.signed)
	if logged.isV1 {
		body, err := bodyV1(digest, s)
		if err != nil {
			return entity{}, err
		}
		logged.CanonicalizedBody = body
		logged.KindVersion = &protorekor.KindVersion{Kind: entryKind, Version: versionV1}
	} else {
		logged.CanonicalizedBody = bodyV2(digest, s)
		logged.KindVersion = &protorekor.KindVersion{Kind: entryKind, Version: versionV2}
	}
	entry, err := tlog.ParseTransparencyLogEntry(logged.TransparencyLogEntry)
	if err != nil && !s.matchesCertificateKey() { // parsing a v1 entry verifies the signature in it
		return entity{}, refusal(ReasonBadSignature, err)
	}
	if err != nil {
		return entity{}, refuse(ReasonBadLogEntry, "entry: %w", err)
	}
	e := entity{
		leaf:    bundle.NewCertificate(s.leaf),
		message: bundle.NewMessageSignature(digest[:], protocommon.HashAlgorithm_SHA2_256.String(), s.value),
		entry:   entry,
	}
	if len(s.token) > 0 {
		if e.stampers, err = tokenCertificates(s.token); err != nil {
			return entity{}, err
		}
		e.tokens = [][]byte{timestampResponse(s.token)}
	}
	return e, nil
}

// The versions of a hashedrekord entry: that of Rekor v1, and that of Rekor v2.
const versionV1, versionV2 = "0.0.1", "0.0.2"

// bodyV1 is the canonical JSON of a hashedrekord 0.0.1 entry.
func bodyV1(digest [sha256.Size]byte, s signature) ([]byte, error) {
	certificate, err := cryptoutils.MarshalCertificateToPEM(s.leaf)
	if err != nil {
		return nil, fmt.Errorf("encode certificate: %w", err)
	}
	return fmt.Appendf(nil, `{"apiVersion":"0.0.1","kind":"hashedrekord","spec":{"data":{"hash":{"algorithm":"sha256","value":"%s"}},`+
		`"signature":{"content":"%s","publicKey":{"content":"%s"}}}}`,
		hex.EncodeToString(digest[:]), base64.StdEncoding.EncodeToString(s.value), base64.StdEncoding.EncodeToString(certificate)), nil
}

// bodyV2 is the canonical JSON of a hashedrekord 0.0.2 entry.
func bodyV2(digest [sha256.Size]byte, s signature) []byte {
	return fmt.Appendf(nil, `{"apiVersion":"0.0.2","kind":"hashedrekord","spec":{"hashedRekordV002":{"data":{"algorithm":"SHA2_256","digest":"%s"},`+
		`"signature":{"content":"%s","verifier":{"keyDetails":"PKIX_ECDSA_P256_SHA_256","x509Certificate":{"rawBytes":"%s"}}}}}}`,
		base64.StdEncoding.EncodeToString(digest[:]), base64.StdEncoding.EncodeToString(s.value), base64.StdEncoding.EncodeToString(s.leaf.Raw))
}

// timestampResponse wraps a TimeStampToken as a granted TimeStampResp, which sigstore-go parses. Source: RFC 3161, 2.4.2.
func timestampResponse(token []byte) []byte {
	granted := []byte{0x30, 0x03, 0x02, 0x01, 0x00}
	wrapped, err := asn1.Marshal(asn1.RawValue{
		Class: asn1.ClassUniversal, Tag: asn1.TagSequence, IsCompound: true, Bytes: append(granted, token...),
	})
	if err != nil {
		return nil // not reached: this raw value always marshals
	}
	return wrapped
}

func (e entity) HasInclusionPromise() bool { return e.entry.HasInclusionPromise() }

func (e entity) HasInclusionProof() bool { return e.entry.HasInclusionProof() }

func (e entity) SignatureContent() (sigstore.SignatureContent, error) { return e.message, nil }

func (e entity) Timestamps() ([][]byte, error) { return e.tokens, nil }

func (e entity) TlogEntries() ([]*tlog.Entry, error) { return []*tlog.Entry{e.entry}, nil }

func (e entity) VerificationContent() (sigstore.VerificationContent, error) { return e.leaf, nil }

func (e entity) Version() (string, error) { return "v0.3", nil }
