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
	authorities []root.CertificateAuthority // those of the root, each with its upper chain checked once
	info        RootInfo
}

// RootInfo says which trusted root is in use.
type RootInfo struct {
	SHA256 [sha256.Size]byte // of the file
	// Expiry is when the root stops to be of use for new signatures: no certificate authority, no transparency log, or
	// no certificate log in it is valid after that. It is zero when that never happens.
	Expiry time.Time
}

// parseTrustedRoot reads a trusted_root.json. A root that could never verify anything is an error.
func parseTrustedRoot(json []byte) (*trustedRoot, error) {
	parsed, err := root.NewTrustedRootFromJSON(json)
	if err != nil {
		return nil, fmt.Errorf("parse trusted root: %w", err)
	}
	tr := &trustedRoot{TrustedRoot: parsed}
	var problems []error
	for kind, count := range map[string]int{
		"certificate authority": len(parsed.FulcioCertificateAuthorities()),
		"transparency log":      len(parsed.RekorLogs()),
		"certificate log":       len(parsed.CTLogs()),
	} {
		if count == 0 {
			problems = append(problems, fmt.Errorf("parse trusted root: no %s in it", kind))
		}
	}
	for _, ca := range parsed.FulcioCertificateAuthorities() {
		tr.authorities = append(tr.authorities, checkedOnce(ca))
	}
	tr.info = RootInfo{SHA256: sha256.Sum256(json), Expiry: expiry(parsed)}
	return tr, errors.Join(problems...)
}

// FulcioCertificateAuthorities replaces those of the embedded root.
func (t *trustedRoot) FulcioCertificateAuthorities() []root.CertificateAuthority {
	return t.authorities
}

// expiry returns the earliest time after which one kind of authority has no member left.
func expiry(r *root.TrustedRoot) time.Time {
	var authorities, logs, certificateLogs []time.Time
	for _, ca := range r.FulcioCertificateAuthorities() {
		if fulcio, ok := ca.(*root.FulcioCertificateAuthority); ok {
			authorities = append(authorities, earliest(fulcio.ValidityPeriodEnd, lastMoment(fulcio)))
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

// lastMoment returns when the first certificate of an authority's own chain expires.
func lastMoment(ca *root.FulcioCertificateAuthority) time.Time {
	end := ca.Root.NotAfter
	for _, c := range ca.Intermediates {
		end = earliest(end, c.NotAfter)
	}
	return end
}

// earliest returns the first of times; zero stands for never.
func earliest(times ...time.Time) time.Time {
	var first time.Time
	for _, t := range times {
		if !t.IsZero() && (first.IsZero() || t.Before(first)) {
			first = t
		}
	}
	return first
}

// latest returns the last of times; zero stands for never and is later than all.
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

// A pinnedChain is a certificate authority whose chain from the issuing certificate up to the root has been verified
// already. What remains for a leaf is the issuer's signature on it and the time. A third of the work on a commit would
// otherwise be the signature of a root on an intermediate that never changes.
type pinnedChain struct {
	whole      *root.FulcioCertificateAuthority
	upper      []*x509.Certificate // issuer first, root last
	start, end time.Time           // when every certificate of upper is valid
	issuer     *x509.CertPool
}

// checkedOnce returns ca with its upper chain verified, or ca itself where that chain is not the plain one intermediate
// below one root that a leaf can be judged by without it: then every leaf is verified through the whole chain.
func checkedOnce(ca root.CertificateAuthority) root.CertificateAuthority {
	fulcio, ok := ca.(*root.FulcioCertificateAuthority)
	if !ok || fulcio.Root == nil || len(fulcio.Intermediates) != 1 {
		return ca
	}
	issuer, top := fulcio.Intermediates[0], fulcio.Root
	if !issuer.BasicConstraintsValid || !issuer.IsCA || constrains(top, 1) {
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

// constrains says whether ca limits the names below it, or allows fewer than depth authorities below it.
func constrains(ca *x509.Certificate, depth int) bool {
	names := len(ca.PermittedDNSDomains) + len(ca.ExcludedDNSDomains) + len(ca.PermittedIPRanges) + len(ca.ExcludedIPRanges) +
		len(ca.PermittedEmailAddresses) + len(ca.ExcludedEmailAddresses) + len(ca.PermittedURIDomains) + len(ca.ExcludedURIDomains)
	limited := ca.MaxPathLen > 0 || ca.MaxPathLenZero
	return names > 0 || len(ca.UnhandledCriticalExtensions) > 0 || limited && ca.MaxPathLen < depth
}

// Verify returns the chain from leaf to the root if it is valid at the given time. Whatever the pinned chain refuses, the
// whole chain decides, so pinning can only save work.
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
