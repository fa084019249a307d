package verify

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/sha256"
	"crypto/x509"
	"encoding/asn1"
	"math/big"
)

// Object identifiers of the profile. Source: RFC 5652, RFC 5754, RFC 3161 appendix A, gitsign's attribute format.
var (
	oidData          = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 7, 1}
	oidSignedData    = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 7, 2}
	oidContentType   = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 9, 3}
	oidMessageDigest = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 9, 4}
	oidSigningTime   = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 9, 5}
	oidSHA256        = asn1.ObjectIdentifier{2, 16, 840, 1, 101, 3, 4, 2, 1}
	oidECDSASHA256   = asn1.ObjectIdentifier{1, 2, 840, 10045, 4, 3, 2}
	oidTimestamp     = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 9, 16, 2, 14}
	oidLogEntry      = asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 57264, 3, 1}
)

// A signature holds the parts of a gitsign CMS signature of a commit or tag. Only its form has been verified.
type signature struct {
	leaf     *x509.Certificate
	signed   []byte            // DER of the signed attributes as a SET OF: the bytes that value signs
	value    []byte            // ECDSA signature
	content  [sha256.Size]byte // digest of the git object, as the signed attributes state it
	logEntry []byte            // protobuf TransparencyLogEntry; empty in online mode
	token    []byte            // RFC 3161 TimeStampToken; empty if the commit has no timestamp
}

// matchesCertificateKey reports whether the key of the certificate made the signature. It is used only to find the reason
// of a refusal; the decision is sigstore-go's own verification.
func (s signature) matchesCertificateKey() bool {
	key, ok := s.leaf.PublicKey.(*ecdsa.PublicKey)
	digest := sha256.Sum256(s.signed)
	return ok && ecdsa.VerifyASN1(key, digest[:], s.value)
}

// These types are the ASN.1 of the profile. Marshalling drops every element that the types do not name, and the
// comparison in parseSignature then refuses the input.
type (
	contentInfo struct {
		Type    asn1.ObjectIdentifier
		Content signedData `asn1:"explicit,tag:0"`
	}
	signedData struct {
		Version      int
		Algorithms   []algorithm `asn1:"set"`
		Detached     algorithm   // EncapsulatedContentInfo; without content it has the same form as an algorithm
		Certificates asn1.RawValue
		Signers      []signerInfo `asn1:"set"`
	}
	algorithm  struct{ Algorithm asn1.ObjectIdentifier }
	signerInfo struct {
		Version            int
		Certificate        issuerAndSerial
		Digest             algorithm
		SignedAttributes   asn1.RawValue
		Algorithm          algorithm
		Value              []byte
		UnsignedAttributes []attribute `asn1:"optional,omitempty,set,tag:1"`
	}
	issuerAndSerial struct {
		Issuer asn1.RawValue
		Serial *big.Int
	}
	attribute struct {
		Type   asn1.ObjectIdentifier
		Values asn1.RawValue
	}
)

// parseSignature parses a CMS signature. It accepts exactly what gitsign writes: SignedData, detached, SHA-256, one
// signer with ECDSA P-256, only the signer's certificate, and each known attribute once, in DER. It extracts the parts
// and verifies no cryptography. Since it accepts only one encoding, the same signature cannot appear under another commit id.
func parseSignature(der []byte) (signature, error) {
	var info contentInfo
	if _, err := asn1.Unmarshal(der, &info); err != nil {
		return signature{}, refuse(ReasonMalformedSignature, "not CMS SignedData: %w", err)
	}
	s, err := info.extract()
	if err != nil {
		return signature{}, err
	}
	if again, err := asn1.Marshal(info); err != nil || !bytes.Equal(again, der) {
		return signature{}, refuse(ReasonMalformedSignature, "CMS has elements outside the profile, is not DER, or is followed by more data")
	}
	return s, nil
}

