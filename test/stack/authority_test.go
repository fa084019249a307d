//go:build integration

package stack

import (
	"crypto"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"math/big"
	"testing"
	"time"

	"github.com/sigstore/sigstore/pkg/cryptoutils"
)

// An authority is a chain of certificates, the root last, and the key of the first.
type authority struct {
	keyPair
	chain []*x509.Certificate
}

// newRoot makes an authority with a self-signed certificate.
func newRoot(t *testing.T, name string) authority {
	t.Helper()
	a := authority{keyPair: newKeyPair(t, p384)}
	a.chain = []*x509.Certificate{a.certify(&x509.Certificate{
		Subject: pkix.Name{CommonName: name, Organization: []string{"sigstore.lab"}}, IsCA: true, MaxPathLen: 1,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
	}, a.key.Public())}
	return a
}

// issue makes an authority below a.
func (a authority) issue(template *x509.Certificate, kind keyKind) authority {
	a.t.Helper()
	next := authority{keyPair: newKeyPair(a.t, kind)}
	next.chain = append([]*x509.Certificate{a.certify(template, next.key.Public())}, a.chain...)
	return next
}

// certify signs a certificate that is valid for two days, from yesterday.
func (a authority) certify(template *x509.Certificate, public crypto.PublicKey) *x509.Certificate {
	a.t.Helper()
	template.SerialNumber = big.NewInt(time.Now().UnixNano())
	template.NotBefore, template.NotAfter = time.Now().Add(-24*time.Hour), time.Now().Add(24*time.Hour)
	template.BasicConstraintsValid = true
	issuer := template
	if len(a.chain) > 0 {
		issuer = a.chain[0]
	}
	der, err := x509.CreateCertificate(rand.Reader, template, issuer, public, a.key)
	if err != nil {
		a.t.Fatal(err)
	}
	out, err := x509.ParseCertificate(der)
	if err != nil {
		a.t.Fatal(err)
	}
	return out
}

// newCodeSigner makes the authority of Fulcio: one intermediate below a root.
func newCodeSigner(t *testing.T) authority {
	t.Helper()
	return newRoot(t, "fulcio root").issue(&x509.Certificate{
		Subject: pkix.Name{CommonName: "fulcio", Organization: []string{"sigstore.lab"}}, IsCA: true, MaxPathLenZero: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageCodeSigning},
	}, p384)
}

// newTimestamper makes a timestamp authority. The extended key usage of its certificate must be critical (RFC 3161, section 2.3).
func newTimestamper(t *testing.T) authority {
	t.Helper()
	oidExtKeyUsage, oidTimeStamping := asn1.ObjectIdentifier{2, 5, 29, 37}, asn1.ObjectIdentifier{1, 3, 6, 1, 5, 5, 7, 3, 8}
	usage, err := asn1.Marshal([]asn1.ObjectIdentifier{oidTimeStamping})
	if err != nil {
		t.Fatal(err)
	}
	return newRoot(t, "timestamp root").issue(&x509.Certificate{
		Subject:  pkix.Name{CommonName: "timestamps", Organization: []string{"sigstore.lab"}},
		KeyUsage: x509.KeyUsageDigitalSignature, ExtraExtensions: []pkix.Extension{{Id: oidExtKeyUsage, Critical: true, Value: usage}},
	}, p256)
}

// certificates returns the chain in PEM.
func (a authority) certificates() []byte { return certificatePEM(a.t, a.chain...) }

func certificatePEM(t *testing.T, certificates ...*x509.Certificate) []byte {
	t.Helper()
	out, err := cryptoutils.MarshalCertificatesToPEM(certificates)
	if err != nil {
		t.Fatal(err)
	}
	return out
}
