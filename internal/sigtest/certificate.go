package sigtest

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/sha1" //nolint:gosec // key identifiers are SHA-1 by RFC 5280, 4.2.1.2
	"crypto/sha512"
	"crypto/x509/pkix"
	"encoding/asn1"
	"fmt"
	"math/big"
	"time"
)

// Certificate is a signer's certificate before it is issued. SignOptions.Certificate may change it.
type Certificate struct {
	Serial              *big.Int
	NotBefore, NotAfter time.Time         // whole seconds, both inclusive
	Key                 *ecdsa.PrivateKey // signs the message; P-256
	Extensions          []pkix.Extension  // all but the timestamps of the transparency log, in order
}

var (
	oidKeyUsage       = asn1.ObjectIdentifier{2, 5, 29, 15}
	oidExtKeyUsage    = asn1.ObjectIdentifier{2, 5, 29, 37}
	oidSubjectKeyID   = asn1.ObjectIdentifier{2, 5, 29, 14}
	oidAuthorityKeyID = asn1.ObjectIdentifier{2, 5, 29, 35}
	oidCodeSigning    = asn1.ObjectIdentifier{1, 3, 6, 1, 5, 5, 7, 3, 3}
	oidECDSASHA256    = asn1.ObjectIdentifier{1, 2, 840, 10045, 4, 3, 2}
	oidECDSASHA384    = asn1.ObjectIdentifier{1, 2, 840, 10045, 4, 3, 3}
)

// draft returns a certificate for an identity before it is issued, valid from a time for a duration. The label determines key and serial number.
func (a *authority) draft(id Identity, label string, from time.Time, valid time.Duration) (*Certificate, error) {
	key, err := a.ecdsa(p256, "leaf/"+label)
	if err != nil {
		return nil, err
	}
	serial, err := a.serial("leaf/" + label)
	if err != nil {
		return nil, err
	}
	usage, err := a.usageExtensions(key)
	if err != nil {
		return nil, err
	}
	claims, err := id.extensions()
	if err != nil {
		return nil, err
	}
	return &Certificate{Serial: serial, NotBefore: from, NotAfter: from.Add(valid), Key: key, Extensions: append(usage, claims...)}, nil
}

// usageExtensions returns the extensions about the use of the key and about the key that certifies it.
func (a *authority) usageExtensions(key *ecdsa.PrivateKey) ([]pkix.Extension, error) {
	point, err := key.PublicKey.Bytes()
	if err != nil {
		return nil, fmt.Errorf("encode public key: %w", err)
	}
	id := sha1.Sum(point) //nolint:gosec // as above
	values := []struct {
		oid      asn1.ObjectIdentifier
		critical bool
		value    any
	}{
		{oidKeyUsage, true, asn1.BitString{Bytes: []byte{0x80}, BitLength: 1}}, // digitalSignature
		{oidExtKeyUsage, false, []asn1.ObjectIdentifier{oidCodeSigning}},
		{oidSubjectKeyID, false, id[:]},
		{oidAuthorityKeyID, false, authorityKeyID{a.intermediate.SubjectKeyId}},
	}
	var out []pkix.Extension
	for _, v := range values {
		der, err := asn1.Marshal(v.value)
		if err != nil {
			return nil, fmt.Errorf("encode extension %s: %w", v.oid, err)
		}
		out = append(out, pkix.Extension{Id: v.oid, Critical: v.critical, Value: der})
	}
	return out, nil
}

type authorityKeyID struct {
	ID []byte `asn1:"tag:0"`
}

// tbsCertificate is the signed part of a certificate (RFC 5280, 4.1). It is encoded here because the transparency log signs the same bytes
// without its own extension, and because crypto/x509 would spend most of the time verifying the signature that it has just made.
type tbsCertificate struct {
	Version    int `asn1:"explicit,tag:0"`
	Serial     *big.Int
	Algorithm  pkix.AlgorithmIdentifier
	Issuer     asn1.RawValue
	Validity   struct{ NotBefore, NotAfter time.Time }
	Subject    asn1.RawValue
	PublicKey  asn1.RawValue
	Extensions []pkix.Extension `asn1:"explicit,tag:3"`
}

// issue signs a draft and returns DER. It embeds the timestamp of a transparency log if log is not nil.
func (a *authority) issue(draft *Certificate, log *ctLog) ([]byte, error) {
	public, err := spki(draft.Key.Public())
	if err != nil {
		return nil, err
	}
	tbs := tbsCertificate{
		Version:    2, // X.509 v3
		Serial:     draft.Serial,
		Algorithm:  a.algorithm(),
		Issuer:     asn1.RawValue{FullBytes: a.intermediate.RawSubject},
		Subject:    asn1.RawValue{FullBytes: []byte{0x30, 0x00}}, // the identity is the subject alternative name
		PublicKey:  asn1.RawValue{FullBytes: public},
		Extensions: draft.Extensions,
	}
	tbs.Validity.NotBefore, tbs.Validity.NotAfter = draft.NotBefore.UTC(), draft.NotAfter.UTC()
	if log != nil {
		scts, err := log.submit(tbs, a.intermediate.RawSubjectPublicKeyInfo, draft.NotBefore)
		if err != nil {
			return nil, err
		}
		tbs.Extensions = append(tbs.Extensions[:len(tbs.Extensions):len(tbs.Extensions)], scts)
	}
	return a.sign(tbs)
}

// sign encodes and signs a certificate.
func (a *authority) sign(tbs tbsCertificate) ([]byte, error) {
	raw, err := asn1.Marshal(tbs)
	if err != nil {
		return nil, fmt.Errorf("encode certificate: %w", err)
	}
	var signature []byte
	if a.key.Curve == p256 {
		signature, err = signECDSA(a.key, raw)
	} else {
		digest := sha512.Sum384(raw)
		signature, err = a.key.Sign(nil, digest[:], crypto.SHA384)
	}
	if err != nil {
		return nil, fmt.Errorf("sign certificate: %w", err)
	}
	return asn1.Marshal(struct {
		TBS       asn1.RawValue
		Algorithm pkix.AlgorithmIdentifier
		Signature asn1.BitString
	}{asn1.RawValue{FullBytes: raw}, a.algorithm(), asn1.BitString{Bytes: signature, BitLength: 8 * len(signature)}})
}

// algorithm returns the signature algorithm of this authority.
func (a *authority) algorithm() pkix.AlgorithmIdentifier {
	if a.key.Curve == p256 {
		return pkix.AlgorithmIdentifier{Algorithm: oidECDSASHA256}
	}
	return pkix.AlgorithmIdentifier{Algorithm: oidECDSASHA384}
}
