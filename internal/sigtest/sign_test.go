package sigtest_test

import (
	"bytes"
	"crypto/x509"
	"encoding/asn1"
	"gitops-agent/internal/sigtest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/sigstore/sigstore-go/pkg/fulcio/certificate"
	"github.com/sigstore/sigstore-go/pkg/verify"
)

var (
	alice   = sigtest.Identity{Subject: "alice@example.org", Issuer: "https://accounts.example.org"}
	noon    = time.Date(2026, time.March, 22, 12, 0, 0, 0, time.UTC)
	payload = []byte("tree 4b825dc642cb6eb9a060e54bf8d69288fbee4904\n")
)

func TestSignIsAcceptedBySigstore(t *testing.T) {
	home, foreign := newSigstore(t, "home"), newSigstore(t, "foreign")
	tests := map[string]struct {
		opts   sigtest.SignOptions
		demand []verify.VerifierOption
		want   []string // kinds of proven times
	}{
		"rekor_v1":     {want: []string{"Tlog"}},
		"rekor_v1_tsa": {opts: sigtest.SignOptions{TSA: sigtest.By(home)}, want: []string{"TimestampAuthority", "Tlog"}},
		"rekor_v1_tsa_required": {
			opts: sigtest.SignOptions{TSA: sigtest.By(home)}, demand: []verify.VerifierOption{verify.WithSignedTimestamps(1)},
			want: []string{"TimestampAuthority", "Tlog"},
		},
		"rekor_v1_foreign_tsa_not_required": {opts: sigtest.SignOptions{TSA: sigtest.By(foreign)}, want: []string{"Tlog"}},
		"rekor_v2_tsa": {
			opts: sigtest.SignOptions{LogPart: sigtest.RekorV2, TSA: sigtest.By(home)}, want: []string{"TimestampAuthority"},
		},
		"logged_at_end_of_certificate": {opts: sigtest.SignOptions{LoggedAt: noon.Add(10 * time.Minute)}, want: []string{"Tlog"}},
		"claimed_time_is_not_trusted":  {opts: sigtest.SignOptions{ClaimedAt: noon.AddDate(-3, 0, 0)}, want: []string{"Tlog"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			test.opts.At = noon
			armored, err := home.Sign(payload, alice, test.opts)
			if err != nil {
				t.Fatalf("sign: %v", err)
			}
			result, err := verifyArmored(t, home, payload, armored, test.opts.LogPart, test.demand...)
			if err != nil {
				t.Fatalf("got %v, want a verified message", err)
			}
			kinds := map[string]bool{}
			for _, proven := range result.VerifiedTimestamps {
				kinds[proven.Type] = true
				if proven.Timestamp.Sub(noon).Abs() > 10*time.Minute {
					t.Errorf("got proven time %v, want %v", proven.Timestamp, noon)
				}
			}
			want := map[string]bool{}
			for _, kind := range test.want {
				want[kind] = true
			}
			if diff := cmp.Diff(want, kinds); diff != "" {
				t.Errorf("kinds of proven times (-want +got):\n%s", diff)
			}
			if got := result.Signature.Certificate.SubjectAlternativeName; got != alice.Subject {
				t.Errorf("got subject %q, want %q", got, alice.Subject)
			}
		})
	}
}

