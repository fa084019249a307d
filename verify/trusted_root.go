package verify

import (
	"crypto/sha256"
	"crypto/x509"
	"errors"
	"fmt"
	"time"

	"github.com/sigstore/sigstore-go/pkg/root"
)

// A trustedRoot is a parsed trusted_root.json: the certificate authorities, logs and timestamp authorities that
// signatures are verified against. It is immutable.
type trustedRoot struct {
	*root.TrustedRoot
	authorities []root.CertificateAuthority // those of the root, each after pinChain
	stampers    [][]byte                    // certificates of the timestamp authorities, as DER
	info        RootInfo
}

// RootInfo describes the trusted root of a Policy.
type RootInfo struct {
	SHA256 [sha256.Size]byte // of the file
	// Expiry is when the root can no longer verify new signatures: after it no certificate authority, no transparency log
	// or no certificate log in the root is valid. It is zero if that time never comes.
	Expiry time.Time
}

// MakeRoot says how people obtain the trusted root of the public Sigstore.
const MakeRoot = "cosign trusted-root create --with-default-services --out trusted_root.json writes that of the public Sigstore"

// parseTrustedRoot reads a trusted_root.json. It returns an error if the root has no certificate authority, no
// transparency log or no certificate log, because such a root cannot verify any signature.
func parseTrustedRoot(json []byte) (*trustedRoot, error) {
	parsed, err := root.NewTrustedRootFromJSON(json)
	if err != nil {
		return nil, fmt.Errorf("parse trusted root: the file is no trusted_root.json of Sigstore (%w); %s", err, MakeRoot)
	}
	tr := &trustedRoot{TrustedRoot: parsed}
	var problems []error
	for kind, count := range map[string]int{
		"certificate authority": len(parsed.FulcioCertificateAuthorities()),
		"transparency log":      len(parsed.RekorLogs()),
		"certificate log":       len(parsed.CTLogs()),
	} {
		if count == 0 {
			problems = append(problems, fmt.Errorf("parse trusted root: no %s in the file", kind))
		}
	}
	for _, ca := range parsed.FulcioCertificateAuthorities() {
		tr.authorities = append(tr.authorities, pinChain(ca))
	}
	for _, authority := range parsed.TimestampingAuthorities() {
		tr.stampers = append(tr.stampers, stamperCertificates(authority)...)
	}
	tr.info = RootInfo{SHA256: sha256.Sum256(json), Expiry: expiry(parsed)}
	return tr, errors.Join(problems...)
}

// FulcioCertificateAuthorities returns the authorities with their pinned chains, instead of those of the embedded root.
func (t *trustedRoot) FulcioCertificateAuthorities() []root.CertificateAuthority {
	return t.authorities
}

// stamperCertificates returns the certificates of a timestamp authority as DER.
func stamperCertificates(authority root.TimestampingAuthority) [][]byte {
	var certificates [][]byte
	if known, ok := authority.(*root.SigstoreTimestampingAuthority); ok {
		for _, c := range append([]*x509.Certificate{known.Leaf, known.Root}, known.Intermediates...) {
			if c != nil { // an authority may be given without its own certificate
				certificates = append(certificates, c.Raw)
			}
		}
	}
	return certificates
}

// expiry returns the earliest time after which one kind of authority has no member left.
func expiry(r *root.TrustedRoot) time.Time {
	var authorities, logs, certificateLogs []time.Time
	for _, ca := range r.FulcioCertificateAuthorities() {
		if fulcio, ok := ca.(*root.FulcioCertificateAuthority); ok {
			authorities = append(authorities, earliest(fulcio.ValidityPeriodEnd, chainExpiry(fulcio)))
		}
	}
	for _, l := range r.RekorLogs() {
		logs = append(logs, l.ValidityPeriodEnd)
	}
	for _, l := range r.CTLogs() {
		certificateLogs = append(certificateLogs, l.ValidityPeriodEnd)
	}
	return earliest(latest(authorities), latest(logs), latest(certificateLogs))
}

// chainExpiry returns when the first certificate of the authority's chain expires.
func chainExpiry(ca *root.FulcioCertificateAuthority) time.Time {
	end := ca.Root.NotAfter
	for _, c := range ca.Intermediates {
		end = earliest(end, c.NotAfter)
	}
	return end
}

