//go:build integration

package packaging

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"debug/buildinfo"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"gitops-agent/internal/gooverlay"

	"github.com/sigstore/sigstore-go/pkg/bundle"
	"github.com/sigstore/sigstore-go/pkg/root"
	"github.com/sigstore/sigstore-go/pkg/verify"
	"github.com/sigstore/sigstore/pkg/cryptoutils"
	"github.com/sigstore/sigstore/pkg/signature"
)

const version = "0.3.0"

// release is a folder that packaging/build filled for the architecture of this machine.
type release struct {
	*testing.T
	checkout, folder string
}

// newRelease builds a release from a checkout.
func newRelease(t *testing.T, checkout string, env ...string) (r release, said string) {
	t.Helper()
	r = release{t, checkout, t.TempDir()}
	return r, r.build(version, env...)
}

// build adds the release of a version to the folder, and returns what packaging/build prints.
func (r release) build(version string, env ...string) string {
	r.Helper()
	cmd := exec.CommandContext(r.Context(), filepath.Join(r.checkout, "packaging", "build"), version, r.folder, runtime.GOARCH)
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		r.Fatalf("build: %v\n%s", err, out)
	}
	return string(out)
}

func (r release) path(name string) string {
	return filepath.Join(r.folder, strings.NewReplacer("VERSION", version, "ARCH", runtime.GOARCH).Replace(name))
}

func (r release) read(name string) []byte {
	r.Helper()
	content, err := os.ReadFile(r.path(name))
	if err != nil {
		r.Fatal(err)
	}
	return content
}

// run runs a program that must succeed and returns what it prints.
func run(t *testing.T, name string, args ...string) []byte {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %v: %v\n%s%s", name, args, err, out, stderr.String())
	}
	return out
}

// copyCheckout copies the files of this checkout, with what is not committed, to another folder. The copy is a clone, also if this is a linked worktree, in which Go does
// not record the commit.
func copyCheckout(t *testing.T) string {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "elsewhere")
	run(t, "git", "clone", "--quiet", "--shared", "--no-checkout", "..", folder)
	run(t, "git", "-C", folder, "reset", "--quiet", "HEAD")
	run(t, "sh", "-c", `set -e; cd ..; git ls-files -z --cached --others --exclude-standard | tar --create --null --files-from=- --ignore-failed-read | tar --extract --directory="$0"`, folder)
	return folder
}

// TestRelease builds a release twice, in different folders, and checks its parts with the programs that users have. The second build is then upgraded to another release.
func TestRelease(t *testing.T) {
	if err := gooverlay.NoteSources(".."); err != nil {
		t.Fatal(err)
	}
	key, public := newKey(t)
	r, _ := newRelease(t, copyCheckout(t), "SIGN_KEY_FILE="+key)
	other, said := newRelease(t, copyCheckout(t))
	if want := "SIGN_KEY_FILE"; !strings.Contains(said, "not signed") || !strings.Contains(said, want) {
		t.Errorf("got %s, want that the release is not signed, and %s", said, want)
	}
	if got, want := string(other.read("SHA256SUMS")), string(r.read("SHA256SUMS")); got != want {
		t.Errorf("got checksums\n%s\nwant those of the build in another folder:\n%s", got, want)
	}
	t.Run("checksums", r.checksums)
	t.Run("version", r.version)
	t.Run("modules", r.modules)
	t.Run("signature", func(t *testing.T) { r.signature(t, public) })
	t.Run("image", r.image)
	t.Run("packages", other.packages)
}

func (r release) checksums(t *testing.T) {
	run(t, "sh", "-c", `cd "$0" && sha256sum --check --strict SHA256SUMS`, r.folder)
	var listed []string
	for line := range strings.Lines(string(r.read("SHA256SUMS"))) {
		listed = append(listed, strings.Fields(line)[1])
	}
	entries, err := os.ReadDir(r.folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Name() != "apt" && !strings.HasPrefix(e.Name(), "SHA256SUMS") && !slices.Contains(listed, e.Name()) {
			t.Errorf("got %s without a checksum", e.Name())
		}
	}
	if len(listed) != 5 {
		t.Errorf("got %v, want a program, two packages, a list of modules and an image", listed)
	}
}