func TestSignIsRefusedBySigstore(t *testing.T) {
	home, foreign := newSigstore(t, "home"), newSigstore(t, "foreign")
	other, err := home.Message([]byte("another commit"), alice, sigtest.SignOptions{At: noon})
	if err != nil {
		t.Fatalf("sign another commit: %v", err)
	}
	mutate := func(m ...sigtest.Mutation) sigtest.SignOptions { return sigtest.SignOptions{Mutate: m} }
	clientAuth := []byte("\x30\x0a\x06\x08\x2b\x06\x01\x05\x05\x07\x03\x02")
	otherUsage := func(c *sigtest.Certificate) { c.Extensions[1].Value = clientAuth }
	expired := func(c *sigtest.Certificate) { c.NotAfter = c.NotBefore.Add(-time.Second) }
	tests := map[string]struct {
		opts   sigtest.SignOptions
		demand []verify.VerifierOption
		want   string
	}{
		"no_sct":               {opts: sigtest.SignOptions{CTLog: sigtest.Nobody()}, want: "0 SCT entries"},
		"foreign_sct":          {opts: sigtest.SignOptions{CTLog: sigtest.By(foreign)}, want: "0 SCT entries"},
		"foreign_ca":           {opts: sigtest.SignOptions{CA: sigtest.By(foreign)}, want: "certificate"},
		"foreign_everything":   {opts: sigtest.SignOptions{CA: sigtest.By(foreign), CTLog: sigtest.By(foreign), Log: sigtest.By(foreign)}, want: "not enough verified log entries"},
		"no_rekor":             {opts: sigtest.SignOptions{Log: sigtest.Nobody()}, want: "log entries"},
		"tsa_but_no_rekor":     {opts: sigtest.SignOptions{Log: sigtest.Nobody(), TSA: sigtest.By(home)}, want: "log entries"},
		"entry_removed":        {opts: mutate(sigtest.RemoveEntry), want: "log entries"},
		"unknown_log":          {opts: sigtest.SignOptions{Log: sigtest.By(foreign)}, want: "not enough verified log entries"},
		"unknown_log_v2":       {opts: sigtest.SignOptions{Log: sigtest.By(foreign), LogPart: sigtest.RekorV2, TSA: sigtest.By(home)}, want: "not enough verified log entries"},
		"rekor_v2_without_tsa": {opts: sigtest.SignOptions{LogPart: sigtest.RekorV2}, want: "threshold not met"},
		"tsa_required_absent":  {demand: []verify.VerifierOption{verify.WithSignedTimestamps(1)}, want: "threshold not met"},
		"tsa_required_foreign": {
			opts: sigtest.SignOptions{TSA: sigtest.By(foreign)}, demand: []verify.VerifierOption{verify.WithSignedTimestamps(1)}, want: "threshold not met",
		},
		"tsa_required_flipped": {
			opts:   sigtest.SignOptions{TSA: sigtest.By(home), Mutate: []sigtest.Mutation{sigtest.FlipTokenSignature}},
			demand: []verify.VerifierOption{verify.WithSignedTimestamps(1)}, want: "threshold not met",
		},
		"set_flipped":           {opts: mutate(sigtest.FlipSET), want: "not enough verified log entries"},
		"set_removed":           {opts: mutate(sigtest.RemoveSET), want: "threshold not met"},
		"integrated_time_moved": {opts: mutate(sigtest.ShiftIntegratedTime(time.Second)), want: "not enough verified log entries"},
		"proof_removed":         {opts: mutate(sigtest.RemoveProof), want: "inclusion proof"},
		"proof_hash":            {opts: mutate(sigtest.FlipProofHash), want: "root"},
		"root_hash":             {opts: mutate(sigtest.FlipRootHash), want: "root"},
		"checkpoint_signature":  {opts: mutate(sigtest.FlipCheckpointSignature), want: "checkpoint"},
		"entry_of_another":      {opts: mutate(sigtest.UseEntry(other)), want: "not enough verified log entries"},
		"signature_bit":         {opts: mutate(sigtest.FlipSignature), want: "invalid signature"},
		"digest_rewritten":      {opts: mutate(sigtest.RewriteDigest([]byte("evil"))), want: "message digest"},
		"logged_before":         {opts: sigtest.SignOptions{LoggedAt: noon.Add(-time.Second)}, want: "integrated time outside certificate validity"},
		"logged_after":          {opts: sigtest.SignOptions{LoggedAt: noon.Add(601 * time.Second)}, want: "integrated time outside certificate validity"},
		"stamped_after":         {opts: sigtest.SignOptions{TSA: sigtest.By(home), StampedAt: noon.Add(601 * time.Second)}, want: "certificate"},
		"never_valid":           {opts: sigtest.SignOptions{Certificate: expired}, want: "certificate"},
		"not_for_code_signing":  {opts: sigtest.SignOptions{Certificate: otherUsage}, want: "certificate"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			test.opts.At = noon
			armored, err := home.Sign(payload, alice, test.opts)
			if err != nil {
				t.Fatalf("sign: %v", err)
			}
			_, err = verifyArmored(t, home, payload, armored, test.opts.LogPart, test.demand...)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want an error with %q", err, test.want)
			}
		})
	}
}

