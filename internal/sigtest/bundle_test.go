package sigtest_test

import (
	"bytes"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"math/big"
	"testing"

	"gitops-agent/internal/sigtest"

	bundlepb "github.com/sigstore/protobuf-specs/gen/pb-go/bundle/v1"
	commonpb "github.com/sigstore/protobuf-specs/gen/pb-go/common/v1"
	rekorpb "github.com/sigstore/protobuf-specs/gen/pb-go/rekor/v1"
	"github.com/sigstore/sigstore-go/pkg/bundle"
	"github.com/sigstore/sigstore-go/pkg/root"
	"github.com/sigstore/sigstore-go/pkg/verify"
	"google.golang.org/protobuf/proto"
)

// cms is the structure of the messages that gitsign writes. It is declared a second time, so that the encoder is not checked against itself.
type cms struct {
	Type    asn1.ObjectIdentifier
	Content struct {
		Version          int
		DigestAlgorithms []pkix.AlgorithmIdentifier `asn1:"set"`
		Content          struct {
			Type  asn1.ObjectIdentifier
			Value asn1.RawValue `asn1:"optional"`
		}
		Certificates []asn1.RawValue `asn1:"set,tag:0"`
		Signers      []struct {
			Version            int
			SID                struct{ Issuer, Serial asn1.RawValue }
			Digest             pkix.AlgorithmIdentifier
			Signed             []cmsAttribute `asn1:"set,tag:0"`
			SignatureAlgorithm pkix.AlgorithmIdentifier
			Signature          []byte
			Unsigned           []cmsAttribute `asn1:"set,optional,tag:1"`
		} `asn1:"set"`
	} `asn1:"explicit,tag:0"`
}

type cmsAttribute struct {
	Type   asn1.ObjectIdentifier
	Values []asn1.RawValue `asn1:"set"`
}

// parseArmor parses an armored message, which must be the canonical encoding of its content.
func parseArmor(t *testing.T, armored []byte) cms {
	t.Helper()
	block, rest := pem.Decode(armored)
	if block == nil || block.Type != "SIGNED MESSAGE" || len(rest) > 0 {
		t.Fatalf("got armor %q, want one SIGNED MESSAGE block", armored)
	}
	if got := pem.EncodeToMemory(block); !bytes.Equal(got, armored) {
		t.Fatalf("got armor %q, want its canonical form %q", armored, got)
	}
	var out cms
	rest, err := asn1.Unmarshal(block.Bytes, &out)
	if err != nil || len(rest) > 0 {
		t.Fatalf("parse message: %v, %d bytes left", err, len(rest))
	}
	if len(out.Content.Signers) != 1 {
		t.Fatalf("got %d signers, want 1", len(out.Content.Signers))
	}
	return out
}

// unsigned returns the values of the unsigned attributes of a type.
func (c cms) unsigned(oid asn1.ObjectIdentifier) [][]byte {
	var out [][]byte
	for _, a := range c.Content.Signers[0].Unsigned {
		if a.Type.Equal(oid) {
			out = append(out, a.Values[0].FullBytes)
		}
	}
	return out
}

// signedAttrs returns the bytes that the signer signed.
func (c cms) signedAttrs(t *testing.T) []byte {
	t.Helper()
	der, err := asn1.MarshalWithParams(c.Content.Signers[0].Signed, "set")
	if err != nil {
		t.Fatalf("encode signed attributes: %v", err)
	}
	return der
}

// Bodies of log entries, as text and not as the structures that the log encodes.
const (
	bodyV1 = `{"apiVersion":"0.0.1","kind":"hashedrekord","spec":{"data":{"hash":{"algorithm":"sha256","value":"%x"}},` +
		`"signature":{"content":"%s","publicKey":{"content":"%s"}}}}`
	bodyV2 = `{"apiVersion":"0.0.2","kind":"hashedrekord","spec":{"hashedRekordV002":{"data":{"algorithm":"SHA2_256","digest":"%s"},` +
		`"signature":{"content":"%s","verifier":{"keyDetails":"PKIX_ECDSA_P256_SHA_256","x509Certificate":{"rawBytes":"%s"}}}}}}`
)

// entry returns the log entry with the body that belongs to the message.
func (c cms) entry(t *testing.T, part sigtest.Part) []*rekorpb.TransparencyLogEntry {
	t.Helper()
	entry := rawEntry(t, c)
	if entry == nil {
		return nil
	}
	if len(entry.CanonicalizedBody) > 0 {
		t.Errorf("got a canonical body in the message, want none")
	}
	b64 := base64.StdEncoding.EncodeToString
	digest := sha256.Sum256(c.signedAttrs(t))
	signature, certificate := c.Content.Signers[0].Signature, c.Content.Certificates[0].FullBytes
	if part == sigtest.RekorV2 {
		entry.KindVersion.Version = "0.0.2"
		entry.CanonicalizedBody = fmt.Appendf(nil, bodyV2, b64(digest[:]), b64(signature), b64(certificate))
	} else {
		key := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate})
		entry.CanonicalizedBody = fmt.Appendf(nil, bodyV1, digest, b64(signature), b64(key))
	}
	return []*rekorpb.TransparencyLogEntry{entry}
}

