package agent

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gitops-agent/internal/sigtest"
	"gitops-agent/verify"
)

// rootFile is a trusted root file whose modification time changes with each write, as if a person wrote it.
type rootFile struct {
	testing.TB
	path    string
	written time.Time
}

func newRootFile(t testing.TB) *rootFile {
	return &rootFile{t, filepath.Join(t.TempDir(), "trusted_root.json"), time.Now().Add(-time.Hour)}
}

func (f *rootFile) write(text []byte) {
	f.Helper()
	f.written = f.written.Add(time.Second)
	if err := os.WriteFile(f.path, text, 0o600); err != nil {
		f.Fatal(err)
	}
	if err := os.Chtimes(f.path, f.written, f.written); err != nil {
		f.Fatal(err)
	}
}

func trustedRoot(t testing.TB, name string) []byte {
	t.Helper()
	s, err := sigtest.New(sigtest.Options{Name: name, Seed: name, CAKey: sigtest.P256})
	if err != nil {
		t.Fatal(err)
	}
	root, err := s.TrustedRoot()
	if err != nil {
		t.Fatal(err)
	}
	return root
}

// newTrust returns the trust of a config with the given root, its log, and the roots that it reported to the metrics.
func newTrust(path string) (*trust, *bytes.Buffer, *[]verify.RootInfo) {
	var log bytes.Buffer
	var roots []verify.RootInfo
	c := Config{Source: SourceConfig{Branch: "main"}, Trust: TrustConfig{
		TrustedRootFile: path, Binding: "none", TrustOnFirstUse: true,
		Signers: []SignerConfig{{Name: "alice", Issuer: "https://accounts.test", Subject: "alice@example.org", May: []string{"change"}, Guests: []string{"VirtualMachine/*"}}},
	}}
	return &trust{
		config: c, log: slog.New(slog.NewTextHandler(&log, nil)), onRoot: func(r verify.RootInfo) { roots = append(roots, r) },
	}, &log, &roots
}

func TestTrustedRootIsReadAgain(t *testing.T) {
	t.Parallel()
	file := newRootFile(t)
	file.write(trustedRoot(t, "first"))
	tr, log, roots := newTrust(file.path)
	first, err := tr.Policy()
	if err != nil {
		t.Fatalf("got %v, want a policy", err)
	}
	if again, err := tr.Policy(); again != first || err != nil {
		t.Errorf("got another policy and %v for the same file, want the same", err)
	}
	file.write(trustedRoot(t, "second"))
	second, err := tr.Policy()
	if err != nil || second == first || second.Root().SHA256 == first.Root().SHA256 {
		t.Errorf("got %v and the same root, want the second one", err)
	}
	if len(*roots) != 2 || !strings.Contains(log.String(), "trusted root replaced") {
		t.Errorf("got %d roots told and log %q, want 2 and a line", len(*roots), log)
	}
}

// An invalid root changes nothing and is reported once. A later valid root comes into force.
func TestTrustedRootThatIsNoneChangesNothing(t *testing.T) {
	t.Parallel()
	tests := map[string]func(f *rootFile){
		"malformed": func(f *rootFile) { f.write([]byte("{")) },
		"empty":     func(f *rootFile) { f.write(nil) },
		"too_large": func(f *rootFile) { f.write(bytes.Repeat([]byte(" "), maxTrustedRoot+1)) },
		"gone": func(f *rootFile) {
			if err := os.Remove(f.path); err != nil {
				f.Fatal(err)
			}
		},
	}
	for name, spoil := range tests {
		t.Run(name, func(t *testing.T) {
			file := newRootFile(t)
			file.write(trustedRoot(t, "first"))
			tr, log, _ := newTrust(file.path)
			first, err := tr.Policy()
			if err != nil {
				t.Fatal(err)
			}
			spoil(file)
			for range 3 {
				if got, err := tr.Policy(); got != first || err != nil {
					t.Fatalf("got another policy and %v, want the last good one", err)
				}
			}
			if n := strings.Count(log.String(), "trusted root rejected"); n != 1 {
				t.Errorf("got %d warnings, want 1:\n%s", n, log)
			}
			file.write(trustedRoot(t, "second"))
			if got, err := tr.Policy(); got == first || err != nil {
				t.Errorf("got the old policy and %v, want the new root's", err)
			}
		})
	}
}

func TestTrustNeedsARootToBegin(t *testing.T) {
	t.Parallel()
	tr, _, _ := newTrust(filepath.Join(t.TempDir(), "nowhere.json"))
	if policy, err := tr.Policy(); policy != nil || err == nil {
		t.Errorf("got %v and %v, want an error", policy, err)
	}
}
