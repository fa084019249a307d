package sigtest

import (
	"crypto/ecdsa"
	"crypto/x509"
	"encoding/asn1"
	"fmt"

	rekorpb "github.com/sigstore/protobuf-specs/gen/pb-go/rekor/v1"
	"google.golang.org/protobuf/proto"
)

// Attribute is one attribute of a CMS signer, with a single value.
type Attribute struct {
	Type  asn1.ObjectIdentifier
	Value []byte // DER
}

// Message is a signature before it is encoded. A Mutation may change it.
type Message struct {
	// Content is the payload if the message embeds it. gitsign's messages are detached: nil.
	Content []byte
	// Certificates are DER. The first is the signer's.
	Certificates [][]byte
	// Digest is the SHA-256 of the payload, as the signed attributes hold it.
	Digest [32]byte
	// SignedAttrs is the DER SET OF signed attributes: the bytes that the signer's key signed and the log recorded.
	SignedAttrs []byte
	// Signature is the signer's, ASN.1 ECDSA over SHA-256.
	Signature []byte
	// Entry is the transparency log's entry without its canonical body, or nil.
	Entry *rekorpb.TransparencyLogEntry
	// Body is the canonical body of Entry. It is not part of the encoded message.
	Body []byte
	// Tokens are RFC 3161 TimeStampTokens over Signature, DER.
	Tokens [][]byte
	// Unsigned are further unsigned attributes.
	Unsigned []Attribute

	key *ecdsa.PrivateKey // of the certificate
}

// Armor encodes the message as gitsign does: CMS SignedData in a PEM block of the type SIGNED MESSAGE.
func (m *Message) Armor() ([]byte, error) {
	der, err := m.DER()
	if err != nil {
		return nil, err
	}
	return encodePEM("SIGNED MESSAGE", der), nil
}

// DER encodes the message as CMS SignedData.
func (m *Message) DER() ([]byte, error) {
	unsigned, err := m.unsigned()
	if err != nil {
		return nil, err
	}
	signer, err := x509.ParseCertificate(m.Certificates[0])
	if err != nil {
		return nil, fmt.Errorf("parse signer's certificate: %w", err)
	}
	return signedData{
		version:      1,
		contentType:  oidData,
		content:      m.Content,
		certificates: m.Certificates,
		signer:       signer,
		signed:       m.SignedAttrs,
		signature:    m.Signature,
		unsigned:     unsigned,
	}.encode()
}

// unsigned returns all unsigned attributes.
func (m *Message) unsigned() ([]Attribute, error) {
	var out []Attribute
	if m.Entry != nil {
		raw, err := proto.MarshalOptions{Deterministic: true}.Marshal(m.Entry)
		if err != nil {
			return nil, fmt.Errorf("encode log entry: %w", err)
		}
		a, err := attribute(oidRekorEntry, raw)
		if err != nil {
			return nil, err
		}
		out = append(out, a)
	}
	for _, token := range m.Tokens {
		out = append(out, Attribute{oidTimestamp, token})
	}
	return append(out, m.Unsigned...), nil
}
