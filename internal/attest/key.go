package attest

import (
	"context"
	"crypto"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"

	"github.com/secure-systems-lab/go-securesystemslib/dsse"
	"github.com/sigstore/sigstore/pkg/cryptoutils"
	"github.com/sigstore/sigstore/pkg/signature"
	sigdsse "github.com/sigstore/sigstore/pkg/signature/dsse"

	"gitops-agent/internal/bounds"
)

// payloadType is the type of the payload of an envelope. Source: in-toto Attestation Framework, Envelope v1.
const payloadType = "application/vnd.in-toto+json"

// maxEnvelope bounds an envelope.
const maxEnvelope = 64 << 10 // bytes

// Signer signs statements with a private key.
type Signer struct{ envelopes *dsse.EnvelopeSigner }

// NewSigner returns the signer of a private key in PEM without a password, as openssl genpkey writes it: Ed25519, ECDSA or RSA.
func NewSigner(text []byte) (*Signer, error) {
	private, err := cryptoutils.UnmarshalPEMToPrivateKey(text, nil)
	if err != nil {
		return nil, errors.New("want a private key in PEM without a password, such as openssl genpkey -algorithm ed25519 writes")
	}
	loaded, err := signature.LoadSignerVerifier(private, crypto.SHA256)
	if err != nil {
		return nil, fmt.Errorf("use the private key: %w", err)
	}
	public, err := loaded.PublicKey()
	if err != nil {
		return nil, fmt.Errorf("use the private key: %w", err)
	}
	id, err := dsse.SHA256KeyID(public)
	if err != nil {
		return nil, fmt.Errorf("use the private key: %w", err)
	}
	envelopes, err := dsse.NewEnvelopeSigner(&sigdsse.SignerAdapter{SignatureSigner: loaded, Pub: public, PubKeyID: id})
	return &Signer{envelopes}, err
}

// sign returns the envelope of a statement, as one line of JSON.
func (s *Signer) sign(ctx context.Context, statement any) ([]byte, error) {
	payload, err := json.Marshal(statement)
	if err != nil {
		return nil, err
	}
	envelope, err := s.envelopes.SignPayload(ctx, payloadType, payload)
	if err != nil {
		return nil, fmt.Errorf("sign the statement: %w", err)
	}
	text, err := json.Marshal(envelope)
	return append(text, '\n'), err
}

// Keys are the public keys of agents. A statement counts if one of them signed it.
type Keys []dsse.Verifier

// ParseKeys returns the public keys of a text with one or more PEM blocks, as openssl pkey -pubout writes them.
func ParseKeys(text []byte) (Keys, error) {
	var keys Keys
	for {
		var block *pem.Block
		if block, text = pem.Decode(text); block == nil {
			break
		}
		public, err := cryptoutils.UnmarshalPEMToPublicKey(pem.EncodeToMemory(block))
		if err != nil {
			return nil, fmt.Errorf("want a public key, got a PEM block of type %.50q", block.Type)
		}
		verifier, err := signature.LoadVerifier(public, crypto.SHA256)
		if err != nil {
			return nil, fmt.Errorf("use the public key: %w", err)
		}
		keys = append(keys, &sigdsse.VerifierAdapter{SignatureVerifier: verifier, Pub: public})
	}
	if len(keys) == 0 {
		return nil, errors.New("want a public key in PEM, such as openssl pkey -pubout writes")
	}
	return keys, nil
}

// limits are those of an envelope, and of the statement in it.
var limits = bounds.JSON{Bytes: maxEnvelope, Values: 100_000, Elements: 50_000, Depth: 32}

// verify returns the payload of an envelope that one of the keys signed.
func (k Keys) verify(ctx context.Context, text []byte) ([]byte, error) {
	if len(text) > maxEnvelope {
		return nil, fmt.Errorf("read the envelope: more than %d KiB", maxEnvelope>>10)
	}
	var envelope dsse.Envelope
	if err := limits.Unmarshal(text, &envelope); err != nil {
		return nil, fmt.Errorf("read the envelope: %w", err)
	}
	if envelope.PayloadType != payloadType || len(envelope.Signatures) != 1 {
		return nil, fmt.Errorf("read the envelope: got type %.50q with %d signatures, want %s with one", envelope.PayloadType, len(envelope.Signatures), payloadType)
	}
	envelope.Signatures[0].KeyID = "" // it is not signed, and other programs write other forms: each key is tried
	for _, key := range k {
		verifier, err := dsse.NewEnvelopeVerifier(key)
		if err != nil {
			return nil, err
		}
		if _, payload, err := verifier.VerifyAndDecode(ctx, &envelope); err == nil {
			return payload, nil
		}
	}
	return nil, ErrForeignKey
}

// ErrForeignKey means that none of the known keys signed an envelope.
var ErrForeignKey = errors.New("no known key signed it")