// TestRewrittenDigestBreaksSignature hands the rewritten message over with the payload that it now fits.
func TestRewrittenDigestBreaksSignature(t *testing.T) {
	s, evil := newSigstore(t, "home"), []byte("evil")
	armored, err := s.Sign(payload, alice, sigtest.SignOptions{At: noon, Mutate: []sigtest.Mutation{sigtest.RewriteDigest(evil)}})
	if err != nil {
		t.Fatalf("sign: %v", err)
	}
	if _, err := verifyArmored(t, s, evil, armored, sigtest.RekorV1); err == nil {
		t.Errorf("got a verified message, want a refusal")
	}
}

func TestWindows(t *testing.T) {
	tests := map[string]struct {
		part    sigtest.Part
		opts    sigtest.SignOptions
		refused string // what sigstore-go says of a signature made after the part retired
	}{
		"ca":       {sigtest.CA, sigtest.SignOptions{}, "certificate"},
		"ctlog":    {sigtest.CTLog, sigtest.SignOptions{}, "0 SCT entries"},
		"rekor_v1": {sigtest.RekorV1, sigtest.SignOptions{}, "not enough verified log entries"},
		"tsa":      {sigtest.TSA, sigtest.SignOptions{LogPart: sigtest.RekorV2}, "threshold not met"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := newSigstore(t, "home")
			sign := func(at time.Time) []byte {
				opts := test.opts
				opts.At, opts.TSA = at, sigtest.By(s)
				armored, err := s.Sign(payload, alice, opts)
				if err != nil {
					t.Fatalf("sign: %v", err)
				}
				return armored
			}
			before, after := sign(noon), sign(noon.Add(2*time.Hour))
			s.Retire(test.part, noon.Add(time.Hour))
			if _, err := verifyArmored(t, s, payload, before, test.opts.LogPart); err != nil {
				t.Errorf("signed before retiring: got %v, want a verified message", err)
			}
			if _, err := verifyArmored(t, s, payload, after, test.opts.LogPart); err == nil || !strings.Contains(err.Error(), test.refused) {
				t.Errorf("signed after retiring: got %v, want an error with %q", err, test.refused)
			}
			if err := s.Rotate(test.part, noon.Add(time.Hour)); err != nil {
				t.Fatalf("rotate: %v", err)
			}
			for _, armored := range [][]byte{before, sign(noon.Add(2 * time.Hour))} {
				if _, err := verifyArmored(t, s, payload, armored, test.opts.LogPart); err != nil {
					t.Errorf("after rotation: got %v, want a verified message", err)
				}
			}
			if _, err := verifyArmored(t, s, payload, sign(noon), test.opts.LogPart); err == nil {
				t.Errorf("signed by the new key before its time: got a verified message, want a refusal")
			}
		})
	}
}

func TestWorkflowIdentity(t *testing.T) {
	s := newSigstore(t, "home")
	id := sigtest.GitHubWorkflow("example/lab", "deploy.yaml", "refs/heads/main")
	armored, err := s.Sign(payload, id, sigtest.SignOptions{At: noon})
	if err != nil {
		t.Fatalf("sign: %v", err)
	}
	result, err := verifyArmored(t, s, payload, armored, sigtest.RekorV1)
	if err != nil {
		t.Fatalf("verify: %v", err)
	}
	e := id.Extensions
	want := certificate.Summary{
		CertificateIssuer:      "CN=ca-intermediate-1,O=home.test",
		SubjectAlternativeName: "https://github.com/example/lab/.github/workflows/deploy.yaml@refs/heads/main",
		Extensions: certificate.Extensions{
			Issuer: sigtest.GitHubIssuer, BuildSignerURI: e.BuildSignerURI, BuildSignerDigest: e.BuildSignerDigest,
			RunnerEnvironment: "github-hosted", SourceRepositoryURI: "https://github.com/example/lab",
			SourceRepositoryDigest: e.SourceRepositoryDigest, SourceRepositoryRef: "refs/heads/main",
			SourceRepositoryIdentifier: e.SourceRepositoryIdentifier, SourceRepositoryOwnerURI: "https://github.com/example",
			SourceRepositoryOwnerIdentifier: e.SourceRepositoryOwnerIdentifier, BuildConfigURI: e.BuildConfigURI,
			BuildConfigDigest: e.BuildConfigDigest, BuildTrigger: "push", RunInvocationURI: e.RunInvocationURI,
			SourceRepositoryVisibilityAtSigning: "private",
		},
	}
	if diff := cmp.Diff(&want, result.Signature.Certificate); diff != "" {
		t.Errorf("certificate (-want +got):\n%s", diff)
	}
}

