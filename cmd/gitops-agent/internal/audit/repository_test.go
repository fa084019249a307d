package audit

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gitops-agent/cmd/gitops-agent/internal/term"
	"gitops-agent/gitsource"
	"gitops-agent/internal/agent"
)

func TestIsRemote(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.MkdirAll("git@host:here", 0o700); err != nil {
		t.Fatal(err)
	}
	tests := map[string]bool{
		"https://example.org/a.git": true, "ssh://git@example.org/a": true, "file:///srv/a.git": true, "git@example.org:a/b.git": true,
		"": false, ".": false, "/srv/a.git": false, "a/b": false, "./git@host:a": false, "git@host:here": false, "C:/a": false,
	}
	for repo, want := range tests {
		if got := isRemote(repo); got != want {
			t.Errorf("%q: got %t, want %t", repo, got, want)
		}
	}
}

// The config's credentials are used only for the config's own remote.
func TestCredentials(t *testing.T) {
	t.Parallel()
	config := agent.Config{Source: agent.SourceConfig{Remotes: []agent.RemoteConfig{{URL: "https://example.org/a.git", Username: "oauth2", TokenFile: "token"}}}}
	tests := map[string]struct{ repo, want Repository }{
		"known":   {Repository{Where: "https://example.org/a.git"}, Repository{Remote: gitsource.Remote{URL: "https://example.org/a.git", Username: "oauth2", TokenFile: "token"}}},
		"unknown": {Repository{Where: "https://example.org/b.git"}, Repository{Remote: gitsource.Remote{URL: "https://example.org/b.git"}}},
		"flags": {
			Repository{Where: "https://example.org/a.git", Remote: gitsource.Remote{TokenFile: "mine"}},
			Repository{Remote: gitsource.Remote{URL: "https://example.org/a.git", TokenFile: "mine"}},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := test.repo.credentials(config); got != test.want.Remote {
				t.Errorf("got %+v, want %+v", got, test.want.Remote)
			}
		})
	}
}

func TestSize(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, bytes := range map[string]int{"a": 3, "b/c": 4} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, make([]byte, bytes), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got := size(dir); got != 7 {
		t.Errorf("got %d bytes, want 7", got)
	}
	if got := size(filepath.Join(dir, "nothing")); got != 0 {
		t.Errorf("got %d bytes of nothing, want 0", got)
	}
}

// The remedy for a repository of a format that is not supported is not to name it again.
func TestFormatHasARemedy(t *testing.T) {
	t.Parallel()
	git := func(arguments ...string) {
		t.Helper()
		if out, err := exec.CommandContext(t.Context(), "git", arguments...).CombinedOutput(); err != nil {
			t.Fatalf("git %s: %v\n%s", arguments, err, out)
		}
	}
	sha256, reftable := t.TempDir(), t.TempDir()
	git("init", "-q", "--object-format=sha256", sha256)
	git("-C", sha256, "-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "-q", "--allow-empty", "-m", "x")
	git("init", "-q", "--bare", reftable)
	git("config", "--file", filepath.Join(reftable, "config"), "extensions.refstorage", "reftable")
	for where, want := range map[string]string{
		sha256: "git init --object-format=sha1", "file://" + sha256: "git init --object-format=sha1", reftable: "git refs migrate --ref-format=files",
		t.TempDir(): "name the directory of a clone",
	} {
		_, _, err := Repository{Where: where}.Open(t.Context(), agent.Config{}, term.NewProgress(io.Discard))
		if hint, _ := term.Hint(err); !strings.Contains(hint, want) {
			t.Errorf("%s: got %v with the hint %q, want %q in it", where, err, hint, want)
		}
	}
}
