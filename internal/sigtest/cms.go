package sigtest

import (
	"bytes"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"fmt"
	"math/big"
	"slices"
	"time"
)

// Names of CMS (RFC 5652), of its attributes, and of those that gitsign adds.
var (
	oidData          = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 7, 1}
	oidSignedData    = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 7, 2}
	oidContentType   = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 9, 3}
	oidMessageDigest = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 9, 4}
	oidSigningTime   = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 9, 5}
	oidSHA256        = asn1.ObjectIdentifier{2, 16, 840, 1, 101, 3, 4, 2, 1}
	oidRekorEntry    = asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 57264, 3, 1}
	oidTimestamp     = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 9, 16, 2, 14}
)

// attribute encodes a value as an attribute.
func attribute(oid asn1.ObjectIdentifier, value any) (Attribute, error) {
	der, err := asn1.Marshal(value)
	if err != nil {
		return Attribute{}, fmt.Errorf("encode attribute %s: %w", oid, err)
	}
	return Attribute{oid, der}, nil
}

// signedAttributes returns the attributes that a signer signs: the content type, the time by the signer's own clock, and the digest.
func signedAttributes(contentType asn1.ObjectIdentifier, at time.Time, digest [32]byte) ([]Attribute, error) {
	var out []Attribute
	for _, a := range []struct {
		oid   asn1.ObjectIdentifier
		value any
	}{{oidContentType, contentType}, {oidSigningTime, at.UTC()}, {oidMessageDigest, digest[:]}} {
		encoded, err := attribute(a.oid, a.value)
		if err != nil {
			return nil, err
		}
		out = append(out, encoded)
	}
	return out, nil
}

// encodeAttributes returns the DER SET OF the attributes. DER sorts them by their encoding.
func encodeAttributes(attributes []Attribute) ([]byte, error) {
	var encoded [][]byte
	for _, a := range attributes {
		der, err := asn1.Marshal(struct {
			Type   asn1.ObjectIdentifier
			Values []asn1.RawValue `asn1:"set"`
		}{a.Type, []asn1.RawValue{{FullBytes: a.Value}}})
		if err != nil {
			return nil, fmt.Errorf("encode attribute %s: %w", a.Type, err)
		}
		encoded = append(encoded, der)
	}
	slices.SortFunc(encoded, bytes.Compare)
	return asn1.Marshal(asn1.RawValue{Tag: asn1.TagSet, IsCompound: true, Bytes: bytes.Join(encoded, nil)})
}

// signedData is CMS SignedData with one signer. Signatures of commits and timestamp tokens have this form.
type signedData struct {
	version      int
	contentType  asn1.ObjectIdentifier
	content      []byte // nil = detached
	certificates [][]byte
	signer       *x509.Certificate
	signed       []byte // DER SET OF
	signature    []byte
	unsigned     []Attribute
}

type contentInfo struct {
	Type    asn1.ObjectIdentifier
	Content asn1.RawValue `asn1:"optional"`
}

type signerInfo struct {
	Version int
	SID     struct {
		Issuer asn1.RawValue
		Serial *big.Int
	}
	DigestAlgorithm    pkix.AlgorithmIdentifier
	SignedAttrs        asn1.RawValue
	SignatureAlgorithm pkix.AlgorithmIdentifier
	Signature          []byte
	UnsignedAttrs      asn1.RawValue `asn1:"optional"`
}

// encode returns the DER ContentInfo.
func (s signedData) encode() ([]byte, error) {
	info, err := s.signerInfo()
	if err != nil {
		return nil, err
	}
	content := contentInfo{Type: s.contentType}
	if s.content != nil {
		octets, err := asn1.Marshal(s.content)
		if err != nil {
			return nil, fmt.Errorf("encode content: %w", err)
		}
		content.Content = tagged(0, octets)
	}
	var certificates asn1.RawValue
	if len(s.certificates) > 0 {
		certificates = tagged(0, bytes.Join(s.certificates, nil))
	}
	der, err := asn1.Marshal(struct {
		Version          int
		DigestAlgorithms []pkix.AlgorithmIdentifier `asn1:"set"`
		Content          contentInfo
		Certificates     asn1.RawValue `asn1:"optional"`
		SignerInfos      []signerInfo  `asn1:"set"`
	}{s.version, []pkix.AlgorithmIdentifier{{Algorithm: oidSHA256}}, content, certificates, []signerInfo{info}})
	if err != nil {
		return nil, fmt.Errorf("encode signed data: %w", err)
	}
	return asn1.Marshal(contentInfo{oidSignedData, tagged(0, der)})
}

func (s signedData) signerInfo() (signerInfo, error) {
	signed, err := setBytes(s.signed)
	if err != nil {
		return signerInfo{}, err
	}
	info := signerInfo{
		Version:            1,
		DigestAlgorithm:    pkix.AlgorithmIdentifier{Algorithm: oidSHA256},
		SignedAttrs:        tagged(0, signed),
		SignatureAlgorithm: pkix.AlgorithmIdentifier{Algorithm: oidECDSASHA256},
		Signature:          s.signature,
	}
	info.SID.Issuer.FullBytes, info.SID.Serial = s.signer.RawIssuer, s.signer.SerialNumber
	if len(s.unsigned) == 0 {
		return info, nil
	}
	set, err := encodeAttributes(s.unsigned)
	if err != nil {
		return signerInfo{}, err
	}
	unsigned, err := setBytes(set)
	info.UnsignedAttrs = tagged(1, unsigned)
	return info, err
}

// setBytes returns the content of a DER SET.
func setBytes(der []byte) ([]byte, error) {
	var set asn1.RawValue
	if _, err := asn1.Unmarshal(der, &set); err != nil {
		return nil, fmt.Errorf("parse attributes: %w", err)
	}
	return set.Bytes, nil
}

// tagged returns a context-specific constructed value. The tag is implicit for the content of a SET and explicit for a complete value.
func tagged(tag int, content []byte) asn1.RawValue {
	return asn1.RawValue{Class: asn1.ClassContextSpecific, Tag: tag, IsCompound: true, Bytes: content}
}

func encodePEM(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

// digestOf returns the SHA-256 of b.
func digestOf(b []byte) [sha256.Size]byte { return sha256.Sum256(b) }