func TestCertificateProfile(t *testing.T) {
	s := newSigstore(t, "home")
	m, err := s.Message(payload, alice, sigtest.SignOptions{At: noon})
	if err != nil {
		t.Fatalf("sign: %v", err)
	}
	leaf, err := x509.ParseCertificate(m.Certificates[0])
	if err != nil {
		t.Fatalf("parse certificate: %v", err)
	}
	if len(leaf.Subject.Names) > 0 || leaf.IsCA || leaf.KeyUsage != x509.KeyUsageDigitalSignature {
		t.Errorf("got subject %v, CA %v, usage %v, want an empty subject and digital signatures only", leaf.Subject, leaf.IsCA, leaf.KeyUsage)
	}
	if diff := cmp.Diff([]x509.ExtKeyUsage{x509.ExtKeyUsageCodeSigning}, leaf.ExtKeyUsage); diff != "" {
		t.Errorf("extended key usage (-want +got):\n%s", diff)
	}
	if !leaf.NotBefore.Equal(noon) || !leaf.NotAfter.Equal(noon.Add(10*time.Minute)) {
		t.Errorf("got validity %v to %v, want ten minutes from %v", leaf.NotBefore, leaf.NotAfter, noon)
	}
	if len(leaf.UnhandledCriticalExtensions) > 0 {
		t.Errorf("got critical extensions %v that crypto/x509 does not know, want none", leaf.UnhandledCriticalExtensions)
	}
}

// TestHooksReachTheMessage covers the ways to be outside gitsign's profile that leave every signature good.
func TestHooksReachTheMessage(t *testing.T) {
	s := newSigstore(t, "home")
	extra := sigtest.Attribute{Type: asn1.ObjectIdentifier{1, 2, 3}, Value: []byte{5, 0}}
	armored, err := s.Sign(payload, alice, sigtest.SignOptions{
		At:         noon,
		Attributes: func(a []sigtest.Attribute) []sigtest.Attribute { return append(a, extra) },
		Mutate: []sigtest.Mutation{
			sigtest.AddUnsigned(extra),
			func(m *sigtest.Message) { sigtest.AddCertificate(m.Certificates[0])(m) },
		},
	})
	if err != nil {
		t.Fatalf("sign: %v", err)
	}
	message := parseArmor(t, armored)
	if got := len(message.Content.Certificates); got != 2 {
		t.Errorf("got %d certificates, want 2", got)
	}
	if got := len(message.Content.Signers[0].Signed); got != 4 {
		t.Errorf("got %d signed attributes, want 4", got)
	}
	if got := len(message.unsigned(extra.Type)); got != 1 {
		t.Errorf("got %d extra unsigned attributes, want 1", got)
	}
}

func TestSignIsDeterministic(t *testing.T) {
	sign := func() []byte {
		s := newSigstore(t, "home")
		var out []byte
		for range 3 {
			armored, err := s.Sign(payload, alice, sigtest.SignOptions{At: noon, TSA: sigtest.By(s)})
			if err != nil {
				t.Fatalf("sign: %v", err)
			}
			out = append(out, armored...)
		}
		root, err := s.TrustedRoot()
		if err != nil {
			t.Fatalf("write trusted root: %v", err)
		}
		return append(out, root...)
	}
	if first, second := sign(), sign(); !bytes.Equal(first, second) {
		t.Errorf("got two outputs for one seed:\n%s\n%s", first, second)
	}
}

