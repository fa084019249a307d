package verify

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"testing"
	"time"

	"github.com/sigstore/sigstore-go/pkg/root"

	"gitops-agent/internal/sigtest"
)

// A certChain is a root, an intermediate below it, and a leaf below that.
type certChain struct {
	top, issuer, leaf *x509.Certificate
}

var chainStart = time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)

func newCertChain(t *testing.T, change func(top, issuer *x509.Certificate)) certChain {
	t.Helper()
	days := func(n int) time.Time { return chainStart.AddDate(0, 0, n) }
	authority := x509.Certificate{
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageCodeSigning}, MaxPathLen: -1,
	}
	top, issuer := authority, authority
	top.SerialNumber, top.Subject, top.NotBefore, top.NotAfter = big.NewInt(1), pkix.Name{CommonName: "top"}, days(0), days(30)
	issuer.SerialNumber, issuer.Subject, issuer.NotBefore, issuer.NotAfter = big.NewInt(2), pkix.Name{CommonName: "issuer"}, days(1), days(40)
	change(&top, &issuer)
	leaf := x509.Certificate{
		SerialNumber: big.NewInt(3), NotBefore: days(-10), NotAfter: days(50), EmailAddresses: []string{"a@lab.test"},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageCodeSigning}, KeyUsage: x509.KeyUsageDigitalSignature,
	}
	topKey, issuerKey := newKey(t), newKey(t)
	var f certChain
	f.top = issue(t, &top, &top, topKey, topKey)
	f.issuer = issue(t, &issuer, f.top, issuerKey, topKey)
	f.leaf = issue(t, &leaf, f.issuer, newKey(t), issuerKey)
	return f
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func issue(t *testing.T, template, parent *x509.Certificate, key, signer *ecdsa.PrivateKey) *x509.Certificate {
	t.Helper()
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	if err != nil {
		t.Fatal(err)
	}
	c, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func (f certChain) authority() *root.FulcioCertificateAuthority {
	return &root.FulcioCertificateAuthority{
		Root: f.top, Intermediates: []*x509.Certificate{f.issuer},
		ValidityPeriodStart: chainStart.AddDate(0, 0, 2), ValidityPeriodEnd: chainStart.AddDate(0, 0, 35),
	}
}

func unchanged(_, _ *x509.Certificate) {}

// TestPinnedChainAgrees: at every time, the pinned chain and the whole chain give the same result.
func TestPinnedChainAgrees(t *testing.T) {
	f := newCertChain(t, unchanged)
	whole := f.authority()
	whole.ValidityPeriodStart = time.Time{}
	pinned := pinChain(whole)
	if _, ok := pinned.(*pinnedChain); !ok {
		t.Fatalf("got %T, want a plain chain to be pinned", pinned)
	}
	accepted := 0
	for day := -12; day < 60; day++ {
		for _, nudge := range []time.Duration{-time.Second, 0, time.Second} {
			at := chainStart.AddDate(0, 0, day).Add(nudge)
			want, wantErr := whole.Verify(f.leaf, at)
			got, gotErr := pinned.Verify(f.leaf, at)
			if (gotErr == nil) != (wantErr == nil) {
				t.Errorf("at %v: got %v, want %v", at, gotErr, wantErr)
			}
			if wantErr == nil && (len(got) != 1 || len(got[0]) != len(want[0]) || !got[0][1].Equal(want[0][1])) {
				t.Errorf("at %v: got chain %v, want %v", at, got, want)
			}
			if wantErr == nil {
				accepted++
			}
		}
	}
	if accepted == 0 {
		t.Error("the chain was never valid, so nothing was compared")
	}
	if _, err := pinned.Verify(newCertChain(t, unchanged).leaf, chainStart.AddDate(0, 0, 5)); err == nil {
		t.Error("a leaf of another authority: got it accepted, want an error")
	}
}

func TestPinnedChainRespectsValidityPeriod(t *testing.T) {
	f := newCertChain(t, unchanged)
	pinned := pinChain(f.authority())
	for day, want := range map[int]bool{1: false, 3: true, 29: true, 36: false} {
		_, err := pinned.Verify(f.leaf, chainStart.AddDate(0, 0, day))
		if (err == nil) != want {
			t.Errorf("day %d: got %v, want accepted %v", day, err, want)
		}
	}
}

// TestPinChainSkipsOtherChains: a chain is not pinned if each leaf needs the verification of the whole chain.
func TestPinChainSkipsOtherChains(t *testing.T) {
	tests := map[string]func() root.CertificateAuthority{
		"path_length": func() root.CertificateAuthority {
			return newCertChain(t, func(top, _ *x509.Certificate) { top.MaxPathLen, top.MaxPathLenZero = 0, true }).authority()
		},
		"names": func() root.CertificateAuthority {
			return newCertChain(t, func(top, _ *x509.Certificate) { top.PermittedEmailAddresses = []string{"other.test"} }).authority()
		},
		"issuer_is_not_an_authority": func() root.CertificateAuthority {
			return newCertChain(t, func(_, issuer *x509.Certificate) { issuer.IsCA, issuer.MaxPathLen = false, 0 }).authority()
		},
		"issuer_of_another_root": func() root.CertificateAuthority {
			ca := newCertChain(t, unchanged).authority()
			ca.Root = newCertChain(t, unchanged).top
			return ca
		},
		"issuer_for_another_usage": func() root.CertificateAuthority {
			return newCertChain(t, func(_, issuer *x509.Certificate) {
				issuer.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
			}).authority()
		},
		"no_intermediate": func() root.CertificateAuthority {
			ca := newCertChain(t, unchanged).authority()
			ca.Intermediates = nil
			return ca
		},
		"never_valid_together": func() root.CertificateAuthority {
			return newCertChain(t, func(_, issuer *x509.Certificate) {
				issuer.NotBefore, issuer.NotAfter = chainStart.AddDate(1, 0, 0), chainStart.AddDate(2, 0, 0)
			}).authority()
		},
	}
	for name, build := range tests {
		t.Run(name, func(t *testing.T) {
			if ca, pinned := pinChain(build()).(*pinnedChain); pinned {
				t.Errorf("got %+v, want the whole chain to be verified each time", ca)
			}
		})
	}
}

// FuzzParseTrustedRoot: an accepted root marshals to a root that is accepted again and has equal parts.
func FuzzParseTrustedRoot(f *testing.F) {
	s, err := sigtest.New(sigtest.Options{Seed: "parsers"})
	if err != nil {
		f.Fatal(err)
	}
	json, err := s.TrustedRoot()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(json)
	f.Add([]byte(`{"mediaType":"application/vnd.dev.sigstore.trustedroot+json;version=0.1"}`))
	f.Fuzz(func(t *testing.T, json []byte) {
		var first *trustedRoot
		var err error
		requireBounded(t, 1024*len(json), func() { first, err = parseTrustedRoot(json) })
		if err != nil {
			return
		}
		again, err := first.MarshalJSON()
		if err != nil {
			t.Fatalf("marshal what was accepted: %v", err)
		}
		second, err := parseTrustedRoot(again)
		if err != nil {
			t.Fatalf("parse again: %v", err)
		}
		if !first.info.Expiry.Equal(second.info.Expiry) || len(first.authorities) != len(second.authorities) ||
			len(first.RekorLogs()) != len(second.RekorLogs()) || len(first.CTLogs()) != len(second.CTLogs()) {
			t.Errorf("got %+v, want %+v", second.info, first.info)
		}
	})
}