func (c contentInfo) extract() (signature, error) {
	data := c.Content
	switch {
	case !c.Type.Equal(oidSignedData):
		return signature{}, refuse(ReasonMalformedSignature, "got content %v, want SignedData", c.Type)
	case data.Version != 1:
		return signature{}, refuse(ReasonMalformedSignature, "got SignedData version %d, want 1", data.Version)
	case len(data.Algorithms) != 1 || !data.Algorithms[0].Algorithm.Equal(oidSHA256):
		return signature{}, refuse(ReasonMalformedSignature, "want SHA-256 as the only digest algorithm")
	case !data.Detached.Algorithm.Equal(oidData):
		return signature{}, refuse(ReasonMalformedSignature, "got content of type %v, want detached data", data.Detached.Algorithm)
	case len(data.Signers) != 1:
		return signature{}, refuse(ReasonMalformedSignature, "got %d signers, want 1", len(data.Signers))
	}
	leaf, err := onlyCertificate(data.Certificates)
	if err != nil {
		return signature{}, err
	}
	return data.Signers[0].extract(leaf)
}

// onlyCertificate returns the one certificate of a CertificateSet, which must have an ECDSA P-256 key.
func onlyCertificate(set asn1.RawValue) (*x509.Certificate, error) {
	if !isImplicitSet(set) {
		return nil, refuse(ReasonMalformedSignature, "no certificate")
	}
	var first asn1.RawValue
	rest, err := asn1.Unmarshal(set.Bytes, &first)
	if err != nil {
		return nil, refuse(ReasonMalformedSignature, "certificate: %w", err)
	}
	if len(rest) != 0 {
		return nil, refuse(ReasonMalformedSignature, "more certificates than that of the signer")
	}
	leaf, err := x509.ParseCertificate(first.FullBytes)
	if err != nil {
		return nil, refuse(ReasonMalformedSignature, "certificate: %w", err)
	}
	if key, ok := leaf.PublicKey.(*ecdsa.PublicKey); !ok || key.Curve != elliptic.P256() {
		return nil, refuse(ReasonMalformedSignature, "got a %v key, want ECDSA P-256", leaf.PublicKeyAlgorithm)
	}
	return leaf, nil
}

// isImplicitSet reports whether raw is a set under the tag [0].
func isImplicitSet(raw asn1.RawValue) bool {
	return raw.Class == asn1.ClassContextSpecific && raw.Tag == 0 && raw.IsCompound
}

func (i signerInfo) extract(leaf *x509.Certificate) (signature, error) {
	switch {
	case i.Version != 1:
		return signature{}, refuse(ReasonMalformedSignature, "got signer version %d, want 1", i.Version)
	case !bytes.Equal(i.Certificate.Issuer.FullBytes, leaf.RawIssuer):
		return signature{}, refuse(ReasonMalformedSignature, "issuer of the signer differs from that of the certificate")
	case i.Certificate.Serial.Cmp(leaf.SerialNumber) != 0:
		return signature{}, refuse(ReasonMalformedSignature, "serial number of the signer differs from that of the certificate")
	case !i.Digest.Algorithm.Equal(oidSHA256):
		return signature{}, refuse(ReasonMalformedSignature, "got digest %v, want SHA-256", i.Digest.Algorithm)
	case !i.Algorithm.Algorithm.Equal(oidECDSASHA256):
		return signature{}, refuse(ReasonMalformedSignature, "got signature algorithm %v, want ECDSA with SHA-256", i.Algorithm.Algorithm)
	}
	s := signature{leaf: leaf, value: i.Value}
	if err := s.readSigned(i.SignedAttributes); err != nil {
		return signature{}, err
	}
	if err := s.readUnsigned(i.UnsignedAttributes); err != nil {
		return signature{}, err
	}
	return s, nil
}

