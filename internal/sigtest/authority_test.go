package sigtest_test

import (
	"crypto/x509"
	"testing"
	"time"

	"gitops-agent/internal/sigtest"

	"github.com/google/go-cmp/cmp"
	"github.com/sigstore/sigstore-go/pkg/fulcio/certificate"
)

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