// rawEntry returns the log entry in the message, or nil.
func rawEntry(t *testing.T, c cms) *rekorpb.TransparencyLogEntry {
	t.Helper()
	values := c.unsigned(asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 57264, 3, 1})
	if len(values) == 0 {
		return nil
	}
	var raw []byte
	if _, err := asn1.Unmarshal(values[0], &raw); err != nil {
		t.Fatalf("parse entry attribute: %v", err)
	}
	entry := new(rekorpb.TransparencyLogEntry)
	if err := proto.Unmarshal(raw, entry); err != nil {
		t.Fatalf("parse entry: %v", err)
	}
	return entry
}

// timestamps returns the tokens, each wrapped in a response that grants it.
func (c cms) timestamps(t *testing.T) []*commonpb.RFC3161SignedTimestamp {
	t.Helper()
	var out []*commonpb.RFC3161SignedTimestamp
	for _, token := range c.unsigned(asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 9, 16, 2, 14}) {
		der, err := asn1.Marshal(struct {
			Status struct{ Status int }
			Token  asn1.RawValue
		}{Token: asn1.RawValue{FullBytes: token}})
		if err != nil {
			t.Fatalf("encode timestamp response: %v", err)
		}
		out = append(out, &commonpb.RFC3161SignedTimestamp{SignedTimestamp: der})
	}
	return out
}

// verifyArmored has sigstore-go verify a message as a bundle: certificate chain, certificate timestamp, log entry, timestamp tokens and
// signature. It checks only one thing itself, because sigstore-go cannot: that the message is about the payload.
func verifyArmored(t *testing.T, trusted *sigtest.Sigstore, payload, armored []byte, part sigtest.Part, demand ...verify.VerifierOption) (*verify.VerificationResult, error) {
	t.Helper()
	message := parseArmor(t, armored)
	if err := checkSigner(message, payload); err != nil {
		return nil, err
	}
	digest := sha256.Sum256(message.signedAttrs(t))
	b, err := bundle.NewBundle(&bundlepb.Bundle{
		MediaType: "application/vnd.dev.sigstore.bundle.v0.3+json",
		VerificationMaterial: &bundlepb.VerificationMaterial{
			Content: &bundlepb.VerificationMaterial_Certificate{
				Certificate: &commonpb.X509Certificate{RawBytes: message.Content.Certificates[0].FullBytes},
			},
			TlogEntries:               message.entry(t, part),
			TimestampVerificationData: &bundlepb.TimestampVerificationData{Rfc3161Timestamps: message.timestamps(t)},
		},
		Content: &bundlepb.Bundle_MessageSignature{MessageSignature: &commonpb.MessageSignature{
			MessageDigest: &commonpb.HashOutput{Algorithm: commonpb.HashAlgorithm_SHA2_256, Digest: digest[:]},
			Signature:     message.Content.Signers[0].Signature,
		}},
	})
	if err != nil {
		return nil, err
	}
	demand = append(demand, verify.WithTransparencyLog(1), verify.WithObserverTimestamps(1), verify.WithSignedCertificateTimestamps(1))
	verifier, err := verify.NewVerifier(trustedMaterial(t, trusted), demand...)
	if err != nil {
		t.Fatalf("make verifier: %v", err)
	}
	return verifier.Verify(b, verify.NewPolicy(verify.WithArtifactDigest("sha256", digest[:]), verify.WithoutIdentitiesUnsafe()))
}

// checkSigner checks the parts of a message that sigstore-go does not receive.
func checkSigner(message cms, payload []byte) error {
	signer := message.Content.Signers[0]
	if content := message.Content.Content.Value.FullBytes; len(content) > 0 {
		return fmt.Errorf("got %d bytes of content, want a detached message", len(content))
	}
	if len(signer.Signed) != 3 {
		return fmt.Errorf("got %d signed attributes, want 3", len(signer.Signed))
	}
	digest := sha256.Sum256(payload)
	want, err := asn1.Marshal(digest[:])
	if err != nil {
		return err
	}
	if got := signer.Signed[2].Values[0].FullBytes; !bytes.Equal(got, want) {
		return fmt.Errorf("got message digest %x, want %x", got, want)
	}
	certificate, err := x509.ParseCertificate(message.Content.Certificates[0].FullBytes)
	if err != nil {
		return err
	}
	serial := new(big.Int).SetBytes(signer.SID.Serial.Bytes)
	if !bytes.Equal(signer.SID.Issuer.FullBytes, certificate.RawIssuer) || serial.Cmp(certificate.SerialNumber) != 0 {
		return fmt.Errorf("got a signer id that names another certificate")
	}
	return nil
}

// trustedMaterial loads the trusted root as the agent would, from its JSON.
func trustedMaterial(t *testing.T, s *sigtest.Sigstore) root.TrustedMaterial {
	t.Helper()
	raw, err := s.TrustedRoot()
	if err != nil {
		t.Fatalf("write trusted root: %v", err)
	}
	material, err := root.NewTrustedRootFromJSON(raw)
	if err != nil {
		t.Fatalf("load trusted root: %v", err)
	}
	return material
}

// newSigstore returns a Sigstore whose keys differ for every name.
func newSigstore(t testing.TB, name string) *sigtest.Sigstore {
	t.Helper()
	s, err := sigtest.New(sigtest.Options{Name: name + ".test", Seed: name})
	if err != nil {
		t.Fatalf("make Sigstore: %v", err)
	}
	return s
}