// readSigned reads the signed attributes. The signature covers them as a SET OF, although the message encodes them under
// the tag [0]. Source: RFC 5652, 5.4.
func (s *signature) readSigned(raw asn1.RawValue) error {
	if !isImplicitSet(raw) {
		return refuse(ReasonMalformedSignature, "no signed attributes")
	}
	s.signed = asSet(raw.FullBytes)
	attributes, err := readAttributes(raw.FullBytes)
	if err != nil {
		return err
	}
	values, err := uniqueValues(attributes, oidContentType, oidSigningTime, oidMessageDigest)
	if err != nil {
		return err
	}
	if len(values) != 3 {
		return refuse(ReasonMalformedSignature, "got %d signed attributes, want content type, signing time, message digest", len(values))
	}
	var contentType asn1.ObjectIdentifier
	if rest, err := asn1.Unmarshal(values[oidContentType.String()], &contentType); err != nil || len(rest) != 0 || !contentType.Equal(oidData) {
		return refuse(ReasonMalformedSignature, "signed content type is not data")
	}
	var digest []byte
	rest, err := asn1.Unmarshal(values[oidMessageDigest.String()], &digest)
	if err != nil || len(rest) != 0 || len(digest) != len(s.content) {
		return refuse(ReasonMalformedSignature, "message digest is not a SHA-256 digest")
	}
	copy(s.content[:], digest)
	return nil
}

// asSet returns attributes under the tag [0] as the SET OF that a signature covers.
func asSet(implicit []byte) []byte {
	set := bytes.Clone(implicit)
	set[0] = asn1.TagSet | 0x20
	return set
}

// readAttributes reads signed attributes under the tag [0]. Programs sort them before they verify the signature, so an order that is not that of DER would
// be the same attributes in another form.
func readAttributes(implicit []byte) ([]attribute, error) {
	var attributes []attribute
	set := asSet(implicit)
	if _, err := asn1.UnmarshalWithParams(set, &attributes, "set"); err != nil {
		return nil, refuse(ReasonMalformedSignature, "signed attributes: %w", err)
	}
	if again, err := asn1.MarshalWithParams(attributes, "set"); err != nil || !bytes.Equal(again, set) {
		return nil, refuse(ReasonMalformedSignature, "signed attributes are not DER")
	}
	return attributes, nil
}

// readUnsigned reads the log entry and the timestamp token; both may be absent.
func (s *signature) readUnsigned(attributes []attribute) error {
	values, err := uniqueValues(attributes, oidLogEntry, oidTimestamp)
	if err != nil {
		return err
	}
	s.token = values[oidTimestamp.String()]
	entry, found := values[oidLogEntry.String()]
	if !found {
		return nil
	}
	if rest, err := asn1.Unmarshal(entry, &s.logEntry); err != nil || len(rest) != 0 || len(s.logEntry) == 0 {
		return refuse(ReasonMalformedSignature, "log entry attribute is not an octet string")
	}
	return nil
}

// uniqueValues returns the one value of each attribute by its type. Every type must be among known and occur once.
func uniqueValues(attributes []attribute, known ...asn1.ObjectIdentifier) (map[string][]byte, error) {
	values := make(map[string][]byte, len(attributes))
	for _, a := range attributes {
		name := a.Type.String()
		if !containsOID(known, a.Type) {
			return nil, refuse(ReasonMalformedSignature, "unknown attribute %s", name)
		}
		if _, twice := values[name]; twice {
			return nil, refuse(ReasonMalformedSignature, "attribute %s occurs twice", name)
		}
		if a.Values.Class != asn1.ClassUniversal || a.Values.Tag != asn1.TagSet || !a.Values.IsCompound {
			return nil, refuse(ReasonMalformedSignature, "values of attribute %s are not a set", name)
		}
		var value asn1.RawValue
		if rest, err := asn1.Unmarshal(a.Values.Bytes, &value); err != nil || len(rest) != 0 {
			return nil, refuse(ReasonMalformedSignature, "attribute %s does not have exactly one value", name)
		}
		values[name] = value.FullBytes
	}
	return values, nil
}

func containsOID(known []asn1.ObjectIdentifier, oid asn1.ObjectIdentifier) bool {
	for _, k := range known {
		if k.Equal(oid) {
			return true
		}
	}
	return false
}