func TestSigstoresAreIndependent(t *testing.T) {
	one, err := sigtest.New(sigtest.Options{})
	if err != nil {
		t.Fatalf("make Sigstore: %v", err)
	}
	two, err := sigtest.New(sigtest.Options{})
	if err != nil {
		t.Fatalf("make Sigstore: %v", err)
	}
	armored, err := one.Sign(payload, alice, sigtest.SignOptions{At: noon})
	if err != nil {
		t.Fatalf("sign: %v", err)
	}
	if _, err := verifyArmored(t, two, payload, armored, sigtest.RekorV1); err == nil {
		t.Errorf("got a message verified under another Sigstore's root, want a refusal")
	}
}

func TestSignConcurrently(t *testing.T) {
	s := newSigstore(t, "home")
	messages := make([][]byte, 40)
	var work sync.WaitGroup
	for i := range messages {
		work.Go(func() {
			var err error
			if messages[i], err = s.Sign(payload, alice, sigtest.SignOptions{At: noon.Add(time.Duration(i) * time.Second), TSA: sigtest.By(s)}); err != nil {
				t.Errorf("sign %d: %v", i, err)
			}
			s.Retire(sigtest.CTLog, noon.AddDate(1, 0, 0))
			if _, err := s.TrustedRoot(); err != nil {
				t.Errorf("write trusted root: %v", err)
			}
		})
	}
	work.Wait()
	for i, armored := range messages {
		if _, err := verifyArmored(t, s, payload, armored, sigtest.RekorV1); err != nil {
			t.Errorf("message %d: got %v, want a verified message", i, err)
		}
	}
}

func TestOptionsAreChecked(t *testing.T) {
	for name, opts := range map[string]sigtest.Options{
		"authority_ed25519": {CAKey: sigtest.Ed25519},
		"authority_unknown": {CAKey: "P-512"},
		"log_p384":          {RekorV2Key: sigtest.P384},
		"log_unknown":       {RekorV2Key: "P-512"},
	} {
		if _, err := sigtest.New(opts); err == nil {
			t.Errorf("%s: got no error, want one", name)
		}
	}
	s := newSigstore(t, "home")
	for name, opts := range map[string]sigtest.SignOptions{
		"no_authority": {CA: sigtest.Nobody()},
		"unknown_log":  {LogPart: sigtest.TSA},
	} {
		if _, err := s.Sign(payload, alice, opts); err == nil {
			t.Errorf("%s: got no error, want one", name)
		}
	}
}

func TestOtherKeys(t *testing.T) {
	s, err := sigtest.New(sigtest.Options{CAKey: sigtest.P256, RekorV2Key: sigtest.P256})
	if err != nil {
		t.Fatalf("make Sigstore: %v", err)
	}
	for _, part := range []sigtest.Part{sigtest.RekorV1, sigtest.RekorV2} {
		armored, err := s.Sign(payload, alice, sigtest.SignOptions{LogPart: part, TSA: sigtest.By(s)})
		if err != nil {
			t.Fatalf("sign: %v", err)
		}
		if _, err := verifyArmored(t, s, payload, armored, part); err != nil {
			t.Errorf("%s: got %v, want a verified message", part, err)
		}
	}
}

func BenchmarkCommit(b *testing.B) {
	for _, kind := range []sigtest.KeyType{sigtest.P384, sigtest.P256} {
		b.Run(string(kind), func(b *testing.B) {
			s, err := sigtest.New(sigtest.Options{CAKey: kind})
			if err != nil {
				b.Fatalf("make Sigstore: %v", err)
			}
			for b.Loop() {
				if _, _, err := s.Commit(sigtest.CommitSpec{Message: "scale web"}, alice, sigtest.SignOptions{At: noon}); err != nil {
					b.Fatalf("sign: %v", err)
				}
			}
		})
	}
}