func (r release) version(t *testing.T) {
	var got struct {
		Version, Commit, CommitTime, Platform string
		Modified                              bool
	}
	if err := json.Unmarshal(run(t, r.path("gitops-agent_VERSION_linux_ARCH"), "version", "-o", "json"), &got); err != nil {
		t.Fatal(err)
	}
	commit := strings.TrimSpace(string(run(t, "git", "-C", r.checkout, "rev-parse", "HEAD")))
	modified := len(run(t, "git", "-C", r.checkout, "status", "--porcelain")) > 0
	if got.Version != version || got.Commit != commit || got.CommitTime == "" || got.Modified != modified || got.Platform != "linux/"+runtime.GOARCH {
		t.Errorf("got %+v, want version %s, commit %s with its time, modified %t, and this platform", got, version, commit, modified)
	}
}

// modules compares the list of modules with what the toolchain recorded in the program.
func (r release) modules(t *testing.T) {
	var listed struct {
		BOMFormat string
		Metadata  struct{ Component struct{ Version string } }
		// Components have a package URL, which ends with a query.
		Components []struct{ Name, Version, PURL string }
	}
	if err := json.Unmarshal(r.read("gitops-agent_VERSION_linux_ARCH.cdx.json"), &listed); err != nil {
		t.Fatal(err)
	}
	if listed.BOMFormat != "CycloneDX" || listed.Metadata.Component.Version != version {
		t.Errorf("got format %s of version %s, want CycloneDX of %s", listed.BOMFormat, listed.Metadata.Component.Version, version)
	}
	linked, err := buildinfo.ReadFile(r.path("gitops-agent_VERSION_linux_ARCH"))
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, c := range listed.Components {
		got[c.Name] = c.Version
		if purl, _, _ := strings.Cut(c.PURL, "?"); purl != "pkg:golang/"+c.Name+"@"+c.Version {
			t.Errorf("got package URL %s of %s %s", c.PURL, c.Name, c.Version)
		}
	}
	want := map[string]string{"std": linked.GoVersion}
	for _, m := range linked.Deps {
		want[m.Path] = m.Version
	}
	for path, version := range want {
		if got[path] != version {
			t.Errorf("%s: got version %q, want %s as in the program", path, got[path], version)
		}
	}
	if len(got) != len(want) {
		t.Errorf("got %d modules, want the %d of the program", len(got), len(want))
	}
}

// signature verifies the signature as cosign does, and with openssl.
func (r release) signature(t *testing.T, public crypto.PublicKey) {
	signed, err := bundle.LoadJSONFromPath(r.path("SHA256SUMS.sigstore.json"))
	if err != nil {
		t.Fatal(err)
	}
	loaded, err := signature.LoadVerifier(public, crypto.SHA256)
	if err != nil {
		t.Fatal(err)
	}
	trusted := root.NewTrustedPublicKeyMaterial(func(string) (root.TimeConstrainedVerifier, error) {
		return root.NewExpiringKey(loaded, time.Time{}, time.Time{}), nil
	})
	verifier, err := verify.NewVerifier(trusted, verify.WithNoObserverTimestamps())
	if err != nil {
		t.Fatal(err)
	}
	sums := r.read("SHA256SUMS")
	check := func(content []byte) error {
		_, err := verifier.Verify(signed, verify.NewPolicy(verify.WithArtifact(bytes.NewReader(content)), verify.WithKey()))
		return err
	}
	if err := check(sums); err != nil {
		t.Errorf("got %v, want a valid signature", err)
	}
	if check(append([]byte("0"), sums...)) == nil {
		t.Error("got a valid signature of changed checksums, want none")
	}
	der, err := cryptoutils.MarshalPublicKeyToPEM(public)
	if err != nil {
		t.Fatal(err)
	}
	content := signed.GetMessageSignature().GetSignature()
	folder := t.TempDir()
	for name, text := range map[string][]byte{"key.pub": der, "signature": content} {
		if err := os.WriteFile(filepath.Join(folder, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run(t, "openssl", "dgst", "-sha256", "-verify", filepath.Join(folder, "key.pub"), "-signature", filepath.Join(folder, "signature"), r.path("SHA256SUMS"))
}

// newKey returns the file of a new key and its public part.
func newKey(t *testing.T) (file string, public crypto.PublicKey) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	text, err := cryptoutils.MarshalPrivateKeyToPEM(key)
	if err != nil {
		t.Fatal(err)
	}
	file = filepath.Join(t.TempDir(), "release.key")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return file, key.Public()
}
