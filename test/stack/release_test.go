//go:build integration

package stack

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"testing"
	"time"

	prototrustroot "github.com/sigstore/protobuf-specs/gen/pb-go/trustroot/v1"
	"github.com/sigstore/sigstore-go/pkg/bundle"
	"github.com/sigstore/sigstore-go/pkg/root"
	"github.com/sigstore/sigstore-go/pkg/verify"
)

// TestReleaseIsSignedAsAnIdentity signs the checksums of a release as packaging/build does with a token, and verifies them as a user does: the identity, an entry of the
// log, and a timestamp.
func TestReleaseIsSignedAsAnIdentity(t *testing.T) {
	s := startSigstore(t)
	since := time.Now().Add(-time.Hour)
	one := func(url string, version uint32) []root.Service {
		return []root.Service{{URL: url, MajorAPIVersion: version, ValidityPeriodStart: since, Operator: "lab"}}
	}
	each := root.ServiceConfiguration{Selector: prototrustroot.ServiceSelector_ANY}
	services, err := root.NewSigningConfig(root.SigningConfigMediaType02, one(fulcioURL, 1), nil, one(rekorURL, 2), each, one(timestampURL+"/api/v1/timestamp", 1), each)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(services)
	if err != nil {
		t.Fatal(err)
	}
	sums := []byte("0000 gitops-agent_0.1.0_amd64.deb\n")
	file, out := s.write("SHA256SUMS", sums), s.path("SHA256SUMS.sigstore.json")
	cmd := exec.CommandContext(t.Context(), releaseSigner.file(), "-signing-config", s.write("signing_config.json", text), "-trusted-root", s.path("trusted_root.json"), file, out)
	cmd.Env = append(os.Environ(), "SIGSTORE_ID_TOKEN="+s.workflows.workflow("example/gitops-agent", "release.yaml"))
	if said, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("sign: %v\n%s", err, said)
	}

	signed, err := bundle.LoadJSONFromPath(out)
	if err != nil {
		t.Fatal(err)
	}
	trusted, err := root.NewTrustedRootFromPath(s.path("trusted_root.json"))
	if err != nil {
		t.Fatal(err)
	}
	verifier, err := verify.NewVerifier(trusted, verify.WithSignedTimestamps(1), verify.WithTransparencyLog(1), verify.WithSignedCertificateTimestamps(1))
	if err != nil {
		t.Fatal(err)
	}
	check := func(workflow string, content []byte) error {
		identity, err := verify.NewShortCertificateIdentity(s.workflows.url, "", "https://github.com/example/gitops-agent/.github/workflows/"+workflow+"@refs/heads/main", "")
		if err != nil {
			t.Fatal(err)
		}
		_, err = verifier.Verify(signed, verify.NewPolicy(verify.WithArtifact(bytes.NewReader(content)), verify.WithCertificateIdentity(identity)))
		return err
	}
	if err := check("release.yaml", sums); err != nil {
		t.Errorf("got %v, want a signature of the workflow", err)
	}
	if check("other.yaml", sums) == nil {
		t.Error("got a signature of another workflow, want none")
	}
	if check("release.yaml", append([]byte("1"), sums...)) == nil {
		t.Error("got a signature of changed checksums, want none")
	}
}
