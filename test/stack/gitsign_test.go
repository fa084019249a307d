//go:build integration

package stack

import (
	"crypto/x509"
	"maps"
	"strings"
	"testing"

	"gitops-agent/internal/sigtest"

	"github.com/sigstore/sigstore-go/pkg/root"
)

// trust makes gitsign trust another Sigstore with Rekor v1: it writes the files from which gitsign reads keys and certificates.
func (r *repository) trust(trustedRoot []byte) {
	r.t.Helper()
	parsed, err := root.NewTrustedRootFromJSON(trustedRoot)
	if err != nil {
		r.t.Fatal(err)
	}
	var chain []*x509.Certificate
	for _, a := range parsed.FulcioCertificateAuthorities() {
		if fulcio, ok := a.(*root.FulcioCertificateAuthority); ok {
			chain = append(append(chain, fulcio.Intermediates...), fulcio.Root)
		}
	}
	var rekor, certificates []byte
	for _, l := range parsed.RekorLogs() {
		if l.BaseURL == "https://rekor-1.home" { // gitsign reads only one key
			rekor = publicPEM(r.t, l.PublicKey)
		}
	}
	for _, l := range parsed.CTLogs() {
		certificates = publicPEM(r.t, l.PublicKey)
	}
	maps.Copy(r.env, map[string]string{
		"GITSIGN_FULCIO_ROOT": scratch(r.t, "fulcio.pem", certificatePEM(r.t, chain...)), "GITSIGN_REKOR_MODE": "offline",
		"SIGSTORE_REKOR_PUBLIC_KEY":       scratch(r.t, "rekor.pub", rekor),
		"SIGSTORE_CT_LOG_PUBLIC_KEY_FILE": scratch(r.t, "ctlog.pub", certificates),
	})
}

// TestGitsignVerifiesOurSignatures makes commits and tags with internal/sigtest and verifies them with the real gitsign. All
// other tests of signatures depend on internal/sigtest.
func TestGitsignVerifiesOurSignatures(t *testing.T) {
	s, err := sigtest.New(sigtest.Options{Name: "home"})
	if err != nil {
		t.Fatal(err)
	}
	trustedRoot, err := s.TrustedRoot()
	if err != nil {
		t.Fatal(err)
	}
	alice := sigtest.Identity{Subject: "alice@example.org", Issuer: "https://accounts.example.org"}
	release := sigtest.GitHubWorkflow("example/homelab", "release.yaml", "refs/heads/main")
	r := newRepository(t)
	r.trust(trustedRoot)
	commit := func(who sigtest.Identity, opts sigtest.SignOptions) string {
		raw, _, err := s.Commit(sigtest.CommitSpec{Message: "a change"}, who, opts)
		if err != nil {
			t.Fatal(err)
		}
		return string(r.place("commit", raw))
	}
	byAlice := commit(alice, sigtest.SignOptions{})
	raw, _, err := s.Tag(sigtest.TagSpec{Object: byAlice, Name: "v1", Message: "release"}, alice, sigtest.SignOptions{})
	if err != nil {
		t.Fatal(err)
	}
	r.git("update-ref", "refs/tags/v1", string(r.place("tag", raw)))
	changed := string(r.place("commit", []byte(strings.Replace(string(r.raw("commit", r.id(byAlice))), "a change", "another", 1))))

	bob := sigtest.Identity{Subject: "bob@example.org", Issuer: alice.Issuer}
	claims := func(command string, who sigtest.Identity, revision string) []string {
		return []string{gitsign.file(), command, "--certificate-identity", who.Subject, "--certificate-oidc-issuer", who.Issuer, revision}
	}
	by := func(part func(*sigtest.SignOptions, sigtest.Party)) []string {
		return claims("verify", alice, commit(alice, foreign(t, part)))
	}
	for name, test := range map[string]struct {
		command []string
		want    string // part of the output
		refused bool
	}{
		"commit":         {claims("verify", alice, byAlice), "Good signature from [alice@example.org](https://accounts.example.org)", false},
		"workflow":       {claims("verify", release, commit(release, sigtest.SignOptions{})), "Good signature from [" + release.Subject, false},
		"tag":            {claims("verify-tag", alice, "v1"), "Good signature from [alice@example.org]", false},
		"git_commit":     {[]string{"git", "verify-commit", byAlice}, "Good signature from [alice@example.org]", false},
		"git_tag":        {[]string{"git", "verify-tag", "v1"}, "Good signature from [alice@example.org]", false},
		"another_person": {claims("verify", bob, byAlice), `expected SAN value "bob@example.org"`, true},
		"changed":        {claims("verify", alice, changed), "content digest does not match", true},
		"foreign_log":    {by(func(o *sigtest.SignOptions, other sigtest.Party) { o.Log = other }), "failed to verify log inclusion", true},
		"foreign_ca":     {by(func(o *sigtest.SignOptions, other sigtest.Party) { o.CA = other }), "failed to verify leaf certificate", true},
		"foreign_ctlog":  {by(func(o *sigtest.SignOptions, other sigtest.Party) { o.CTLog = other }), "failed to verify signed certificate timestamp", true},
	} {
		t.Run(name, func(t *testing.T) {
			out, err := r.run(test.command[0], test.command[1:]...)
			if (err != nil) != test.refused || !strings.Contains(out, test.want) {
				t.Errorf("got %v\n%s\nwant refused %t, %q", err, out, test.refused, test.want)
			}
		})
	}
}

// foreign returns options in which another Sigstore provides one service.
func foreign(t *testing.T, part func(*sigtest.SignOptions, sigtest.Party)) sigtest.SignOptions {
	t.Helper()
	other, err := sigtest.New(sigtest.Options{Name: "home"})
	if err != nil {
		t.Fatal(err)
	}
	var opts sigtest.SignOptions
	part(&opts, sigtest.By(other))
	return opts
}
