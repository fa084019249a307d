package sigtest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"sync"
	"time"
)

// authority is one generation of a certificate authority like Fulcio: a root and the intermediate that issues.
type authority struct {
	keySource
	window       window
	root         *x509.Certificate
	intermediate *x509.Certificate
	key          *ecdsa.PrivateKey // the intermediate's
}

// lifetime is the validity of the authorities' certificates. It is longer than any window, so that the windows decide.
const lifetime = 40 * 365 * 24 * time.Hour

// newAuthority returns an authority with a root and an intermediate that is limited to code signing.
func newAuthority(src keySource, w window) (*authority, error) {
	curve, err := src.options.caCurve()
	if err != nil {
		return nil, err
	}
	rootKey, err := src.ecdsa(curve, "root")
	if err != nil {
		return nil, err
	}
	key, err := src.ecdsa(curve, "intermediate")
	if err != nil {
		return nil, err
	}
	root, err := src.caCertificate(w, "root", nil, rootKey, rootKey)
	if err != nil {
		return nil, err
	}
	intermediate, err := src.caCertificate(w, "intermediate", root, key, rootKey)
	if err != nil {
		return nil, err
	}
	return &authority{keySource: src, window: w, root: root, intermediate: intermediate, key: key}, nil
}

// caCurve returns the curve of the authority's keys.
func (o Options) caCurve() (elliptic.Curve, error) {
	switch o.CAKey {
	case "", P384:
		return elliptic.P384(), nil
	case P256:
		return p256, nil
	case Ed25519:
	}
	return nil, fmt.Errorf("choose authority's key: got %q, want %s or %s", string(o.CAKey), P384, P256)
}

// caCertificate issues a certificate for an authority's key. Without a parent it is self-signed; with a parent it is limited to code signing.
func (k keySource) caCertificate(w window, name string, parent *x509.Certificate, key, signer *ecdsa.PrivateKey) (*x509.Certificate, error) {
	serial, err := k.serial(name)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber:          serial,
		Subject:               k.subject(name),
		NotBefore:             w.From,
		NotAfter:              w.From.Add(lifetime),
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
		BasicConstraintsValid: true,
		IsCA:                  true,
		ExtraExtensions:       k.options.Extensions[string(k.part)+"-"+name],
	}
	if parent == nil {
		parent = template
		template.MaxPathLen = 1
	} else {
		template.MaxPathLenZero = true
		template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageCodeSigning}
	}
	return createCertificate(template, parent, key, signer)
}

// subject returns the name of a certificate of this generation, so that chains of different generations never mix.
func (k keySource) subject(name string) pkix.Name {
	return pkix.Name{
		Organization: []string{k.options.Name},
		CommonName:   fmt.Sprintf("%s-%s-%d", k.part, name, k.generation+1),
	}
}

// created are the certificates of this process, DER by what they follow from. A process of tests makes the same ones for each of its Sigstores.
var created sync.Map

// createCertificate signs a template without randomness and parses the result.
func createCertificate(template, parent *x509.Certificate, key, signer *ecdsa.PrivateKey) (*x509.Certificate, error) {
	from := fmt.Sprintf("%+v %+v %x %x", *template, parent.Subject, key.PublicKey, signer.PublicKey)
	der, found := created.Load(from)
	if !found {
		made, err := x509.CreateCertificate(nil, template, parent, key.Public(), signer)
		if err != nil {
			return nil, fmt.Errorf("create certificate %s: %w", template.Subject.CommonName, err)
		}
		der, _ = created.LoadOrStore(from, made)
	}
	cert, err := x509.ParseCertificate(der.([]byte))
	if err != nil {
		return nil, fmt.Errorf("parse certificate %s: %w", template.Subject.CommonName, err)
	}
	return cert, nil
}
