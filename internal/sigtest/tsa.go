package sigtest

import (
	"crypto/ecdsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/hex"
	"fmt"
	"math/big"
	"time"
)

// timestampAuthority is one generation of an RFC 3161 timestamp authority.
type timestampAuthority struct {
	keySource
	window window
	root   *x509.Certificate
	leaf   *x509.Certificate
	key    *ecdsa.PrivateKey // the leaf's
}

var (
	oidTSTInfo            = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 9, 16, 1, 4}
	oidSigningCertificate = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 9, 16, 2, 47}
	oidTimeStamping       = asn1.ObjectIdentifier{1, 3, 6, 1, 5, 5, 7, 3, 8}
	oidTSAPolicy          = asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 57264, 2}
)

func newTimestampAuthority(src keySource, w window) (*timestampAuthority, error) {
	rootKey, err := src.ecdsa(p256, "root")
	if err != nil {
		return nil, err
	}
	root, err := src.caCertificate(w, "root", nil, rootKey, rootKey)
	if err != nil {
		return nil, err
	}
	key, err := src.ecdsa(p256, "leaf")
	if err != nil {
		return nil, err
	}
	serial, err := src.serial("leaf")
	if err != nil {
		return nil, err
	}
	usage, err := asn1.Marshal([]asn1.ObjectIdentifier{oidTimeStamping})
	if err != nil {
		return nil, fmt.Errorf("encode key usage: %w", err)
	}
	leaf, err := createCertificate(&x509.Certificate{
		SerialNumber: serial,
		Subject:      src.subject("leaf"),
		NotBefore:    w.From,
		NotAfter:     w.From.Add(lifetime),
		KeyUsage:     x509.KeyUsageDigitalSignature,
		// It must be the only usage, and critical: RFC 3161, 2.3.
		ExtraExtensions: []pkix.Extension{{Id: oidExtKeyUsage, Critical: true, Value: usage}},
	}, root, key, rootKey)
	if err != nil {
		return nil, err
	}
	return &timestampAuthority{keySource: src, window: w, root: root, leaf: leaf, key: key}, nil
}

// tstInfo is the content of a token (RFC 3161, 2.4.2).
type tstInfo struct {
	Version int
	Policy  asn1.ObjectIdentifier
	Imprint struct {
		Algorithm pkix.AlgorithmIdentifier
		Hashed    []byte
	}
	Serial *big.Int
	Time   time.Time `asn1:"generalized"`
}

// stamp returns a TimeStampToken over a message at a time, in whole seconds. Like the tokens that gitsign stores, it contains no certificate.
func (t *timestampAuthority) stamp(message []byte, at time.Time) ([]byte, error) {
	imprint := digestOf(message)
	serial, err := t.serial(fmt.Sprintf("token/%s/%d", hex.EncodeToString(imprint[:]), at.Unix()))
	if err != nil {
		return nil, err
	}
	info := tstInfo{Version: 1, Policy: oidTSAPolicy, Serial: serial, Time: at.UTC().Truncate(time.Second)}
	info.Imprint.Algorithm.Algorithm, info.Imprint.Hashed = oidSHA256, imprint[:]
	content, err := asn1.Marshal(info)
	if err != nil {
		return nil, fmt.Errorf("encode timestamp: %w", err)
	}
	signed, err := t.signedAttributes(content, at)
	if err != nil {
		return nil, err
	}
	signature, err := signECDSA(t.key, signed)
	if err != nil {
		return nil, fmt.Errorf("sign timestamp: %w", err)
	}
	return signedData{
		version: 3, contentType: oidTSTInfo, content: content, signer: t.leaf, signed: signed, signature: signature,
	}.encode()
}

// signedAttributes returns the DER attributes that a token signs. One of them is the hash of the authority's certificate (RFC 5816).
func (t *timestampAuthority) signedAttributes(content []byte, at time.Time) ([]byte, error) {
	attributes, err := signedAttributes(oidTSTInfo, at, digestOf(content))
	if err != nil {
		return nil, err
	}
	type certID struct{ Hash []byte }
	type signingCertificate struct{ Certificates []certID }
	leaf := digestOf(t.leaf.Raw)
	certificate, err := attribute(oidSigningCertificate, signingCertificate{[]certID{{leaf[:]}}})
	if err != nil {
		return nil, err
	}
	return encodeAttributes(append(attributes, certificate))
}