// earliest returns the earliest of times. The zero time means never.
func earliest(times ...time.Time) time.Time {
	var first time.Time
	for _, t := range times {
		if !t.IsZero() && (first.IsZero() || t.Before(first)) {
			first = t
		}
	}
	return first
}

// latest returns the latest of times. The zero time means never and is later than all others.
func latest(times []time.Time) time.Time {
	var last time.Time
	for _, t := range times {
		if t.IsZero() {
			return time.Time{}
		}
		if t.After(last) {
			last = t
		}
	}
	return last
}

// A pinnedChain is a certificate authority whose chain from the issuing certificate up to the root is already verified. For
// a leaf, only the issuer's signature and the time remain to be checked. Without pinning, a third of the work on a commit
// would be to verify the root's signature on the same intermediate each time.
type pinnedChain struct {
	whole      *root.FulcioCertificateAuthority
	upper      []*x509.Certificate // issuer first, root last
	start, end time.Time           // when every certificate of upper is valid
	issuer     *x509.CertPool
}

// pinChain returns ca with its upper chain verified. It pins only a chain of one intermediate below one root without
// constraints. For every other chain it returns ca itself, and each leaf is verified through the whole chain.
func pinChain(ca root.CertificateAuthority) root.CertificateAuthority {
	fulcio, ok := ca.(*root.FulcioCertificateAuthority)
	if !ok || fulcio.Root == nil || len(fulcio.Intermediates) != 1 {
		return ca
	}
	issuer, top := fulcio.Intermediates[0], fulcio.Root
	if !issuer.BasicConstraintsValid || !issuer.IsCA || hasConstraints(top, 1) {
		return ca
	}
	start, end := top.NotBefore, earliest(top.NotAfter, issuer.NotAfter)
	if issuer.NotBefore.After(start) {
		start = issuer.NotBefore
	}
	tops, issuers := x509.NewCertPool(), x509.NewCertPool()
	tops.AddCert(top)
	issuers.AddCert(issuer)
	_, err := issuer.Verify(x509.VerifyOptions{
		Roots: tops, CurrentTime: start, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageCodeSigning},
	})
	if err != nil || end.Before(start) {
		return ca
	}
	return &pinnedChain{
		whole: fulcio, upper: []*x509.Certificate{issuer, top},
		start: start, end: end, issuer: issuers,
	}
}

// hasConstraints reports whether ca limits the names below it, or allows fewer than depth authorities below it.
func hasConstraints(ca *x509.Certificate, depth int) bool {
	names := len(ca.PermittedDNSDomains) + len(ca.ExcludedDNSDomains) + len(ca.PermittedIPRanges) + len(ca.ExcludedIPRanges) +
		len(ca.PermittedEmailAddresses) + len(ca.ExcludedEmailAddresses) + len(ca.PermittedURIDomains) + len(ca.ExcludedURIDomains)
	limited := ca.MaxPathLen > 0 || ca.MaxPathLenZero
	return names > 0 || len(ca.UnhandledCriticalExtensions) > 0 || limited && ca.MaxPathLen < depth
}

// Verify returns the chain from leaf to the root if the chain is valid at the given time. If the pinned chain refuses the
// leaf, Verify verifies the whole chain, so pinning changes the speed and never the result.
func (p *pinnedChain) Verify(leaf *x509.Certificate, at time.Time) ([][]*x509.Certificate, error) {
	outside := at.Before(p.start) || at.After(p.end) ||
		!p.whole.ValidityPeriodStart.IsZero() && at.Before(p.whole.ValidityPeriodStart) ||
		!p.whole.ValidityPeriodEnd.IsZero() && at.After(p.whole.ValidityPeriodEnd)
	if outside {
		return p.whole.Verify(leaf, at)
	}
	chains, err := leaf.Verify(x509.VerifyOptions{
		Roots: p.issuer, CurrentTime: at, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageCodeSigning},
	})
	if err != nil || len(chains) == 0 || len(chains[0]) != 2 {
		return p.whole.Verify(leaf, at)
	}
	return [][]*x509.Certificate{append(chains[0], p.upper[1:]...)}, nil
}
