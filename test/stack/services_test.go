//go:build integration

package stack

import (
	"crypto"
	"crypto/ed25519"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/sigstore/sigstore-go/pkg/root"
)

// The addresses of the services. Only these tests run in the namespace, so every port is free.
const (
	fulcioURL    = "http://127.0.0.1:6555"
	timestampURL = "http://127.0.0.1:6004"
	rekorURL     = "http://127.0.0.1:6003"
	rekorHost    = "rekor.lab" // the log's name in its checkpoints
)

// A sigstore is a private Sigstore: the real Fulcio, timestamp authority and Rekor v2, each a process with keys made for this
// test, and one issuer for people and one for workflows.
type sigstore struct {
	t                 *testing.T
	dir               string
	people, workflows *issuer
	certificateLog    *ctLog
	codeSigner        authority
	timestamps        authority
	log               keyPair
	logV1             *keyPair // nil unless Rekor v1 runs
}

// startSigstore starts all services and waits until each one is ready.
func startSigstore(t *testing.T) *sigstore {
	t.Helper()
	s := &sigstore{
		t: t, dir: t.TempDir(), people: newIssuer(t), workflows: newIssuer(t), certificateLog: newCTLog(t),
		codeSigner: newCodeSigner(t), timestamps: newTimestamper(t), log: newKeyPair(t, edwards),
	}
	s.start(rekor, answers(rekorURL+"/healthz"), "serve", "--hostname", rekorHost, "--http-address", "127.0.0.1", "--http-port", "6003",
		"--grpc-address", "127.0.0.1", "--grpc-port", "6013", "--http-metrics-port", "6023", "--storage-dir", s.folder("log"),
		"--signer-filepath", s.write("rekor.key", s.log.private()), "--checkpoint-interval", "100ms", "--batch-max-age", "50ms")
	s.start(timestamper, answers(timestampURL+"/ping"), "serve", "--host", "127.0.0.1", "--port", "6004", "--timestamp-signer", "file",
		"--file-signer-key-path", s.write("timestamps.key", s.timestamps.private()),
		"--certificate-chain-path", s.write("timestamps.pem", s.timestamps.certificates()), "--disable-ntp-monitoring")
	s.start(fulcio, answers(fulcioURL+"/healthz"), "serve", "--host", "127.0.0.1", "--port", "6555", "--grpc-host", "127.0.0.1", "--grpc-port", "6554",
		"--metrics-port", "6553", "--log_type", "prod", "--legacy-unix-domain-socket", "@fulcio", "--ca", "fileca", "--fileca-watch=false",
		"--fileca-cert", s.write("fulcio.pem", s.codeSigner.certificates()), "--fileca-key", s.write("fulcio.key", s.codeSigner.private()),
		"--fileca-key-passwd", "the key has none", "--ct-log-url", s.certificateLog.url,
		"--ct-log-public-key-path", s.write("ctlog.pub", s.certificateLog.public()), "--config-path", s.write("fulcio.yaml", s.fulcioConfig()))
	s.write("rekor.pub", s.log.public())
	s.write("trusted_root.json", s.trustedRoot())
	return s
}

// fulcioConfig returns Fulcio's config: which issuers it accepts, and for which kind of identity. The claims of a workflow
// become extensions as in the public Fulcio's config for GitHub.
func (s *sigstore) fulcioConfig() []byte {
	return fmt.Appendf(nil, `oidc-issuers:
  %[1]s: {issuer-url: %[1]s, client-id: sigstore, type: email}
  %[2]s: {issuer-url: %[2]s, client-id: sigstore, type: ci-provider, ci-provider: github-workflow}
ci-issuer-metadata:
  github-workflow:
    default-template-values: {url: "https://github.com"}
    extension-templates:
      github-workflow-trigger: event_name
      github-workflow-sha: sha
      github-workflow-name: workflow
      github-workflow-repository: repository
      github-workflow-ref: ref
      build-signer-uri: "{{ .url }}/{{ .job_workflow_ref }}"
      build-signer-digest: job_workflow_sha
      runner-environment: runner_environment
      source-repository-uri: "{{ .url }}/{{ .repository }}"
      source-repository-digest: sha
      source-repository-ref: ref
      source-repository-identifier: repository_id
      source-repository-owner-uri: "{{ .url }}/{{ .repository_owner }}"
      source-repository-owner-identifier: repository_owner_id
      build-config-uri: "{{ .url }}/{{ .workflow_ref }}"
      build-config-digest: workflow_sha
      build-trigger: event_name
      run-invocation-uri: "{{ .url }}/{{ .repository }}/actions/runs/{{ .run_id }}/attempts/{{ .run_attempt }}"
      source-repository-visibility-at-signing: repository_visibility
    subject-alternative-name-template: "{{ .url }}/{{ .job_workflow_ref }}"
`, s.people.url, s.workflows.url)
}

func (s *sigstore) path(name string) string { return filepath.Join(s.dir, name) }

// write writes a file of the services and returns its path.
func (s *sigstore) write(name string, content []byte) string {
	s.t.Helper()
	if err := os.WriteFile(s.path(name), content, 0o600); err != nil {
		s.t.Fatal(err)
	}
	return s.path(name)
}

func (s *sigstore) folder(name string) string {
	s.t.Helper()
	if err := os.Mkdir(s.path(name), 0o700); err != nil {
		s.t.Fatal(err)
	}
	return s.path(name)
}

// trustedRoot returns the trusted_root.json that an operator of this Sigstore would publish.
func (s *sigstore) trustedRoot() []byte {
	s.t.Helper()
	since := time.Now().Add(-time.Hour)
	logs := func(url string, id []byte, key crypto.PublicKey) map[string]*root.TransparencyLog {
		return map[string]*root.TransparencyLog{hex.EncodeToString(id): {
			BaseURL: url, ID: id, PublicKey: key, HashFunc: crypto.SHA256, SignatureHashFunc: crypto.SHA256, ValidityPeriodStart: since,
		}}
	}
	rekors := logs("https://"+rekorHost, s.noteKeyID(), s.log.key.Public())
	if s.logV1 != nil {
		maps.Copy(rekors, logs("https://"+rekorV1Host, s.logV1.keyID(), s.logV1.key.Public()))
	}
	signers, stamps := s.codeSigner.chain, s.timestamps.chain
	trusted, err := root.NewTrustedRoot(root.TrustedRootMediaType01,
		[]root.CertificateAuthority{&root.FulcioCertificateAuthority{
			Root: signers[1], Intermediates: []*x509.Certificate{signers[0]}, ValidityPeriodStart: since, URI: fulcioURL,
		}},
		logs(s.certificateLog.url, s.certificateLog.keyID(), s.certificateLog.key.Public()),
		[]root.TimestampingAuthority{&root.SigstoreTimestampingAuthority{
			Root: stamps[1], Leaf: stamps[0], ValidityPeriodStart: since, URI: timestampURL,
		}},
		rekors)
	if err != nil {
		s.t.Fatal(err)
	}
	out, err := trusted.MarshalJSON()
	if err != nil {
		s.t.Fatal(err)
	}
	return out
}

// noteKeyID returns the id of the key in Rekor v2, which is the key id of signed notes.
func (s *sigstore) noteKeyID() []byte {
	public, ok := s.log.key.Public().(ed25519.PublicKey)
	if !ok {
		s.t.Fatal("the log has no Ed25519 key")
	}
	sum := sha256.Sum256(append([]byte(rekorHost+"\n\x01"), public...))
	return sum[:]
}
