package verify

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"errors"
	"slices"

	"github.com/sigstore/sigstore-go/pkg/root"
)

// sandboxMarker is the extension of certificate authorities whose keys protect nothing: those of the sandbox and of the demo. The arc is the
// enterprise number that RFC 5612 reserves for documentation. It belongs to no organization, so that no authority in use has the extension.
var sandboxMarker = asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 32473, 26, 1}

// SandboxMarker returns the extension with which an authority of a sandbox marks its certificates. A policy accepts such an authority only if its
// Options.Sandbox is set. It is not critical, because verifiers refuse unknown critical extensions before the agent can name the cause.
func SandboxMarker() pkix.Extension {
	return pkix.Extension{Id: slices.Clone(sandboxMarker), Value: []byte("\x0c\x14gitops-agent sandbox")} // a UTF8String
}

var (
	errSandboxRoot = errors.New("trusted root is of a sandbox: anyone can sign with its authority (a certificate has the extension " +
		sandboxMarker.String() + "); obtain the trusted_root.json of your Sigstore")
	errNoSandboxRoot = errors.New("trusted root is not of a sandbox: a sandbox trusts only its own authority")
)

// sandboxProblem compares the trusted root with the kind of policy. A policy accepts sandboxes only or none, so that none can trust an authority that
// is in use and one that anyone can sign with.
func (o Options) sandboxProblem(tr *trustedRoot) error {
	switch {
	case tr.hasMarker() && !o.Sandbox:
		return errSandboxRoot
	case o.Sandbox && !tr.allAuthoritiesMarked():
		return errNoSandboxRoot
	}
	return nil
}

// hasMarker reports whether any certificate of the root has the marker, also a retired one or one of a timestamp authority.
func (t *trustedRoot) hasMarker() bool {
	marked := slices.ContainsFunc(t.stampers, func(der []byte) bool {
		c, err := x509.ParseCertificate(der)
		return err == nil && isMarked(c)
	})
	for _, ca := range t.TrustedRoot.FulcioCertificateAuthorities() {
		marked = marked || slices.ContainsFunc(certificatesOf(ca), isMarked)
	}
	return marked
}

func (t *trustedRoot) allAuthoritiesMarked() bool {
	for _, ca := range t.TrustedRoot.FulcioCertificateAuthorities() {
		if !slices.ContainsFunc(certificatesOf(ca), isMarked) {
			return false
		}
	}
	return true
}

func certificatesOf(ca root.CertificateAuthority) []*x509.Certificate {
	if fulcio, ok := ca.(*root.FulcioCertificateAuthority); ok {
		return append([]*x509.Certificate{fulcio.Root}, fulcio.Intermediates...)
	}
	return nil
}

// isMarked reports whether a certificate has the marker, with whatever value.
func isMarked(c *x509.Certificate) bool {
	return c != nil && slices.ContainsFunc(c.Extensions, func(e pkix.Extension) bool { return e.Id.Equal(sandboxMarker) })
}

// checkMarker refuses a certificate with the marker that an authority without it issued. The root was compared with the policy before.
func (p *prover) checkMarker(leaf *x509.Certificate) error {
	if isMarked(leaf) && !p.root.hasMarker() {
		return refuse(ReasonUntrustedCertificate, "the certificate is of a sandbox (extension %s)", sandboxMarker)
	}
	return nil
}
